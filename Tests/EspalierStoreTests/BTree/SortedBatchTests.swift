// The rows that the first batch of a sorted fetch reads: if one batch has the whole result, each row is read once.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct SortedBatchTests {
    /// Songs of which each title belongs to two.
    private static let count = 200

    private static func library() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory)
        var request = SaveRequest()
        request.insertions = try (0..<count).map { number in
            try fixture.insertion(
                "Song", ["title": .string("t\(number / 2)"), "lossless": .boolean(number.isMultiple(of: 2))])
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    /// Reads the whole fetch in batches, and counts the rows that are read for the first one.
    private static func read(
        _ fetch: StoreFetch, of size: Int, in fixture: StoreFixture
    ) throws -> (ids: [ObjectID], batches: Int, firstRows: Int) {
        let snapshot = try fixture.store.snapshot()
        var batch: FetchBatch?
        let firstRows = try StepCount.count { batch = try snapshot.fetchBatch(fetch, of: size) }.rows
        var (ids, batches) = ([ObjectID](), 0)
        while let read = batch {
            ids += read.rows.ids
            batches += 1
            batch = try read.rest.map { try snapshot.fetchBatch($0, of: size) }
        }
        return (ids, batches, firstRows)
    }

    @Test func `a sorted fetch of no more rows than a batch has reads each row once`() throws {
        let fixture = try Self.library()
        let fetch = try fixture.request("Song", sort: [SortKey("lossless")])
        let expected = try fixture.store.fetchIDs(fetch)
        for size in [Self.count, 1000] {
            let found = try Self.read(fetch, of: size, in: fixture)
            #expect(found.ids == expected && found.batches == 1, "\(found.batches) batches of \(size)")
            #expect(found.firstRows == Self.count, "\(found.firstRows) rows were read for \(Self.count)")
        }
        let found = try Self.read(fetch, of: Self.count - 1, in: fixture)
        #expect(found.ids == expected && found.batches == 2, "\(found.batches) batches")
    }

    @Test func `a sorted fetch that an index leads to few rows reads each of them once`() throws {
        let fixture = try Self.library()
        let fetch = try fixture.request(
            "Song", FetchPredicate(format: "title == 't7'"), sort: [SortKey("lossless")])
        let expected = try fixture.store.fetchIDs(fetch)
        #expect(expected.count == 2)

        let found = try Self.read(fetch, of: 100, in: fixture)
        #expect(found.ids == expected && found.batches == 1, "\(found.batches) batches")
        #expect(found.firstRows == 2, "\(found.firstRows) rows were read for two")
        // The result is exactly one batch, or more than one: no row is lost or comes twice.
        for size in [1, 2] {
            #expect(try Self.read(fetch, of: size, in: fixture).ids == expected, "in batches of \(size)")
        }
    }
}
