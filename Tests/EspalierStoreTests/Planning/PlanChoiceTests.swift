// Every choice of the planner, as `explain` and `analyze` show it: one table for rows, IDs and numbers, and one for
// values.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct PlanChoiceTests {
    /// One fetch and its plan: each line begins with the text; "…" stands for any further lines.
    private struct Choice {
        let format: String?
        var sort: [SortKey] = []
        var offset = 0
        var limit: Int?
        var form = FetchForm.rows
        let plan: [String]

        init(
            _ format: String?, sort: [SortKey] = [], offset: Int = 0, limit: Int? = nil, as form: FetchForm = .rows,
            _ plan: [String]
        ) {
            (self.format, self.sort, self.offset) = (format, sort, offset)
            (self.limit, self.form, self.plan) = (limit, form, plan)
        }
    }

    private static let forValues = "exact: rows are read only for their values"
    private static let title = "tree \"index:Media.title\", keys that begin with"
    private static let titles = "title IN {'song 1', 'song 2', 'song 3'}"
    private static let byRating = "tree \"index:Media.rating\", all keys"
    private static let choices: [Choice] = [
        Choice("FALSEPREDICATE", ["nothing can match"]),
        Choice(nil, limit: 0, ["nothing can match"]),
        Choice("lossless == YES", ["read all rows of Media", "test 1 condition on each row", "order: primary key"]),
        // Order and limits.
        Choice(nil, sort: [SortKey("lossless")], ["read all rows of Media", "order: sort by lossless"]),
        Choice(
            nil, sort: [SortKey("lossless")], offset: 5, limit: 3,
            ["read all rows of Media", "order: keep the first 8 by lossless", "skip 5", "stop after 3"]),
        Choice(
            nil, sort: [SortKey("rating", ascending: false)], limit: 3,
            [
                byRating + ", backwards", forValues, "order: by index", "cost: 9 by this index, 600 by sorting",
                "stop after 3",
            ]),
        Choice(
            "bitrate == 3", offset: 2, limit: 5,
            [
                "tree \"index:Song.bitrate\", keys that begin with", forValues, "order: by index", "skip 2",
                "stop after 5",
            ]),
        // Parts of an index.
        Choice("title == 'song 7'", [title, forValues, "order: primary key"]),
        Choice(titles, ["tree \"index:Media.title\", 3 ranges", forValues, "order: primary key"]),
        Choice(
            "length == 7 AND title > 'song 2'",
            ["tree \"index:Media.byLengthAndTitle\", keys from", forValues, "order: primary key"]),
        Choice(
            "title BEGINSWITH 'song 7'",
            [title, "read each row", "test 1 condition on each row", "order: primary key"]),
        Choice(
            "title LIKE 'song 7*'", [title, "read each row", "test 1 condition on each row", "order: primary key"]),
        Choice(
            "title == 'song 1' OR rating == 3",
            [title, "tree \"index:Media.rating\", keys that begin with", "all of these 2", forValues, "…"]),
        Choice(
            "album.artist.name == 'person 3'",
            ["tree \"unique:Person.name\", keys that", "back across Album.artist", "back across Song.album", "…"]),
        // IDs and numbers.
        Choice("title == 'song 7'", as: .ids, [title, "exact: no row is read", "order: primary key"]),
        Choice(
            titles, sort: [SortKey("lossless")], as: .ids,
            ["tree \"index:Media.title\", 3 ranges", "exact: rows are read only for their order", "order: sort by"]),
        Choice(
            nil, sort: [SortKey("rating")], as: .rows,
            [
                "read all rows of Media", "order: sort by rating",
                "cost: 800 by sorting, 803 by tree \"index:Media.rating\", all keys",
            ]),
        Choice(
            nil, sort: [SortKey("rating")], as: .ids,
            [byRating, "exact: no row is read", "order: by index", "cost: 203 by this index, 800 by sorting"]),
        Choice(nil, sort: [SortKey("rating")], as: .count, ["count rows"]),
        Choice(
            titles, sort: [SortKey("rating")], as: .count,
            ["tree \"index:Media.title\", 3 ranges", "exact: no row is read", "order: primary key"]),
        Choice(
            "title BEGINSWITH 'song 7'", as: .count,
            [title, "read each row", "test 1 condition on each row", "order: primary key"]),
    ]

    /// 40 people, 80 albums and 400 songs: enough for the costs of plans to differ.
    private func library() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory)
        let people = try (0..<40).map { try fixture.insertion("Person", ["name": .string("person \($0)")]) }
        let albums = try (0..<80).map { number in
            try fixture.insertion(
                "Album", ["name": .string("album \(number)")], to: ["artist": people[number / 2].id])
        }
        let songs = try (0..<400).map { number in
            let values: [String: AttributeValue] = [
                "title": .string("song \(number)"), "length": .integer(Int64(number % 100)),
                "rating": .double(Double(number % 50)), "bitrate": .integer(Int64(number % 8)),
                "lossless": .boolean(number % 10 == 0),
            ]
            return try fixture.insertion("Song", values, to: ["album": albums[number / 5].id])
        }
        var request = SaveRequest()
        request.insertions = people + albums + songs
        _ = try fixture.store.save(request)
        return fixture
    }

    private func fits(_ lines: [String], _ expected: [String]) -> Bool {
        let isOpen = expected.last == "…"
        let texts = isOpen ? expected.dropLast() : expected[...]
        guard isOpen ? lines.count >= texts.count : lines.count == texts.count else { return false }
        return zip(lines, texts).allSatisfy { $0.hasPrefix($1) }
    }

    @Test func `every choice of the planner is one that explain shows, for rows, IDs and numbers`() throws {
        let (fixture, memory) = (try library(), try StoreFixture(.memory))
        for choice in Self.choices {
            let fetch = try fixture.request(
                "Song", choice.format.map { try FetchPredicate(format: $0) }, sort: choice.sort,
                offset: choice.offset, limit: choice.limit)
            let lines = try fixture.store.explain(fetch, as: choice.form)
            #expect(
                fits(lines, choice.plan), "\(choice.format ?? "all") as \(choice.form): \(lines), not \(choice.plan)")
            if choice.form == .rows { #expect(try fixture.store.explain(fetch) == lines) }
        }
        let song = try #require(try fixture.find("Song", "title == 'song 7'").first)
        let own = try fixture.request("Song", FetchPredicate(format: "SELF == %@", song))
        #expect(try fixture.store.explain(own, as: .count)[0] == "1 primary key")
        // A store with one way to answer has it for all forms.
        let all = try memory.request("Song")
        for form in FetchForm.allCases { #expect(try memory.store.explain(all, as: form) == memory.store.explain(all)) }
    }

    @Test func `a sort beyond its memory, and one within it, differ in the analysis`() throws {
        let fixture = try library()
        let store = try #require(fixture.store as? BTreeStore)
        let fetch = try fixture.request("Song", sort: [SortKey("lossless")])
        #expect(try !store.snapshot().analyze(fetch).action.contains("temporary file"))
        store.sortByteCountMax = 4096
        #expect(try store.snapshot().analyze(fetch).action.contains("bytes were sorted in a temporary file"))
    }

    private func values(
        _ fixture: StoreFixture, _ columns: [FetchColumn], by groups: [FetchColumn] = [], _ format: String? = nil
    ) throws -> StoreValueFetch {
        let song = try fixture.entity("Song")
        var request = ValueRequest(entityName: "Song", columns: columns)
        request.propertiesToGroupBy = groups
        return StoreValueFetch(
            try ResolvedValues(request, for: song, in: fixture.model),
            predicate: try format.map { format in
                try ResolvedPredicate(FetchPredicate(format: format), for: song, in: fixture.model)
            })
    }

    @Test func `values by seeks, by counts of an index, by entries and by rows are analyzed with their numbers`()
        throws
    {
        let fixture = try library()
        let snapshot = try fixture.store.snapshot()
        func analyze(_ fetch: StoreValueFetch) throws -> (plan: [String], step: PlanStep) {
            (try snapshot.explain(fetch), try snapshot.analyze(fetch))
        }

        let seeks = try analyze(values(fixture, [.min("rating"), .count()]))
        #expect(seeks.plan == ["tree \"index:Media.rating\", the first value", "count rows"])
        #expect(seeks.step.foundCount == 1 && seeks.step.sources.map(\.action) == seeks.plan)
        #expect(seeks.step.sources.map(\.foundCount) == [1, 400])
        #expect(seeks.step.sources.map(\.expectedCount) == [1, 400])
        #expect(seeks.step.sources.allSatisfy { $0.duration != nil })

        let some = try analyze(values(fixture, [.count()], "title BEGINSWITH 'song 7'"))
        #expect(some.plan == ["count rows"] && some.step.sources[0].foundCount == 11)
        #expect(some.step.lines.last?.action.contains("index:Media.title") == true, "\(some.step)")

        let groups = try analyze(values(fixture, ["bitrate", .count()], by: ["bitrate"]))
        #expect(groups.plan == ["tree \"index:Song.bitrate\", count the entries of each value"])
        #expect(groups.step.foundCount == 8 && groups.step.sources.map(\.foundCount) == [400])
        #expect(groups.step.sources.map(\.action) == groups.plan)

        let entries = try analyze(values(fixture, ["bitrate"], "bitrate >= 6"))
        let alone = ["tree \"index:Song.bitrate\", keys from", "read entries alone"]
        #expect(fits(entries.plan, alone), "\(entries.plan)")
        let leaf = try #require(entries.step.lines.last?.step)
        #expect(entries.step.foundCount == 100 && leaf.foundCount == 100 && leaf.expectedCount ?? 0 > 0)

        let rows = try analyze(values(fixture, ["lossless"], "lossless == YES"))
        #expect(rows.plan.first == "read all rows of Media")
        #expect(rows.step.foundCount == 40 && rows.step.sources.map(\.foundCount) == [40])
        #expect(rows.step.lines.last?.step.foundCount == 400)

        let memory = try StoreFixture(.memory)
        _ = try memory.insert("Song", ["bitrate": .integer(1)])
        let any = try memory.store.snapshot().analyze(values(memory, ["bitrate"]))
        #expect(any.action == "values of Song" && any.foundCount == 1 && any.duration != nil)
    }
}
