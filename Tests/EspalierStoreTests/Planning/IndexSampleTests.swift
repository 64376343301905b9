// The knowledge that the planner gets from samples of indexes, as `explain` and `analyze` show it: estimates, choices
// between indexes and a scan, and when samples are taken.
//
// `ESPALIER_SAMPLE_ROWS` makes the store of the estimates larger.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct IndexSampleTests {
    /// A store with `count` songs, whose values `values` returns.
    private func songs(
        _ count: Int, _ kind: StoreKind = .treeInMemory, _ values: (Int) -> [String: AttributeValue]
    ) throws -> StoreFixture {
        let fixture = try StoreFixture(kind)
        try add(count, to: fixture, values)
        return fixture
    }

    @discardableResult
    private func add(
        _ count: Int, to fixture: StoreFixture, _ values: (Int) -> [String: AttributeValue]
    ) throws -> [ObjectID] {
        var request = SaveRequest()
        request.insertions = try (0..<count).map { try fixture.insertion("Song", values($0)) }
        return try fixture.store.save(request).inserted.map(\.id)
    }

    private func fetch(_ fixture: StoreFixture, _ format: String, limit: Int? = nil) throws -> StoreFetch {
        try fixture.request("Song", FetchPredicate(format: format), limit: limit)
    }

    /// The first step of the plan.
    private func plan(_ fixture: StoreFixture, _ format: String) throws -> String {
        try #require(try fixture.store.explain(fetch(fixture, format)).first)
    }

    /// The step that reads entries or all rows.
    private func source(_ fixture: StoreFixture, _ format: String) throws -> PlanStep {
        let step = try fixture.store.snapshot().analyze(fetch(fixture, format))
        return try #require(step.lines.first { $0.step.sources.isEmpty }?.step)
    }

    /// A title with six digits.
    private func title(_ number: Int) -> AttributeValue {
        let digits = "\(number)"
        return .string("t" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits)
    }

    // MARK: Estimates

    @Test func `estimates are near the numbers of entries, whatever the distribution`() throws {
        let count = campaignCount("ESPALIER_SAMPLE_ROWS", default: 2000)
        let seed = testSeed(default: 41)
        var random = SeededGenerator(seed: seed)
        let ratings = (0..<count).shuffled(using: &random)
        // Three of ten songs have the bitrate 1.
        let fixture = try songs(count) { number in
            [
                "rating": .double(Double(ratings[number])), "title": title(number),
                "bitrate": .integer(number % 10 < 3 ? 1 : Int64(100 + number % 30_000)),
            ]
        }
        func expectNear(_ format: String, _ index: String) throws {
            let step = try source(fixture, format)
            let (expected, found) = (try #require(step.expectedCount), try #require(step.foundCount))
            #expect(step.action.hasPrefix("tree \"\(index)\""), "seed \(seed): \(format) by \(step.action)")
            #expect(
                abs(expected - found) <= found / 4 + count * 2 / 25,
                "seed \(seed): \(expected) rows were expected of \(format), \(found) were found")
        }

        for _ in 0..<8 {
            let width = Int.random(in: 1...count * 3 / 10, using: &random)
            let low = Int.random(in: 0...count - width, using: &random)
            try expectNear("rating BETWEEN {\(low), \(low + width)}", "index:Media.rating")
            try expectNear("rating >= \(low) AND rating < \(low + width)", "index:Media.rating")
        }
        try expectNear("rating > \(count * 7 / 10)", "index:Media.rating")
        try expectNear("rating < \(count * 3 / 10)", "index:Media.rating")
        try expectNear("title BEGINSWITH 't0000'", "index:Media.title")
        try expectNear("title BEGINSWITH 't0003'", "index:Media.title")
        try expectNear("bitrate IN {1}", "index:Song.bitrate")
        let points = try (0..<21).map { number in
            try #require(try source(fixture, "rating IN {\(number * count / 21)}").expectedCount)
        }.sorted()
        #expect(Double(points[10]) <= (Double(count) / 33).squareRoot() + 1, "\(points)")
    }

    @Test func `tiny and empty indexes are planned and answered like others`() throws {
        for count in 0...4 {
            let fixture = try songs(count) { ["bitrate": .integer(1), "title": title($0)] }
            for (format, expected) in [
                ("bitrate IN {1}", count), ("bitrate > 0", count), ("bitrate IN {7, 8}", 0),
                ("title BEGINSWITH 't'", count), ("title > 't000001'", max(0, count - 2)),
                ("bitrate > 0 AND title < 't000001'", min(count, 1)), ("bitrate IN {1} OR title == 'x'", count),
            ] {
                let step = try fixture.store.snapshot().analyze(fetch(fixture, format))
                #expect(step.foundCount == expected, "\(count) songs, \(format)")
                #expect(try fixture.store.count(fetch(fixture, format)) == expected, "\(count) songs, \(format)")
            }
        }
    }

    // MARK: Choices

    @Test func `of two indexes the one that leads to fewer rows is read, and none where a value is frequent`() throws {
        // Nine of ten songs have the bitrate 1.
        let fixture = try songs(1000) { number in
            ["bitrate": .integer(number % 10 == 0 ? Int64(100 + number) : 1), "title": .string("song \(number)")]
        }
        for (format, step, count) in [
            ("bitrate IN {1} AND title BEGINSWITH 'song 1'", "tree \"index:Media.title\"", 100),
            ("bitrate IN {110} AND title BEGINSWITH 'song'", "tree \"index:Song.bitrate\"", 1),
            ("bitrate > 0 AND title > 'song 99'", "tree \"index:Media.title\"", 10),
            ("bitrate > 1000 AND title > 'song'", "tree \"index:Song.bitrate\"", 9),
            ("bitrate IN {1} AND length == nil", "read all rows of Media", 900),
            ("bitrate IN {1} OR title == 'song 70'", "read all rows of Media", 901),
            ("bitrate IN {1, 100, 200}", "read all rows of Media", 902),
        ] {
            #expect(try plan(fixture, format).hasPrefix(step), "\(format)")
            #expect(try fixture.store.fetchIDs(fetch(fixture, format)).count == count, "\(format)")
        }
    }

    @Test func `a number of rows is counted in the index, however many they are`() throws {
        let fixture = try songs(400) { ["bitrate": .integer($0 % 10 == 0 ? 5 : 1)] }
        var count = 0

        let rows = try StepCount.count { count = try fixture.store.count(fetch(fixture, "bitrate IN {1}")) }.rows

        #expect(count == 360)
        #expect(rows == 0, "\(rows) rows were read to count \(count)")
    }

    @Test func `rows of a frequent value are read in the order of their entries up to a limit`() throws {
        let fixture = try songs(1000) { ["bitrate": .integer($0 < 300 ? Int64(100 + $0) : 1)] }
        let all = try fixture.store.fetchIDs(fixture.request("Song"))
        var found: [ObjectID] = []

        let rows = try StepCount.count {
            found = try fixture.store.fetch(fetch(fixture, "bitrate IN {1}", limit: 5)).ids
        }.rows

        #expect(found == Array(all[300..<305]))
        #expect(rows <= 5, "\(rows) rows were read for five")
    }

    // MARK: Samples

    @Test func `a sample is taken once, and only if ways are compared`() throws {
        let fixture = try songs(300) { ["bitrate": .integer(Int64($0)), "title": title($0)] }
        let artist = try fixture.insert("Person", ["name": .string("Ann")])
        _ = try fixture.insert("Album", ["name": .string("one"), "year": .integer(1990)], to: ["artist": artist])
        func samples(_ entity: String, _ format: String, _ arguments: (any PredicateArgument)?...) throws -> Int {
            let request = try fixture.request(entity, FetchPredicate(format: format, argumentArray: arguments))
            return try StepCount.count { _ = try fixture.store.explain(request) }.steps
        }

        #expect(try samples("Song", "bitrate == 7") == 0)
        #expect(try samples("Song", "lossless == YES") == 0)
        #expect(try samples("Person", "name == 'Ann'") == 0)
        #expect(try samples("Album", "name == 'one' AND artist == %@", artist) == 0)
        #expect(try samples("Song", "bitrate IN {7} AND title > 't'") == 2)
        #expect(try samples("Song", "bitrate IN {7} AND title > 't'") == 0)
        _ = try fixture.insert("Note", ["text": .string("a commit")])
        #expect(try samples("Song", "bitrate IN {9} OR title > 't'") == 0)
    }

    @Test func `a sample is taken again after many entries, many commits or a command`() throws {
        let fixture = try songs(300) { ["bitrate": .integer(Int64(100 + $0))] }
        let scan = "read all rows of Media"
        let old = try fixture.store.snapshot()
        func steps(of bitrate: Int) throws -> String { try plan(fixture, "bitrate IN {\(bitrate)} AND length == nil") }
        #expect(try steps(of: 1).hasPrefix("tree \"index:Song.bitrate\""))

        let ids = try add(600, to: fixture) { _ in ["bitrate": .integer(1)] }
        #expect(try steps(of: 1) == scan)
        let former = try #require(try old.explain(fetch(fixture, "bitrate IN {1} AND length == nil")).first)
        #expect(former.hasPrefix("tree \"index:Song.bitrate\""))

        var request = SaveRequest()
        request.updates = try ids.map { try fixture.update($0, ["bitrate": .integer(2)]) }
        _ = try fixture.store.save(request)
        for _ in 0..<64 { _ = try fixture.insert("Note", ["text": .string("a commit")]) }
        #expect(try steps(of: 2) == scan)
        #expect(try steps(of: 1).hasPrefix("tree \"index:Song.bitrate\""))

        let three = try ResolvedAssignment(
            "bitrate", .value(.integer(3)), for: fixture.entity("Song"), in: fixture.model)
        let result = try fixture.store.execute(StoreCommand(.update(.ids(ids), [three])))
        #expect(result.count == 600)
        #expect(try steps(of: 3) == scan)
        #expect(try fixture.find("Song", "bitrate IN {3} AND length == nil") == ids)
    }

    @Test func `a snapshot from before a command leaves no sample for those after it`() throws {
        let fixture = try songs(600) { ["bitrate": .integer(Int64(100 + $0))] }
        let old = try fixture.store.snapshot()
        let ids = try fixture.store.fetchIDs(fixture.request("Song"))
        let three = try ResolvedAssignment(
            "bitrate", .value(.integer(3)), for: fixture.entity("Song"), in: fixture.model)
        #expect(try fixture.store.execute(StoreCommand(.update(.ids(ids), [three]))).count == 600)
        let format = "bitrate IN {3} AND length == nil"

        let former = try #require(try old.explain(fetch(fixture, format)).first)

        #expect(former.hasPrefix("tree \"index:Song.bitrate\""))
        #expect(try plan(fixture, format) == "read all rows of Media")
        #expect(try fixture.find("Song", format) == ids)
    }

    // MARK: Damage

    @Test func `an index whose pages are damaged is planned by fixed shares, and reading it gives an error`() throws {
        let fixture = try songs(300, .treeInFile) { number in
            ["bitrate": .integer(Int64(number)), "title": title(number)]
        }
        let (offset, byteCount) = try place(of: "index:Song.bitrate", in: fixture)
        try fixture.store.close()
        var file = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        for index in stride(from: offset + 40, to: offset + byteCount, by: 7) { file[index] ^= 0x55 }
        try file.write(to: URL(fileURLWithPath: fixture.path))
        let store = try BTreeStore.open(path: fixture.path, model: fixture.model)
        let both = try fetch(fixture, "bitrate IN {7} AND title == 't000007'")
        let one = try fetch(fixture, "bitrate IN {7}")

        #expect(try store.explain(both).first?.hasPrefix("tree \"index:Media.title\"") == true)
        #expect(try store.fetchIDs(both).count == 1)
        #expect(try store.explain(one).first?.hasPrefix("tree \"index:Song.bitrate\"") == true)
        let error = #expect(throws: StoreError.self) { try store.fetchIDs(one) }
        if case .storage(.corruption, _) = error {} else { Issue.record("\(String(describing: error))") }
        try store.close()
    }

    /// The bytes of the root of a tree within the file of the store.
    private func place(of tree: String, in fixture: StoreFixture) throws -> (offset: Int, byteCount: Int) {
        let database = try #require(fixture.store as? BTreeStore).database
        let summary = try #require(try database.beginRead().trees().first { $0.tree.name == tree })
        return (Int(summary.root) * database.pageSize, database.pageSize)
    }
}
