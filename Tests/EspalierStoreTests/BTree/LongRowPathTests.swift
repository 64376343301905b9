// Rows with long values under conditions and orders of every form: computed ones, those of types that are not tested in
// the bytes of a row, and those across relationships. None of them reads a long value that it does not need (MD-22).
// Each has the same answer as in a store in memory, also if it needs a value behind a long one.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct LongRowPathTests {
    /// Documents with a long value between short ones, and their pages, some of which are long themselves.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Document",
                attributes: [
                    AttributeDescription("title", .string), AttributeDescription("number", .integer64),
                    AttributeDescription("price", .decimal), AttributeDescription("weight", .float),
                    AttributeDescription("code", .uuid), AttributeDescription("link", .uri),
                    AttributeDescription("mark", .binary),
                    AttributeDescription(
                        "size", .composite,
                        elements: [AttributeDescription("width", .integer32), AttributeDescription("unit", .string)]),
                    AttributeDescription("scan", .binary), AttributeDescription("label", .string),
                ],
                relationships: [RelationshipDescription("pages", to: "Page", inverse: "document", .toMany)]),
            EntityDescription(
                "Page",
                attributes: [AttributeDescription("number", .integer64), AttributeDescription("text", .string)],
                relationships: [RelationshipDescription("document", to: "Document", inverse: "pages")]),
        ])
    }

    /// The values of document `number`, whose scan has `byteCount` bytes.
    private static func document(_ number: Int, _ byteCount: Int) -> [String: AttributeValue] {
        let code = UUID(uuidString: "5F0E2A54-0C8B-4C4E-9C6E-8A4B6B1F00\(10 + number % 90)")
        let link = URL(string: "https://example.org/\(number)")
        return [
            "title": .string("title \(number)"), "number": .integer(Int64(number)), "price": .decimal(Decimal(number)),
            "weight": .float(Float(number) / 2), "code": code.map { .uuid($0) } ?? .null,
            "link": link.map { .uri($0) } ?? .null, "mark": .binary(Data([UInt8(number % 256)])),
            "size": .composite(["width": .integer(Int64(number)), "unit": .string("mm")]),
            "scan": .binary(Data(repeating: UInt8(number % 256), count: byteCount)),
            "label": .string("label \(number % 5)"),
        ]
    }

    /// Twelve documents of two pages each; each scan has 74 pages of the file.
    private static func archive() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInFile, model())
        var request = SaveRequest()
        for number in 0..<12 {
            let document = try fixture.insertion("Document", document(number, 300_000))
            request.insertions.append(document)
            for page in 0..<2 {
                request.insertions.append(
                    try fixture.insertion(
                        "Page", ["number": .integer(Int64(number)), "text": .string("text \(page)")],
                        to: ["document": document.id]))
            }
        }
        _ = try fixture.store.save(request)
        try fixture.reopen()
        return fixture
    }

    private static func pagesRead(_ fixture: StoreFixture) throws -> UInt64 {
        UInt64(try #require(fixture.store as? BTreeStore).database.statistics.cacheMisses)
    }

    @Test(arguments: [
        ("Document", "price > 5", 6), ("Document", "weight <= 1", 3),
        ("Document", "link == 'https://example.org/3'", 1),
        ("Document", "code == '5F0E2A54-0C8B-4C4E-9C6E-8A4B6B1F0014'", 1), ("Document", "size.width == 3", 1),
        ("Document", "mark == CAST('03', 'NSData')", 1), ("Document", "title MATCHES 'title 1.*'", 3),
        ("Document", "number * 2 == 6", 1), ("Document", "price == number", 12),
        ("Document", "uppercase(title) == 'TITLE 7' OR size.unit == 'inch'", 1),
        ("Document", "pages.@count == 2 AND price < 2", 2), ("Document", "ANY pages.text == 'text 1'", 12),
        ("Document", "SUBQUERY(pages, $p, $p.document.price > 9).@count == 2", 2),
        ("Page", "document.title == 'title 3'", 2), ("Page", "document.title ENDSWITH '1'", 4),
        ("Page", "document.number == number", 24), ("Page", "document.price > 8 AND document.size.width < 11", 4),
        ("Page", "ANY document.pages.document.title == 'title 3'", 2),
    ])
    func `a condition reads no page of a long value that it does not need, in rows and across relationships (MD-22)`(
        entity: String, format: String, count: Int
    ) throws {
        let fixture = try Self.archive()
        let request = try fixture.request(entity, FetchPredicate(format: format))
        let before = try Self.pagesRead(fixture)

        #expect(try fixture.store.count(request) == count)
        #expect(try fixture.store.fetchIDs(request).count == count)

        let read = try Self.pagesRead(fixture) - before
        #expect(read <= 60, "\(read) pages were read; a value has 74")
    }

    @Test func `an order and a computed column read no page of a long value that they do not need (MD-22)`() throws {
        let fixture = try Self.archive()
        let before = try Self.pagesRead(fixture)
        for key in ["document.title", "document.price", "document.size.width"] {
            let request = try fixture.request("Page", sort: [SortKey(key, ascending: false)], limit: 4)
            #expect(try fixture.store.fetch(request).count == 4, "\(key)")
        }
        for key in ["price", "weight", "code", "size.width"] {
            let request = try fixture.request("Document", sort: [SortKey(key)])
            #expect(try fixture.store.fetchIDs(request).count == 12, "\(key)")
        }
        let document = try fixture.entity("Document")
        for sort in [[], [SortKey("price", ascending: false)]] {
            var request = ValueRequest(
                entityName: "Document",
                columns: [
                    try FetchColumn("twice", format: "price * 2"), FetchColumn("title"), FetchColumn("size.width"),
                ])
            request.sortKeys = sort
            let fetch = StoreValueFetch(try ResolvedValues(request, for: document, in: fixture.model))
            let rows = try fixture.store.values(fetch).rows().map(\.values)
            let numbers = sort.isEmpty ? Array(0..<12) : Array((0..<12).reversed())
            let expected: [[AttributeValue]] = numbers.map { number in
                [.decimal(Decimal(2 * number)), .string("title \(number)"), .integer(Int64(number))]
            }
            #expect(rows == expected)
        }
        let read = try Self.pagesRead(fixture) - before
        #expect(read <= 80, "\(read) pages were read; a value has 74")
    }

    @Test func `a fetch of objects reads the long values of those that it returns alone (MD-22)`() throws {
        let fixture = try Self.archive()
        let before = try Self.pagesRead(fixture)

        let scan = try #require(try fixture.entity("Document").attribute(named: "scan")).slot
        let found = try fixture.store.fetch(fixture.request("Document", FetchPredicate(format: "number == 3")))

        #expect(found.map { $0.value(at: scan) } == [.binary(Data(repeating: 3, count: 300_000))])
        let read = try Self.pagesRead(fixture) - before
        #expect(read <= 160, "\(read) pages were read for one value of 74")
        #expect(try fixture.store.fetch(fixture.request("Document", FetchPredicate(format: "price > 99"))).isEmpty)
        #expect(try Self.pagesRead(fixture) - before <= 160)
    }

    @Test func `random questions across relationships have the same answers in rows of any length as in memory`()
        throws
    {
        let seed = testSeed(default: 2_711)
        for round in 0..<UInt64(campaignCount("ESPALIER_LONG_ROWS", default: 1)) {
            var random = SeededGenerator(seed: seed + round)
            let (tree, memory) = (
                try StoreFixture(.treeInFile, Self.model()), try StoreFixture(.memory, Self.model())
            )
            try Self.fill([tree, memory], &random)
            if random.oneIn(2) { try tree.reopen() }
            for question in 0..<30 {
                let entity = random.pick(["Document", "Page"])
                let format = Self.condition(of: entity, &random)
                let keys =
                    entity == "Page"
                    ? ["document.title", "document.label", "document.price", "document.size.width", "text"]
                    : ["price", "label", "title", "code", "size.unit"]
                let sort =
                    random.oneIn(3)
                    ? [] : [SortKey(random.pick(keys), ascending: random.oneIn(2)), SortKey("number")]
                let limit = random.oneIn(2) ? nil : Int(random.next() % 9)
                let asked = "\(entity), \(format), by \(sort), \(limit ?? -1)"
                let place = "seed \(seed + round), question \(question): \(asked)"
                let answers = try [tree, memory].map { fixture -> [[AttributeValue]] in
                    let request = try fixture.request(
                        entity, FetchPredicate(format: format), sort: sort, limit: limit)
                    let attributes = try fixture.entity(entity).attributes
                    let rows = try fixture.store.fetch(request)
                    #expect(try fixture.store.fetchIDs(request) == rows.ids, "\(place)")
                    #expect(try fixture.store.count(request) == rows.count, "\(place)")
                    return rows.map { row in attributes.map { row.value(at: $0.slot) } }
                }
                #expect(answers[0] == answers[1], "\(place)")
            }
        }
    }

    private static func fill(_ fixtures: [StoreFixture], _ random: inout SeededGenerator) throws {
        var requests = fixtures.map { _ in SaveRequest() }
        for number in 0..<25 {
            var values = document(number, random.pick([0, 10, 900, 4_060, 9_000, 40_000]))
            if random.oneIn(4) { values["label"] = .null }
            if random.oneIn(3) {
                values["title"] = .string("t" + String(repeating: "x", count: Int(random.next() % 6000)))
            }
            if random.oneIn(5) { values["price"] = .null }
            let pages = (0..<Int(random.next() % 4)).map { page -> [String: AttributeValue] in
                let length = random.pick([3, 3, 3, 4_100, 9_000])
                return [
                    "number": .integer(Int64(100 * number + page)),
                    "text": .string(random.pick(["a", "B", "é"]) + String(repeating: "x", count: length)),
                ]
            }
            for (position, fixture) in fixtures.enumerated() {
                let document = try fixture.insertion("Document", values)
                requests[position].insertions.append(document)
                for page in pages {
                    requests[position].insertions.append(
                        try fixture.insertion("Page", page, to: ["document": document.id]))
                }
            }
        }
        for (fixture, request) in zip(fixtures, requests) { _ = try fixture.store.save(request) }
    }

    private static func condition(of entity: String, _ random: inout SeededGenerator) -> String {
        let conditions =
            entity == "Page"
            ? [
                "document.label == 'label 2'", "document.label == nil", "document.title BEGINSWITH 'tx'",
                "document.number < 9", "document.price == nil OR document.label ENDSWITH '1'",
                "document.pages.@count == 2", "ANY document.pages.text BEGINSWITH 'a'",
                "SUBQUERY(document.pages, $p, $p.document.label != 'label 1' AND $p.text != nil).@count > 1",
                "text MATCHES 'a.*'", "characterCount(document.label) == 7 AND characterCount(text) < 20",
            ]
            : [
                "uppercase(label) == 'LABEL 3'", "label == title", "label MATCHES '.* [12]'", "price > 10",
                "size.width BETWEEN {3, 12}", "ANY pages.text BEGINSWITH 'B'", "pages.@count < 2",
                "characterCount(title) > 20 AND label != nil", "mark > CAST('0A', 'NSData') OR label == 'label 0'",
                "SUBQUERY(pages, $p, $p.document.label == 'label 4').@count > 0", "code != nil AND weight < 8",
                "ALL pages.document.label == 'label 1'",
            ]
        return random.oneIn(3)
            ? "(\(random.pick(conditions))) AND (\(random.pick(conditions)))" : random.pick(conditions)
    }
}
