// Entries of indexes that lead to no row, or do not have what their rows have: a question that an index could answer
// alone has the answer of reading rows, or the same error.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct EntryDamageTests {
    private static let alone = "read entries alone, and rows only for values that entries do not have exactly"
    /// The key of a row that does not exist, and its bytes at the end of an entry.
    private static let missingKey: UInt64 = 0x270F
    private static let missingKeyBytes: [UInt8] = [0, 0, 0, 0, 0, 0, 0x27, 0x0F]

    /// A hundred things whose numbers and ratios have codes of their own, but for a ratio of 0.
    private func things() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        var request = SaveRequest()
        for number in 0..<100 {
            request.insertions.append(
                try fixture.insertion(
                    "Thing",
                    [
                        "number": .integer(Int64(number % 10)),
                        "ratio": .double(number == 57 ? 0 : Double(number) + 0.5),
                    ]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    private func codes(number: Int64, ratio: Double) -> [UInt8] {
        var codes: [UInt8] = []
        KeyCoding.append(.integer(number), as: .integer32, to: &codes)
        KeyCoding.append(.double(ratio), as: .double, isAscending: false, to: &codes)
        return codes
    }

    /// Writes the value of the first entry with these codes under another key, without the knowledge of the store.
    private func copyEntry(
        _ fixture: StoreFixture, _ index: String, _ codes: [UInt8], removesOld: Bool, as newKey: ([UInt8]) -> [UInt8]
    ) throws {
        let database = try #require(fixture.store as? BTreeStore).database
        var transaction = try database.beginWrite()
        let tree = try #require(try transaction.tree(named: index, keys: [UInt8].self))
        var key: [UInt8] = []
        do {
            var cursor = try transaction.cursor(over: tree)
            let isFound = try cursor.seek(codes)
            key = try isFound ? cursor.key : []
        }
        #expect(key.starts(with: codes), "the index has no such entry")
        let value = try #require(try transaction.get(key, from: tree))
        if removesOld { _ = try transaction.remove(key, from: tree) }
        _ = try transaction.put(value, for: newKey(key), in: tree)
        try transaction.commit()
    }

    private func answer(_ fixture: StoreFixture, _ fetch: StoreValueFetch) throws -> [[AttributeValue]] {
        try fixture.store.values(fetch).rows().map(\.values)
    }

    private func expectMissingRow(_ call: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
        do {
            try call()
            Issue.record("no error", sourceLocation: sourceLocation)
        } catch StoreError.damagedContent(_, let entity, let key, let reason) {
            #expect(entity == "Thing" && key == Self.missingKey, "\(entity) \(key)", sourceLocation: sourceLocation)
            #expect(reason.contains("there is no such row"), "\(reason)", sourceLocation: sourceLocation)
        } catch {
            Issue.record("\(error)", sourceLocation: sourceLocation)
        }
    }

    @Test func `an entry without a row is in no answer of an index alone, and an error where a row is read for it`()
        throws
    {
        let fixture = try things()
        let order = [SortKey("number"), SortKey("ratio", ascending: false)]
        let questions = [
            try CoveringModel.fetch(fixture, ["number", .sum("ratio")], by: ["number"]),
            try CoveringModel.fetch(fixture, ["ratio"], sort: order),
            try CoveringModel.fetch(fixture, ["number", "ratio", .count()], by: ["number", "ratio"]),
        ]
        let before = try questions.map { try answer(fixture, $0) }
        for question in questions.prefix(2) { #expect(try fixture.store.explain(question).contains(Self.alone)) }
        #expect(try fixture.store.explain(questions[2])[0].hasSuffix("count the entries of each value"))

        try copyEntry(fixture, "index:Thing.byNumber", codes(number: 3, ratio: 13.5), removesOld: false) { key in
            Array(key.dropLast(8)) + Self.missingKeyBytes
        }

        for (question, rows) in zip(questions, before) { #expect(try answer(fixture, question) == rows) }
        let equal = try fixture.request("Thing", FetchPredicate(format: "number == 3"))
        expectMissingRow { _ = try fixture.store.fetch(equal) }
        // The entry is one of the first forty; to sort so few rows would cost more than to read along the index.
        let sorted = try fixture.request("Thing", sort: order, limit: 45)
        #expect(try fixture.store.explain(sorted).contains("order: by index"))
        expectMissingRow { _ = try fixture.store.fetch(sorted) }
        let found = try #require(fixture.store as? BTreeStore).check().findings.map(\.description)
        #expect(found.contains { $0.contains("the entry refers to no row") }, "\(found)")
    }

    @Test func `an entry without a row instead of another is an error where only rows have the value`() throws {
        let fixture = try things()
        // 0 and -0 have one code.
        try copyEntry(fixture, "index:Thing.byNumber", codes(number: 7, ratio: 0), removesOld: true) { key in
            Array(key.dropLast(8)) + Self.missingKeyBytes
        }
        let ratios = try CoveringModel.fetch(fixture, ["ratio"], FetchPredicate(format: "number == 7"))
        #expect(try fixture.store.explain(ratios).contains(Self.alone))
        expectMissingRow { _ = try fixture.store.values(ratios) }
    }

    @Test func `an entry whose text is no URI leaves the answer to its row`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Page", attributes: [AttributeDescription("link", .uri)],
                indexes: [.init("byLink", on: [.init("link")])])
        ])
        let fixture = try StoreFixture(.treeInMemory, model)
        let links = try (1...3).map { AttributeValue.uri(try #require(URL(string: "https://example.org/\($0)"))) }
        for link in links { _ = try fixture.insert("Page", ["link": link]) }
        let listed = try CoveringModel.fetch(fixture, ["link"], sort: [SortKey("link")], of: "Page")
        let counted = try CoveringModel.fetch(fixture, ["link", .count()], by: ["link"], of: "Page")
        #expect(try fixture.store.explain(listed).contains(Self.alone))

        var (code, empty): ([UInt8], [UInt8]) = ([], [])
        KeyCoding.append(links[0], as: .uri, to: &code)
        KeyCoding.append(.string(""), as: .string, to: &empty)
        try copyEntry(fixture, "index:Page.byLink", code, removesOld: true) { key in empty + key.suffix(8) }

        #expect(try answer(fixture, listed) == links.map { [$0] })
        #expect(try answer(fixture, counted) == links.map { [$0, .integer(1)] })
    }
}
