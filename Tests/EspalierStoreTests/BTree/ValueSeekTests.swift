// Values that a B-tree store finds in its indexes: the least and greatest by one seek, numbers of rows and of groups
// without rows; and the same answers where an index does not help.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ValueSeekTests {
    /// 400 songs with ratings from 0 to 49, each eighth time none, and 20 books with greater ones.
    private func library() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory)
        var request = SaveRequest()
        for number in 0..<400 {
            let rating: AttributeValue = number % 8 == 0 ? .null : .double(Double(number % 50))
            request.insertions.append(
                try fixture.insertion(
                    "Song",
                    [
                        "title": .string("song \(number % 40)"), "rating": rating,
                        "length": .integer(Int64(number % 7)), "bitrate": .integer(Int64(number % 3)),
                    ]))
        }
        for number in 0..<20 {
            request.insertions.append(
                try fixture.insertion(
                    "Book", ["title": .string("book \(number)"), "rating": .double(Double(100 + number))]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    private func fetch(
        _ fixture: StoreFixture, _ entityName: String, _ columns: [FetchColumn], by groups: [FetchColumn] = [],
        _ format: String? = nil, distinct: Bool = false, subentities: Bool = true
    ) throws -> StoreValueFetch {
        let entity = try fixture.entity(entityName)
        var request = ValueRequest(entityName: entityName, columns: columns)
        (request.propertiesToGroupBy, request.returnsDistinctResults) = (groups, distinct)
        let values = try ResolvedValues(request, for: entity, in: fixture.model)
        let predicate = try format.map {
            try ResolvedPredicate(FetchPredicate(format: $0), for: entity, in: fixture.model)
        }
        return StoreValueFetch(values, includesSubentities: subentities, predicate: predicate)
    }

    /// The rows, and the number of rows that the store has read for them.
    private func answer(
        _ fixture: StoreFixture, _ fetch: StoreValueFetch
    ) throws -> (rows: [[AttributeValue]], steps: Int, readCount: Int) {
        let snapshot = try fixture.store.snapshot()
        var rows: [[AttributeValue]] = []
        let count = try StepCount.count { rows = try snapshot.values(fetch).rows().map(\.values) }
        return (rows, count.steps, count.rows)
    }

    @Test func `the least and the greatest value of an index are one seek, also after fixed values`() throws {
        let fixture = try library()
        let ends = try fetch(fixture, "Media", [.min("rating"), .max("rating"), .count()])
        let songs = try fetch(fixture, "Song", [.min("title"), .max("title")])
        let fixed = try fetch(fixture, "Media", [.min("title"), .max("title")], "length == 3")

        #expect(
            try fixture.store.explain(ends) == [
                "tree \"index:Media.rating\", the first value", "tree \"index:Media.rating\", the last value",
                "count rows",
            ])
        let all = try answer(fixture, ends)
        #expect(all.rows == [[.double(0), .double(119), .integer(420)]])
        #expect(all.steps < 12 && all.readCount == 0, "\(all.steps) steps, \(all.readCount) rows")
        #expect(try answer(fixture, fixed).rows == [[.string("song 0"), .string("song 9")]])
        #expect(try answer(fixture, fixed).steps < 12)
        #expect(try fixture.store.explain(fixed)[0].contains("byLengthAndTitle"))
        // The books of the index are passed.
        #expect(try answer(fixture, songs).rows == [[.string("song 0"), .string("song 9")]])
    }

    @Test func `an index counts the rows of each value and lists distinct values without rows`() throws {
        let fixture = try library()
        let groups = try fetch(fixture, "Song", ["bitrate", .count()], by: ["bitrate"])
        let pairs = try fetch(fixture, "Media", ["title", "length"], distinct: true)
        let sums = try fetch(fixture, "Song", ["bitrate", .sum("length")], by: ["bitrate"])

        #expect(try fixture.store.explain(groups) == ["tree \"index:Song.bitrate\", count the entries of each value"])
        let counted = try answer(fixture, groups)
        #expect(
            counted.rows == [
                [.integer(0), .integer(134)], [.integer(1), .integer(133)], [.integer(2), .integer(133)],
            ])
        #expect(counted.readCount == 0)
        let listed = try answer(fixture, pairs)
        #expect(listed.rows.count == 280 + 20 && listed.readCount == 0)
        #expect(try answer(fixture, sums).readCount == 420)
        #expect(try answer(fixture, sums).rows.map { $0[0] } == [.integer(0), .integer(1), .integer(2)])
    }

    @Test func `long texts that an index cuts are read from their rows`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        let long = String(repeating: "é", count: 600)
        for text in [long + "b", long + "a", "z", long + "b"] {
            _ = try fixture.insert("Song", ["title": .string(text)])
        }

        let groups = try fetch(fixture, "Song", ["title", .count()], by: ["title"])
        let ends = try fetch(fixture, "Song", [.min("title"), .max("title")], "title != 'z'")

        #expect(
            try answer(fixture, groups).rows == [
                [.string("z"), .integer(1)], [.string(long + "a"), .integer(1)], [.string(long + "b"), .integer(2)],
            ])
        #expect(try answer(fixture, ends).rows == [[.string(long + "a"), .string(long + "b")]])
        #expect(try answer(fixture, fetch(fixture, "Song", [.max("title")])).rows == [[.string(long + "b")]])
    }

    @Test(arguments: StoreKind.allCases)
    func `rows that are left out belong to no value, group or number`(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let ids = try (0..<5).map { number in
            try fixture.insert("Song", ["rating": .double(Double(number)), "title": .string("t\(number % 2)")])
        }
        var ends = try fetch(fixture, "Media", [.min("rating"), .max("rating"), .count()])
        var groups = try fetch(fixture, "Media", ["title", .count()], by: ["title"])
        var sums = try fetch(fixture, "Media", ["title", .sum("rating")], by: ["title"])
        var counts = try fetch(fixture, "Media", [.count()], "rating > 0")
        let excluded: Set<ObjectID> = [ids[0], ids[4]]
        (ends.excluded, groups.excluded, sums.excluded, counts.excluded) = (excluded, excluded, excluded, excluded)

        #expect(try answer(fixture, ends).rows == [[.double(1), .double(3), .integer(3)]])
        #expect(
            try answer(fixture, groups).rows == [[.string("t0"), .integer(1)], [.string("t1"), .integer(2)]])
        #expect(try answer(fixture, sums).rows == [[.string("t0"), .double(2)], [.string("t1"), .double(4)]])
        #expect(try answer(fixture, counts).rows == [[.integer(3)]])
    }

    @Test func `a store that only fetches rows answers requests for values`() throws {
        let fixture = try library()
        let requests = [
            try fetch(fixture, "Media", ["title", .sum("rating")], by: ["title"]),
            try fetch(fixture, "Song", ["title", "album.artist.name", FetchColumn("n", format: "tags.@count")]),
            try fetch(fixture, "Media", [.min("rating"), .count()], "length > 2"),
        ]
        for fetch in requests {
            let snapshot = RowsOnly(try fixture.store.snapshot())
            #expect(try snapshot.values(fetch).rows() == fixture.store.values(fetch).rows())
            #expect(try snapshot.explain(fetch) == fixture.store.explain(fetch.rows))
        }
    }
}

/// A snapshot that has no way of its own to answer requests for values.
private final class RowsOnly: StoreSnapshot {
    private let snapshot: any StoreSnapshot

    init(_ snapshot: any StoreSnapshot) { self.snapshot = snapshot }

    var generation: UInt64 { snapshot.generation }
    var isNewest: Bool { snapshot.isNewest }
    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList { try snapshot.fetch(fetch) }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try snapshot.fetchIDs(fetch) }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int { try snapshot.count(fetch) }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] { try snapshot.snapshots(of: ids) }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try snapshot.destinations(of: relationship, for: owners)
    }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try snapshot.explain(fetch) }
}
