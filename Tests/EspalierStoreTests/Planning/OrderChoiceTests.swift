// The order of a fetch from an index or by sorting: the least cost, as `explain` shows it, and the way along an index
// that is left because too few rows pass.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct OrderChoiceTests {
    /// The number of events.
    private static let count = 3000

    private static let byDay = EntityDescription.Index("byDay", on: [.init("day")])
    private static let byCountry = EntityDescription.Index("byCountry", on: [.init("country"), .init("day")])
    private static let ofCountry = EntityDescription.Index("ofCountry", on: [.init("country")])

    private static func model(_ indexes: [EntityDescription.Index]) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Event",
                attributes: [
                    AttributeDescription("day", .integer64), AttributeDescription("country", .string),
                    AttributeDescription("note", .string), AttributeDescription("number", .integer64),
                ], indexes: indexes)
        ])
    }

    /// Events in a store of a kind.
    ///
    /// Event i is on day i * 7 mod count; `values` says the rest by the day.
    private static func events(
        _ kind: StoreKind, _ indexes: [EntityDescription.Index], _ values: (Int) -> (country: String, note: String)
    ) throws -> StoreFixture {
        let fixture = try StoreFixture(kind, model(indexes))
        var request = SaveRequest()
        request.insertions = try (0..<count).map { number in
            let day = number * 7 % count
            let (country, note) = values(day)
            return try fixture.insertion(
                "Event",
                [
                    "day": .integer(Int64(day)), "country": .string(country), "note": .string(note),
                    "number": .integer(Int64(number)),
                ])
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    /// Thirty countries; the notes of the first five days differ from all others.
    private static func usual(_ day: Int) -> (country: String, note: String) {
        ("c\(day % 30)", day < 5 ? "early" : day % 2 == 0 ? "some" : "other")
    }

    private static func request(
        _ fixture: StoreFixture, _ format: String, ascending: Bool = true, offset: Int = 0, limit: Int? = nil
    ) throws -> StoreFetch {
        try fixture.request(
            "Event", FetchPredicate(format: format), sort: [SortKey("day", ascending: ascending)], offset: offset,
            limit: limit)
    }

    /// The days of the rows that a request finds.
    private static func days(_ fixture: StoreFixture, _ request: StoreFetch) throws -> [AttributeValue] {
        let slot = try #require(try fixture.entity("Event").attribute(named: "day")).slot
        return try fixture.store.fetch(request).map { $0.value(at: slot) }
    }

    @Test(arguments: [[byDay, byCountry], [byCountry, byDay]])
    func `of two indexes that have the order the one with fewer rows to pass is read, whichever is declared first`(
        indexes: [EntityDescription.Index]
    ) throws {
        let fixture = try Self.events(.treeInMemory, indexes, Self.usual)
        let request = try Self.request(fixture, "country == 'c7'", limit: 20)

        let lines = try fixture.store.explain(request)
        var days: [AttributeValue] = []
        let work = try StepCount.count { days = try Self.days(fixture, request) }

        #expect(lines[0].hasPrefix("tree \"index:Event.byCountry\", keys that begin with"), "\(lines)")
        #expect(lines.contains("order: by index"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("cost: 43 by this index, ") }, "\(lines)")
        #expect(days == (0..<20).map { AttributeValue.integer(Int64(7 + 30 * $0)) })
        #expect(work.rows <= 20, "\(work.rows) rows were read for twenty")
    }

    @Test func `rows are sorted if many of them would be found along the index to be refused, and explain says so`()
        throws
    {
        let fixture = try Self.events(.treeInMemory, [Self.byDay], Self.usual)
        let lines = try fixture.store.explain(Self.request(fixture, "note == 'none'", limit: 100))

        #expect(lines[0] == "read all rows of Event", "\(lines)")
        #expect(lines.contains("order: keep the first 100 by day"), "\(lines)")
        #expect(lines.contains("cost: 3030 by sorting, 6003 by tree \"index:Event.byDay\", all keys"), "\(lines)")
        // Without a condition each row along the index is one of the result.
        let all = try fixture.store.explain(Self.request(fixture, "TRUEPREDICATE", limit: 100))
        #expect(all.contains("cost: 203 by this index, 4500 by sorting"), "\(all)")
        #expect(!all.contains { $0.hasPrefix("if too few rows pass") }, "\(all)")
    }

    @Test func `a walk along an index on which no row passes is left for a scan`() throws {
        let fixture = try Self.events(.treeInMemory, [Self.byDay], Self.usual)
        let request = try Self.request(fixture, "note == 'none'", limit: 20)

        let lines = try fixture.store.explain(request)
        #expect(lines[0] == "tree \"index:Event.byDay\", all keys", "\(lines)")
        #expect(lines.contains("cost: 2003 by this index, 3030 by sorting"), "\(lines)")
        #expect(
            lines.contains("if too few rows pass: read all rows of Event, keep the first 20 by day"), "\(lines)")
        var found: [ObjectID] = []
        let work = try StepCount.count { found = try fixture.store.fetch(request).ids }
        #expect(found.isEmpty)
        // Each row that is found by an entry is two steps.
        #expect(work.rows < Self.count + 100 && work.steps < Self.count + 200, "\(work)")
        let step = try fixture.store.snapshot().analyze(request)
        #expect(step.foundCount == 0)
        #expect(step.action.contains("too few rows along the index pass"), "\(step)")
        #expect(step.action.contains("all rows were read instead"), "\(step)")
    }

    @Test func `a walk on which rows pass as they were expected to goes on`() throws {
        let fixture = try Self.events(.treeInMemory, [Self.byDay], Self.usual)
        for format in ["note == 'some'", "note != 'other'", "note ENDSWITH 'e'"] {
            let request = try Self.request(fixture, format, ascending: false, limit: 20)
            var days: [AttributeValue] = []
            let work = try StepCount.count { days = try Self.days(fixture, request) }
            #expect(days == (0..<20).map { AttributeValue.integer(Int64(2998 - 2 * $0)) }, "\(format)")
            #expect(work.rows <= 40, "\(work.rows) rows were read for \(format)")
            #expect(try fixture.store.fetchIDs(request) == fixture.store.fetch(request).ids, "\(format)")
            let action = try fixture.store.snapshot().analyze(request).action
            #expect(!action.contains("too few rows"), "\(action)")
        }
    }

    @Test func `a walk that is left after some rows finds each row once, as rows, as IDs and as values`() throws {
        let (tree, memory) = (
            try Self.events(.treeInMemory, [Self.byDay], Self.usual),
            try Self.events(.memory, [Self.byDay], Self.usual)
        )
        for (ascending, offset) in [(true, 0), (true, 2), (false, 0), (true, 9)] {
            func answer(_ fixture: StoreFixture) throws -> [AttributeValue] {
                let request = try Self.request(
                    fixture, "note == 'early'", ascending: ascending, offset: offset, limit: 20)
                let days = try Self.days(fixture, request)
                #expect(try fixture.store.fetchIDs(request) == fixture.store.fetch(request).ids, "offset \(offset)")
                var values = ValueRequest(
                    entityName: "Event", predicate: try FetchPredicate(format: "note == 'early'"),
                    columns: ["day", "number"])
                values.sortKeys = [SortKey("day", ascending: ascending)]
                (values.fetchOffset, values.fetchLimit) = (offset, 20)
                let fetch = StoreValueFetch(
                    try ResolvedValues(values, for: fixture.entity("Event"), in: fixture.model),
                    predicate: request.predicate)
                #expect(try fixture.store.values(fetch).rows().map { $0.values[0] } == days, "offset \(offset)")
                return days
            }
            let days = try answer(tree)
            #expect(days == (try answer(memory)), "ascending \(ascending), offset \(offset)")
            #expect(days.count == max(0, 5 - offset))
        }
        let request = try Self.request(tree, "note == 'early'", limit: 20)
        #expect(try tree.store.explain(request)[0] == "tree \"index:Event.byDay\", all keys")
        let step = try tree.store.snapshot().analyze(request)
        #expect(step.foundCount == 5 && step.action.contains("too few rows along the index pass"), "\(step)")
    }

    @Test func `a walk whose rows all come last is left for the candidates of another index`() throws {
        // Three of ten events are in one country, all on the first days.
        let fixture = try Self.events(.treeInMemory, [Self.byDay, Self.ofCountry]) { day in
            (day < 900 ? "old" : "new \(day % 900)", "some")
        }
        let request = try Self.request(fixture, "country IN {'old'}", ascending: false, limit: 3)

        let lines = try fixture.store.explain(request)
        #expect(lines[0] == "tree \"index:Event.byDay\", all keys, backwards", "\(lines)")
        #expect(
            lines.contains {
                $0.hasPrefix("if too few rows pass: tree \"index:Event.ofCountry\", keys that begin with")
            }, "\(lines)")
        var days: [AttributeValue] = []
        let work = try StepCount.count { days = try Self.days(fixture, request) }
        #expect(days == [.integer(899), .integer(898), .integer(897)])
        #expect(work.rows < 1700, "\(work.rows) rows were read")
        let step = try fixture.store.snapshot().analyze(request)
        #expect(step.action.contains("too few rows along the index pass"), "\(step)")
        #expect(!step.action.contains("all rows were read"), "\(step)")
    }

    @Test func `an offset over an index is passed without rows, however many it skips`() throws {
        let fixture = try Self.events(.treeInMemory, [Self.byDay], Self.usual)
        let request = try Self.request(fixture, "TRUEPREDICATE", offset: Self.count - 20, limit: 10)

        var days: [AttributeValue] = []
        let work = try StepCount.count { days = try Self.days(fixture, request) }

        #expect(days == (0..<10).map { AttributeValue.integer(Int64(Self.count - 20 + $0)) })
        #expect(work.rows <= 10, "\(work.rows) rows were read for ten")
    }
}
