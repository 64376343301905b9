// Rows with long values: a question that does not need them reads none of their pages, and has the same answer as in a
// store in memory, wherever in the row the long values are (MD-22).

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct LongRowTests {
    /// Documents, whose long values are before and after short ones, and letters, which are documents with more.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Document",
                attributes: [
                    AttributeDescription("title", .string), AttributeDescription("number", .integer64, isIndexed: true),
                    AttributeDescription("scan", .binary, allowsExternalBinaryDataStorage: true),
                    AttributeDescription("label", .string), AttributeDescription("score", .double),
                ]),
            EntityDescription(
                "Letter", superentity: "Document",
                attributes: [AttributeDescription("sender", .string), AttributeDescription("seal", .transformable)]),
        ])
    }

    private static func columns(
        _ fixture: StoreFixture, _ entityName: String, _ columns: [FetchColumn], _ format: String,
        by groups: [FetchColumn] = [], sort: [SortKey] = [], limit: Int = 0
    ) throws -> StoreValueFetch {
        let entity = try fixture.entity(entityName)
        var request = ValueRequest(entityName: entityName, columns: columns)
        (request.propertiesToGroupBy, request.sortKeys, request.fetchLimit) = (groups, sort, limit)
        return StoreValueFetch(
            try ResolvedValues(request, for: entity, in: fixture.model),
            predicate: try ResolvedPredicate(FetchPredicate(format: format), for: entity, in: fixture.model))
    }

    @Test func `a question that needs no long value reads none of its pages (MD-22)`() throws {
        let fixture = try StoreFixture(.treeInFile, try Self.model())
        var request = SaveRequest()
        for number in 0..<12 {
            request.insertions.append(
                try fixture.insertion(
                    "Document",
                    [
                        "title": .string("title \(number)"), "number": .integer(Int64(number)),
                        "scan": .binary(Data(repeating: UInt8(number), count: 300_000)), "score": .double(1),
                    ]))
        }
        _ = try fixture.store.save(request)
        try fixture.reopen()
        let store = try #require(fixture.store as? BTreeStore)
        let before = store.database.statistics.cacheMisses

        let title = try FetchPredicate(format: "title BEGINSWITH 'title 1' AND scan != nil")
        #expect(try store.count(fixture.request("Document", title)) == 3)
        #expect(try store.fetchIDs(fixture.request("Document", sort: [SortKey("title", ascending: false)])).count == 12)
        let values = try Self.columns(
            fixture, "Document", [FetchColumn("title"), FetchColumn("number")], "score < 2", sort: [SortKey("title")],
            limit: 2)
        #expect(
            try store.values(values).rows().map(\.values) == [
                [.string("title 0"), .integer(0)], [.string("title 1"), .integer(1)],
            ])
        let sums = try Self.columns(fixture, "Document", [.sum("score", as: "sum")], "number BETWEEN {2, 5}")
        #expect(try store.values(sums).rows().map(\.values) == [[.double(4)]])
        let read = store.database.statistics.cacheMisses - before
        #expect(read <= 40, "\(read) pages were read; a value has 74")

        #expect(try store.fetch(fixture.request("Document")).count == 12)
        #expect(store.database.statistics.cacheMisses - before > 800, "the values were not read for their rows")
    }

    @Test func `random questions have the same answers in rows of any length as in memory`() throws {
        let seed = testSeed(default: 2_611)
        for round in 0..<UInt64(campaignCount("ESPALIER_LONG_ROWS", default: 1)) {
            var random = SeededGenerator(seed: seed + round)
            let model = try Self.model()
            let (tree, memory) = (try StoreFixture(.treeInFile, model), try StoreFixture(.memory, model))
            try Self.fill(tree, memory, &random)
            if random.oneIn(2) { try tree.reopen() }
            for question in 0..<25 {
                let entity = random.pick(["Document", "Document", "Letter"])
                let format = Self.condition(of: entity, &random)
                let wanted = random.pick([["number"], ["title", "number"], ["label"], ["scan", "title"], ["score"]])
                let key = random.pick(["title", "label", "number", "score"])
                let sort = random.oneIn(2) ? [SortKey(key, ascending: random.oneIn(2)), SortKey("number")] : []
                let place = "seed \(seed + round), question \(question): \(entity), \(format), by \(sort)"
                let predicate = try FetchPredicate(format: format)
                #expect(
                    try tree.store.count(tree.request(entity, predicate))
                        == memory.store.count(memory.request(entity, predicate)), "\(place)")
                #expect(
                    try Self.numbers(tree, tree.request(entity, predicate, sort: sort))
                        == Self.numbers(memory, memory.request(entity, predicate, sort: sort)), "\(place)")
                let groups = random.oneIn(3) ? [FetchColumn("score")] : []
                let columns = groups.isEmpty ? wanted.map { FetchColumn($0) } : [FetchColumn("score"), .count()]
                let order = groups.isEmpty ? sort : []
                let answers = try [tree, memory].map { fixture in
                    let rows = try fixture.store.values(
                        Self.columns(fixture, entity, columns, format, by: groups, sort: order)
                    ).rows().map { "\($0.values)" }
                    return order.isEmpty ? rows.sorted() : rows
                }
                #expect(answers[0] == answers[1], "\(place), \(wanted)")
            }
        }
    }

    /// The numbers of the rows that a request finds, which identify rows in both stores.
    private static func numbers(_ fixture: StoreFixture, _ request: StoreFetch) throws -> [AttributeValue] {
        let slot = try #require(try fixture.entity("Document").attribute(named: "number")).slot
        let ids = try fixture.store.fetchIDs(request)
        let numbers = try fixture.store.snapshots(of: ids).map { $0?.value(at: slot) ?? .null }
        guard request.sort.isEmpty else { return numbers }
        return numbers.sorted { $0.compare($1) == .orderedAscending }
    }

    private static func fill(
        _ tree: StoreFixture, _ memory: StoreFixture, _ random: inout SeededGenerator
    ) throws {
        var (first, second) = (SaveRequest(), SaveRequest())
        for number in 0..<40 {
            let entity = random.pick(["Document", "Letter"])
            var values: [String: AttributeValue] = [
                "number": .integer(Int64(number)), "score": .double(Double(random.next() % 4)),
            ]
            func text() -> AttributeValue {
                let length = random.pick([0, 0, 3, 3, 8, 3_000, 4_100, 9_000])
                return random.oneIn(6)
                    ? .null : .string(random.pick(["a", "B", "é"]) + String(repeating: "x", count: length))
            }
            func data() -> Data { Data(repeating: 7, count: random.pick([0, 10, 2_000, 4_060, 9_000, 50_000])) }
            (values["title"], values["label"]) = (text(), text())
            values["scan"] = random.oneIn(4) ? .null : .binary(data())
            if entity == "Letter" {
                values["sender"] = text()
                values["seal"] = random.oneIn(3) ? .null : .transformable(data())
            }
            first.insertions.append(try tree.insertion(entity, values))
            second.insertions.append(try memory.insertion(entity, values))
        }
        _ = try tree.store.save(first)
        _ = try memory.store.save(second)
    }

    private static func condition(of entity: String, _ random: inout SeededGenerator) -> String {
        var conditions = [
            "TRUEPREDICATE", "number < 20", "number BETWEEN {5, 11}", "score == 2", "title BEGINSWITH 'a'",
            "title BEGINSWITH[c] 'b'", "label == 'ax' OR label == 'axxx'", "label != nil", "scan == nil",
            "NOT title CONTAINS 'xxxx'", "title == label", "label IN {'a', 'axxx', 'Bxxx'}",
            "score > 0 AND title > 'a'",
        ]
        if entity == "Letter" { conditions += ["seal != nil AND sender BEGINSWITH 'a'", "sender == nil"] }
        return random.oneIn(3)
            ? "(\(random.pick(conditions))) AND (\(random.pick(conditions)))" : random.pick(conditions)
    }
}
