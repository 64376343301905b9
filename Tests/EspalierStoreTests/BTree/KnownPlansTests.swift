// The plans of fetches that are repeated: when one is used again, when another one is chosen, and that the rows are
// those of the same fetch planned anew.

import EspalierModel
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct KnownPlansTests {
    private static let scan = "read all rows of Media"
    private static let byBitrate = "tree \"index:Song.bitrate\""

    /// A store with `count` songs, whose values `values` returns.
    private func songs(
        _ count: Int, _ kind: StoreKind = .treeInFile, _ values: (Int) -> [String: AttributeValue]
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

    /// A fetch as a context makes it of a request that has been made before.
    private func repeated(
        _ fixture: StoreFixture, _ entity: String, _ format: String, sort: [SortKey] = [], limit: Int? = nil
    ) throws -> StoreFetch {
        var fetch = try fixture.request(entity, FetchPredicate(format: format), sort: sort, limit: limit)
        fetch.isRepeated = true
        return fetch
    }

    private func once(_ fetch: StoreFetch) -> StoreFetch {
        var once = fetch
        once.isRepeated = false
        return once
    }

    /// The kept plan of a fetch; `nil` if there is none.
    private func known(_ fixture: StoreFixture, _ fetch: StoreFetch, wantsRows: Bool = true) throws -> KnownPlan? {
        let store = try #require(fixture.store as? BTreeStore)
        let plan = store.knownPlans.plan(at: KnownPlans.place(of: fetch, wantsRows: wantsRows))
        return plan.flatMap { $0.isOf(fetch, wantsRows: wantsRows) ? $0 : nil }
    }

    private func isKnown(_ fixture: StoreFixture, _ fetch: StoreFetch, wantsRows: Bool = true) throws -> Bool {
        try known(fixture, fetch, wantsRows: wantsRows) != nil
    }

    private func firstStep(_ fixture: StoreFixture, _ fetch: StoreFetch) throws -> String {
        try #require(try fixture.store.explain(fetch).first)
    }

    /// The switch by which the caller of a fetch cancels it.
    private final class Cancelling: Sendable {
        let isCancelled = false
    }

    @Test func `the plan of a fetch that has ended keeps nothing of its caller`() throws {
        let fixture = try songs(40) { ["title": .string("song \($0)"), "bitrate": .integer(Int64($0 % 8))] }
        let fetch = try repeated(fixture, "Song", "bitrate > 2")
        weak var seen: Cancelling?
        func ask() throws {
            let caller = Cancelling()
            seen = caller
            var asked = fetch
            asked.isCancelled = { caller.isCancelled }
            #expect(try fixture.store.fetch(asked).ids.count == 25)
        }

        try ask()

        #expect(try isKnown(fixture, fetch))
        #expect(seen == nil)
    }

    @Test func `a repeated fetch is planned once for fetch, explain and analyze, and another one each time`() throws {
        let fixture = try songs(400) { ["title": .string("song \($0)"), "bitrate": .integer(Int64($0 % 8))] }
        let fetch = try repeated(
            fixture, "Song", "title BEGINSWITH 'song 7' AND bitrate > 2", sort: [SortKey("title")], limit: 3)
        let single = once(fetch)

        let ids = try fixture.store.fetch(single).ids
        #expect(try !isKnown(fixture, single), "a fetch that is not repeated keeps a plan")
        #expect(try fixture.store.fetch(fetch).ids == ids && ids.count == 3)
        let plan = try #require(try known(fixture, fetch))
        #expect(try fixture.store.fetch(fetch).ids == ids)
        #expect(try fixture.store.explain(fetch) == fixture.store.explain(single))
        #expect(try fixture.store.snapshot().analyze(fetch).foundCount == 3)

        #expect(try known(fixture, fetch) === plan)
        #expect(try fixture.store.count(fetch) == 3)
        #expect(try !isKnown(fixture, fetch, wantsRows: false), "a count has an order")
    }

    @Test func `a fetch with another condition or with an order by an expression keeps no plan`() throws {
        let fixture = try songs(100) { ["title": .string("song \($0)"), "rating": .double(Double($0))] }
        var fetch = try repeated(fixture, "Song", "title BEGINSWITH 'song 7'")
        let other = try fixture.request("Song", FetchPredicate(format: "rating < 3")).predicate
        fetch.predicate = other
        #expect(!fetch.isRepeated)

        let key = SortKey(expression: try FetchExpression(format: "rating * 2"))
        let ordered = try repeated(fixture, "Song", "rating < 3", sort: [key])
        #expect(try fixture.store.fetch(ordered).ids.count == 3)
        #expect(try !isKnown(fixture, ordered))
    }

    /// 60 songs and 20 books, of which 44 have a title that begins with "song 1".
    private func media() throws -> StoreFixture {
        let fixture = try songs(60) { number in
            [
                "title": .string("song \(number % 20)"), "rating": .double(Double(number % 7)),
                "length": .integer(Int64(number % 11)),
            ]
        }
        var request = SaveRequest()
        request.insertions = try (0..<20).map { try fixture.insertion("Book", ["title": .string("song \($0)")]) }
        _ = try fixture.store.save(request)
        return fixture
    }

    /// More limits and offsets than places: many share one.
    @Test func `each limit and each offset has its own plan`() throws {
        let fixture = try media()
        let base = try repeated(fixture, "Media", "title BEGINSWITH 'song 1'", sort: [SortKey("title")])
        let all = try fixture.store.fetchIDs(once(base))
        #expect(all.count == 44)
        let snapshot = try fixture.store.snapshot()
        for number in Array(1...100) + (1...100).reversed() {
            var (limited, skipping) = (base, base)
            (limited.limit, skipping.offset) = (number, number)
            #expect(try snapshot.fetchIDs(limited) == Array(all.prefix(number)), "limit \(number)")
            #expect(try snapshot.fetchIDs(skipping) == Array(all.dropFirst(number)), "offset \(number)")
        }
    }

    @Test func `each order, form and choice of entities has its own plan`() throws {
        let fixture = try media()
        let orders = [
            [], [SortKey("title")], [SortKey("title", ascending: false)], [SortKey("rating")],
            [SortKey("rating", ascending: false)], [SortKey("title"), SortKey("rating")],
            [SortKey("length"), SortKey("title", ascending: false)],
        ]
        let base = try repeated(fixture, "Media", "title BEGINSWITH 'song 1'")
        var fetches: [StoreFetch] = []
        for order in orders {
            let sorted = try fixture.request("Media", nil, sort: order).sort
            for (offset, limit) in [(0, nil), (0, 5), (3, 5), (70, 5)] as [(Int, Int?)] {
                for includesSubentities in [true, false] {
                    var fetch = base
                    (fetch.sort, fetch.offset, fetch.limit) = (sorted, offset, limit)
                    fetch.includesSubentities = includesSubentities
                    fetches.append(fetch)
                }
            }
        }
        let seed = testSeed(default: 131_730)
        var random = SeededGenerator(seed: seed)
        let snapshot = try fixture.store.snapshot()
        for _ in 0..<2 {
            for fetch in fetches.shuffled(using: &random) {
                let place = "seed \(seed): \(fetch.sort.map(\.source)), \(fetch.offset), \(fetch.limit ?? -1)"
                let single = once(fetch)
                #expect(try snapshot.fetch(fetch).ids == snapshot.fetch(single).ids, "\(place)")
                #expect(try snapshot.fetchIDs(fetch) == snapshot.fetchIDs(single), "\(place)")
                #expect(try snapshot.count(fetch) == snapshot.count(single), "\(place)")
                for form in FetchForm.allCases {
                    #expect(
                        try snapshot.explain(fetch, as: form) == snapshot.explain(single, as: form),
                        "\(place) as \(form)")
                }
            }
        }
    }

    @Test func `a plan holds while the rows grow by a tenth, and another one is chosen when they are more`() throws {
        let fixture = try songs(300) { ["bitrate": .integer(Int64(100 + $0))] }
        let fetch = try repeated(fixture, "Song", "bitrate IN {1} AND length == nil")
        #expect(try firstStep(fixture, fetch).hasPrefix(Self.byBitrate))
        let first = try #require(try known(fixture, fetch))

        try add(30, to: fixture) { _ in ["bitrate": .integer(1)] }
        #expect(try fixture.store.fetchIDs(fetch).count == 30)
        #expect(try firstStep(fixture, fetch).hasPrefix(Self.byBitrate))
        let second = try #require(try known(fixture, fetch))
        #expect(second.commit > first.commit && second.statistics.rowCounts == first.statistics.rowCounts)

        try add(600, to: fixture) { _ in ["bitrate": .integer(1)] }
        #expect(try firstStep(fixture, fetch) == Self.scan)
        #expect(try fixture.store.fetchIDs(fetch).count == 630)
        let third = try #require(try known(fixture, fetch))
        #expect(third.statistics.rowCounts.reduce(0, +) == 930)
    }

    @Test func `a plan without samples holds while the rows are as many`() throws {
        let fixture = try songs(4) { ["bitrate": .integer(Int64($0)), "lossless": .boolean(true)] }
        let fetch = try repeated(fixture, "Song", "lossless == YES AND bitrate != 9")
        #expect(try fixture.store.fetchIDs(fetch).count == 4)
        let first = try #require(try known(fixture, fetch, wantsRows: false))

        #expect(first.samples.isEmpty)
        let ids = try fixture.store.fetchIDs(fixture.request("Song"))
        try fixture.change(ids[0], ["bitrate": .integer(9)])
        #expect(try fixture.store.fetchIDs(fetch).count == 3)
        let second = try #require(try known(fixture, fetch, wantsRows: false))
        #expect(second.commit > first.commit && second.statistics.rowCounts == first.statistics.rowCounts)

        try add(1, to: fixture) { _ in ["lossless": .boolean(true)] }
        #expect(try fixture.store.fetchIDs(fetch).count == 4)
        let third = try #require(try known(fixture, fetch, wantsRows: false))
        #expect(third.statistics.rowCounts != first.statistics.rowCounts)
    }

    @Test func `another plan is chosen by another sample: after a command, and after many commits`() throws {
        let fixture = try songs(600, .treeInMemory) { ["bitrate": .integer(Int64(100 + $0))] }
        let fetches = try ["bitrate IN {3} AND length == nil", "bitrate IN {2} AND length == nil"].map {
            try repeated(fixture, "Song", $0)
        }
        for fetch in fetches { #expect(try firstStep(fixture, fetch).hasPrefix(Self.byBitrate)) }

        let ids = try fixture.store.fetchIDs(fixture.request("Song"))
        let three = try ResolvedAssignment(
            "bitrate", .value(.integer(3)), for: fixture.entity("Song"), in: fixture.model)
        #expect(try fixture.store.execute(StoreCommand(.update(.ids(ids), [three]))).count == 600)
        #expect(try firstStep(fixture, fetches[0]) == Self.scan)
        #expect(try fixture.store.fetchIDs(fetches[0]) == ids)

        var request = SaveRequest()
        request.updates = try ids.map { try fixture.update($0, ["bitrate": .integer(2)]) }
        _ = try fixture.store.save(request)
        #expect(try fixture.store.fetchIDs(fetches[1]) == ids)
        let note = try fixture.insert("Note", ["text": .string("a commit")])
        for number in 0..<64 { try fixture.change(note, ["text": .string("commit \(number)")]) }
        #expect(try firstStep(fixture, fetches[1]) == Self.scan)
        #expect(try firstStep(fixture, fetches[0]).hasPrefix(Self.byBitrate))
        #expect(try fixture.store.fetchIDs(fetches[0]).isEmpty)
    }

    @Test func `a snapshot of an older commit leaves the plan of a newer one, and finds its own rows`() throws {
        let fixture = try songs(300) { ["bitrate": .integer(Int64(100 + $0))] }
        let fetch = try repeated(fixture, "Song", "bitrate IN {1} AND length == nil")
        let old = try fixture.store.snapshot()
        #expect(try old.fetch(fetch).ids.isEmpty)
        let ids = try add(600, to: fixture) { _ in ["bitrate": .integer(1)] }
        let new = try fixture.store.snapshot()
        #expect(try new.fetch(fetch).ids == ids)
        let plan = try #require(try known(fixture, fetch))

        for _ in 0..<2 {
            #expect(try old.explain(fetch).first?.hasPrefix(Self.byBitrate) == true)
            #expect(try old.fetch(fetch).ids.isEmpty)
            #expect(try new.explain(fetch).first == Self.scan)
            #expect(try new.fetch(fetch).ids == ids)
        }

        #expect(try known(fixture, fetch) === plan)
    }
}
