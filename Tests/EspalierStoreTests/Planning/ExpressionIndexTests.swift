// Indexes of expressions (FR-25): what `explain` shows, that every store finds the same rows, whatever the values and
// the functions without a value, and that files keep the entries.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// Items with an index of each kind of expression.
private enum ItemModel {
    static let indexes: [EntityDescription.Index] = [
        .init("lower", on: [.init(expression: "lowercase:(name)")]),
        .init("upper", on: [.init(expression: "uppercase(name)", folding: .diacriticInsensitive)]),
        .init("total", on: [.init(expression: "price * quantity")]),
        .init("ratio", on: [.init(expression: "weight / quantity", isAscending: false)]),
        .init("square", on: [.init(expression: "quantity * quantity"), .init("name")]),
        .init("tens", on: [.init(expression: "quantity / 10"), .init(expression: "abs(weight)")]),
        .init("later", on: [.init(expression: "day + quantity")]),
        .init("owned", on: [.init(expression: "TERNARY(box == nil, 0, quantity)")]),
        .init("root", on: [.init(expression: "sqrt(weight)")], predicateFormat: "quantity > 0"),
        .init("width", on: [.init(expression: "size.width + 1")]),
    ]

    static func make(_ indexes: [EntityDescription.Index] = indexes) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("price", .decimal),
                    AttributeDescription("quantity", .integer64), AttributeDescription("weight", .double),
                    AttributeDescription("day", .date),
                    AttributeDescription(
                        "size", .composite, elements: [AttributeDescription("width", .integer32)]),
                ],
                relationships: [RelationshipDescription("box", to: "Box", inverse: "items")], indexes: indexes),
            EntityDescription("Rare", superentity: "Item", attributes: [AttributeDescription("grade", .integer16)]),
            EntityDescription(
                "Box", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("items", to: "Item", inverse: "box", .toMany)]),
        ])
    }
}

@Suite struct ExpressionIndexTests {
    private static let names = ["Ann", "ann", "ÄNN", "a\u{308}nn", "Straße", "STRASSE", "", "İx", "𝄞"]
    private static let quantities: [Int64] = [0, 1, -1, 2, 3, -7, 3_037_000_500, 1 << 53 + 1, .max, .min]
    private static let weights: [Double] = [0, -0.0, 1, 2.5, -4, 0.1, 1e300, .infinity, -.infinity, .nan]
    private static let prices = ["0", "1", "9.99", "-2.5", "0.1", "99999999999999999999.5"]

    private static func values(_ random: inout SeededGenerator) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        func some() -> Bool { Int.random(in: 0..<5, using: &random) > 0 }
        if some() { values["name"] = .string(names.randomElement(using: &random) ?? "") }
        if some() { values["price"] = .decimal(Decimal(string: prices.randomElement(using: &random) ?? "") ?? 0) }
        if some() { values["quantity"] = .integer(quantities.randomElement(using: &random) ?? 0) }
        if some() { values["weight"] = .double(weights.randomElement(using: &random) ?? 0) }
        if some() {
            values["day"] = .date(Date(timeIntervalSinceReferenceDate: .init(Int.random(in: 0...5, using: &random))))
        }
        if some() { values["size"] = .composite(["width": .integer(.random(in: 0...4, using: &random))]) }
        return values
    }

    private func plan(
        _ fixture: StoreFixture, _ format: String, sort: [SortKey] = [], limit: Int? = nil
    ) throws -> [String] {
        try fixture.store.explain(
            fixture.request("Item", FetchPredicate(format: format), sort: sort, limit: limit))
    }

    /// Six hundred items: item n has the name "Item n", the price 1.5 and the quantity n.
    private func items(_ kind: StoreKind = .treeInMemory) throws -> StoreFixture {
        let fixture = try StoreFixture(kind, ItemModel.make())
        var request = SaveRequest()
        for number in 0..<600 {
            request.insertions.append(
                try fixture.insertion(
                    "Item",
                    [
                        "name": .string("Item \(number)"), "price": .decimal(Decimal(15) / 10),
                        "quantity": .integer(Int64(number)), "weight": .double(Double(number) * 2),
                    ]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    // MARK: Choices

    @Test func `an index of an expression answers comparisons of the same expression with constants`() throws {
        let fixture = try items()
        let answered = [
            ("price * quantity == 15", "total", 1), ("price * quantity > 890", "total", 6),
            ("price * quantity BETWEEN {15, 18.0}", "total", 3), ("price * quantity IN {15, 16.5, -1}", "total", 2),
            ("15 == price * quantity", "total", 1), ("lowercase(name) == 'item 7'", "lower", 1),
            ("lowercase(name) BEGINSWITH 'item 59'", "lower", 11), ("uppercase(name) ==[d] 'ÏTEM 7'", "upper", 1),
            ("lowercase(name) == 'item 8' AND weight > 1", "lower", 1), ("weight / quantity == nil", "ratio", 1),
            ("quantity * quantity == 49 AND name == 'Item 7'", "square", 1),
            ("quantity / 10 == 0 AND abs(weight) < 4", "tens", 2),
            ("sqrt(weight) == 2 AND quantity > 0", "root", 1),
        ]
        for (format, index, count) in answered {
            let plan = try plan(fixture, format)
            #expect(plan[0].hasPrefix("tree \"index:Item.\(index)\""), "\(format): \(plan)")
            #expect(try fixture.find("Item", format).count == count, "\(format)")
        }
        #expect(try plan(fixture, "price * quantity == 15")[1].hasPrefix("exact"))
        #expect(try plan(fixture, "lowercase(name) == 'item 7'")[1].hasPrefix("exact"))
    }

    @Test func `another expression, and one that is compared otherwise, is answered without the index`() throws {
        let fixture = try items()
        for format in [
            "quantity * price == 15", "price * quantity != 15", "lowercase(name) ==[c] 'item 7'",
            "uppercase(name) == 'ITEM 7'", "noindex(lowercase(name)) == 'item 7'", "lowercase(name) ENDSWITH '7'",
            "price * quantity == weight", "sqrt(weight) == 2", "lowercase(name) MATCHES 'item 7'",
        ] {
            #expect(try plan(fixture, format)[0] == "read all rows of Item", "\(format)")
        }
        #expect(try fixture.find("Item", "noindex(lowercase(name)) == 'item 7'").count == 1)
    }

    private static func sortKey(_ format: String, ascending: Bool = true) throws -> SortKey {
        SortKey(expression: try FetchExpression(format: format), ascending: ascending)
    }

    @Test func `an index of an expression has the order of the same expression`() throws {
        let fixture = try items()
        let total = try Self.sortKey("price * quantity", ascending: false)
        let backwards = try plan(fixture, "TRUEPREDICATE", sort: [total], limit: 3)
        #expect(backwards[0] == "tree \"index:Item.total\", all keys, backwards")
        #expect(backwards.contains("order: by index"))
        let ranged = try plan(fixture, "price * quantity > 100", sort: [total], limit: 3)
        #expect(ranged[0].hasPrefix("tree \"index:Item.total\", keys from") && ranged.contains("order: by index"))
        let second = try plan(
            fixture, "quantity / 10 == 0", sort: [Self.sortKey("abs(weight)")], limit: 2)
        #expect(second[0].hasPrefix("tree \"index:Item.tens\"") && second.contains("order: by index"))
        for other in ["quantity * price", "price * quantity + 0", "abs(weight)"] {
            let lines = try plan(fixture, "TRUEPREDICATE", sort: [Self.sortKey(other)], limit: 3)
            #expect(lines[0] == "read all rows of Item", "\(other)")
            #expect(lines.contains { $0.hasPrefix("order: keep the first 3 by \(other)") }, "\(lines)")
        }
        let found = try fixture.store.fetchIDs(fixture.request("Item", sort: [total], limit: 2))
        #expect(try found.map { try fixture.value($0, "quantity") } == [.integer(599), .integer(598)])
    }

    @Test func `a limited fetch of values in the order of a column follows the index of its expression`() throws {
        let fixture = try items()
        var request = ValueRequest(
            entityName: "Item", columns: [try FetchColumn("total", format: "price * quantity"), FetchColumn("name")])
        request.sortKeys = [SortKey("total", ascending: false)]
        request.fetchLimit = 2
        let fetch = StoreValueFetch(try ResolvedValues(request, for: fixture.entity("Item"), in: fixture.model))

        let rows = try fixture.store.snapshot().values(fetch).rows().map(\.values)

        #expect(try fixture.store.explain(fetch)[0] == "tree \"index:Item.total\", all keys, backwards")
        #expect(
            rows == [
                [.decimal(Decimal(8985) / 10), .string("Item 599")], [.decimal(897), .string("Item 598")],
            ])
    }

    @Test(arguments: [StoreKind.treeInFile, .memory])
    func `a function without a value is null, and one that exceeds its type a double, with and without index`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind, ItemModel.make())
        let rows: [[String: AttributeValue]] = [
            ["quantity": .integer(0), "weight": .double(1)], ["weight": .double(1)],
            ["quantity": .integer(.max), "weight": .double(-4)], ["quantity": .integer(2), "weight": .double(.nan)],
            ["quantity": .integer(2), "weight": .double(.infinity), "price": .decimal(Decimal(3))],
        ]
        let ids = try rows.map { try fixture.insert("Item", $0) }
        let expected: [(String, [Int])] = [
            ("weight / quantity == nil", [0, 1, 3]), ("weight / quantity > 1", [4]),
            ("quantity * quantity == nil", [1]), ("quantity * quantity > 9223372036854775807", [2]),
            ("quantity * quantity == 4", [3, 4]), ("price * quantity == 6", [4]), ("price * quantity < 6", []),
            ("sqrt(weight) == nil AND quantity > 0", [2, 3]), ("abs(weight) == nil", []),
            ("TERNARY(box == nil, 0, quantity) == 0", [0, 1, 2, 3, 4]),
        ]
        for (format, positions) in expected {
            #expect(try fixture.find("Item", format) == positions.map { ids[$0] }, "\(format)")
        }
    }

    @Test func `a change between equal values that an expression tells apart replaces the entry`() throws {
        let model = try ItemModel.make([.init("i", on: [.init(expression: "weight ** -1")])])
        let fixture = try StoreFixture(.treeInFile, model)
        let id = try fixture.insert("Item", ["weight": .double(0.0)])
        #expect(try fixture.find("Item", "weight ** -1 > 1") == [id])

        try fixture.change(id, ["weight": .double(-0.0)])

        #expect(try fixture.find("Item", "weight ** -1 < -1") == [id])
        #expect(try fixture.find("Item", "weight ** -1 > 1").isEmpty)
        #expect(try (fixture.store as? BTreeStore)?.check().findings.isEmpty == true)
    }

    @Test func `a change between equal values that a condition tells apart adds the entry, and removes it`() throws {
        let model = try ItemModel.make([.init("i", on: [.init("quantity")], predicateFormat: "weight ** -1 > 0")])
        let fixture = try StoreFixture(.treeInFile, model)
        let format = "quantity == 5 AND weight ** -1 > 0"
        // Other rows, without which reading all would cost no more than the index.
        for number in 0..<30 {
            _ = try fixture.insert("Item", ["weight": .double(1), "quantity": .integer(Int64(100 + number))])
        }
        let id = try fixture.insert("Item", ["weight": .double(0.0), "quantity": .integer(5)])
        #expect(try plan(fixture, format)[0].hasPrefix("tree \"index:Item.i\""))
        for weight in [-0.0, 0.0, -0.0] {
            try fixture.change(id, ["weight": .double(weight)])

            #expect(try fixture.find("Item", format) == (weight.sign == .plus ? [id] : []), "\(weight)")
            #expect(try (fixture.store as? BTreeStore)?.check().findings.isEmpty == true, "\(weight)")
        }
    }

    // MARK: The same rows in every store

    @Test func `random rows and questions have the same answers with indexes of expressions as without`() throws {
        let seed = testSeed(default: 31)
        var random = SeededGenerator(seed: seed)
        let (tree, memory) = (
            try StoreFixture(.treeInFile, ItemModel.make()), try StoreFixture(.memory, ItemModel.make())
        )
        let stepCount = campaignCount("ESPALIER_EXPRESSION_STEPS", default: 25)
        for step in 0..<stepCount {
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let change = Change(random: &random)
                for fixture in [tree, memory] { try change.make(in: fixture) }
            }
            if step == stepCount / 2 { try tree.reopen() }
            for _ in 0..<8 { try Self.compare(tree, memory, "seed \(seed), step \(step)", &random) }
        }
        let store = try #require(tree.store as? BTreeStore)
        #expect(try store.check().findings.isEmpty)
        #expect(try store.rebuildDerivedTrees(isDryRun: true).hasChanges == false)
        try store.close()
    }

    /// A change that finds its rows by their positions, so that it is the same in both stores.
    private struct Change {
        let kind: Int
        let values: [String: AttributeValue]
        let place: Int

        init(random: inout SeededGenerator) {
            kind = .random(in: 0..<9, using: &random)
            values = ExpressionIndexTests.values(&random)
            place = .random(in: 0..<1000, using: &random)
        }

        func make(in fixture: StoreFixture) throws {
            let items = try fixture.store.fetchIDs(fixture.request("Item"))
            let boxes = try fixture.store.fetchIDs(fixture.request("Box"))
            let box = boxes.isEmpty || place % 3 == 0 ? nil : boxes[place % boxes.count]
            switch kind {
            case 0: _ = try fixture.insert("Box")
            case 1 where !items.isEmpty: try fixture.delete(items[place % items.count])
            case 2 where boxes.count > 3: if let box { try fixture.delete(box) }
            case 3 where !items.isEmpty, 4 where !items.isEmpty, 5 where !items.isEmpty:
                var changed = values
                // Some changes leave no value.
                if kind == 3 { changed["quantity"] = .null }
                try fixture.change(items[place % items.count], changed, to: ["box": box])
            default:
                _ = try fixture.insert(place % 4 == 0 ? "Rare" : "Item", values, to: box.map { ["box": $0] } ?? [:])
            }
        }
    }

    private static func condition(_ random: inout SeededGenerator) -> String {
        func pick(_ choices: [String]) -> String { choices.randomElement(using: &random) ?? "" }
        let texts = names.map { "\"\($0.lowercased())\"" } + names.map { "\"\($0.uppercased())\"" }
        let numbers = [
            "0", "1", "2", "-1", "4", "9.99", "2.5", "0.1", "CAST(\"0.1\", \"NSDecimalNumber\")", "9007199254740993",
            "9223372036854775807", "85070591730234615847396907784232501249", "CAST(\"inf\", \"double\")",
            "CAST(\"nan\", \"double\")",
        ]
        let dates = ["CAST(3, \"NSDate\")", "CAST(0, \"NSDate\")", "CAST(3037000502, \"NSDate\")"]
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return "lowercase(name) \(pick(["==", "<", ">=", "BEGINSWITH"])) \(pick(texts))"
        case 1: return "uppercase(name) \(pick(["==[d]", "BEGINSWITH[d]", "=="])) \(pick(texts))"
        case 2: return "lowercase(name) IN {\(pick(texts)), \(pick(texts))\(pick(["", ", nil"]))}"
        case 3: return "day + quantity \(pick(["==", "<", ">"])) \(pick(dates))"
        case 4: return pick(["quantity > 0", "name != nil", "weight > 1", "box == nil"])
        default:
            let expression = pick([
                "price * quantity", "weight / quantity", "quantity * quantity", "quantity / 10", "characterCount(name)",
                "abs(weight)",
                "TERNARY(box == nil, 0, quantity)", "sqrt(weight)", "size.width + 1",
            ])
            switch Int.random(in: 0..<5, using: &random) {
            case 0: return "\(expression) IN {\(pick(numbers)), \(pick(numbers))\(pick(["", ", nil"]))}"
            case 1: return "\(expression) BETWEEN {\(pick(numbers)), \(pick(numbers))}"
            case 2: return "\(expression) \(pick(["==", "!="])) nil"
            default: return "\(expression) \(pick(["==", "<", "<=", ">", ">=", "!="])) \(pick(numbers))"
            }
        }
    }

    private static func compare(
        _ tree: StoreFixture, _ memory: StoreFixture, _ place: String, _ random: inout SeededGenerator
    ) throws {
        let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in condition(&random) }
        let format = parts.joined(separator: Int.random(in: 0..<4, using: &random) == 0 ? " OR " : " AND ")
        let entity = Int.random(in: 0..<5, using: &random) == 0 ? "Rare" : "Item"
        let orders: [[SortKey]] = try [
            [], [SortKey("name"), SortKey("weight", ascending: false)], [sortKey("price * quantity")],
            [sortKey("weight / quantity", ascending: false)], [sortKey("lowercase(name)")], [sortKey("size.width + 1")],
            [sortKey("quantity * quantity"), SortKey("name")], [sortKey("day + quantity", ascending: false)],
        ]
        let sort = orders.randomElement(using: &random) ?? []
        let limit = Bool.random(using: &random) ? nil : Int.random(in: 1...5, using: &random)
        func answer(_ fixture: StoreFixture) throws -> [UInt64] {
            let request = try fixture.request(entity, FetchPredicate(format: format), sort: sort, limit: limit)
            let keys = try fixture.store.fetchIDs(request).map(\.key)
            #expect(try fixture.store.count(request) == keys.count, "\(place): \(format)")
            return keys
        }
        let (found, expected) = (try answer(tree), try answer(memory))
        if found != expected {
            let request = try tree.request(entity, FetchPredicate(format: format), sort: sort, limit: limit)
            Issue.record("\(place): \(format): \(found), not \(expected)\n\(try tree.store.explain(request))")
        }
    }

    // MARK: Files

    @Test func `an index is built from the rows when its expression is new or another one`() throws {
        func model(_ expressions: String...) throws -> ManagedObjectModel {
            try ItemModel.make(expressions.map { .init("i", on: [.init(expression: $0)]) })
        }
        let fixture = try StoreFixture(.treeInFile, model())
        var random = SeededGenerator(seed: 3)
        for _ in 0..<60 { _ = try fixture.insert("Item", Self.values(&random)) }
        try fixture.store.close()
        let models = [try model("price * quantity"), try model("quantity + 1"), try model("quantity+1"), try model()]
        for (number, opened) in models.enumerated() {
            let store = try BTreeStore.open(path: fixture.path, model: opened)
            #expect(try store.check().findings.isEmpty, "model \(number)")
            let hasTree = try store.database.beginRead().tree(named: "index:Item.i", keys: [UInt8].self) != nil
            #expect(hasTree == (number < 3), "model \(number)")
            try store.close()
        }
    }

    @Test func `a check finds an entry that is not the value of the expression, and a rebuild mends it`() throws {
        let fixture = try items(.treeInFile)
        let store = try #require(fixture.store as? BTreeStore)
        var transaction = try store.database.beginWrite()
        let tree = try #require(try transaction.tree(named: "index:Item.total", keys: [UInt8].self))
        var cursor = try transaction.cursor(over: tree)
        _ = try cursor.next()
        let key = try cursor.key
        let value = try #require(try transaction.get(key, from: tree))
        _ = try transaction.remove(key, from: tree)
        var wrong = key
        // The code of another double, for the same row.
        wrong[3] ^= 1
        _ = try transaction.put(value, for: wrong, in: tree)
        try transaction.commit()

        let findings = try store.check().findings
        let rebuilt = try store.rebuildDerivedTrees()

        #expect(!findings.isEmpty)
        #expect(rebuilt.after?.isOK == true)
        #expect(try fixture.find("Item", "price * quantity == 0").count == 1)
    }
}
