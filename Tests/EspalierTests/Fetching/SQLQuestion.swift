// Random questions, each as a request of this library and as a statement of SQL with the same meaning.
//
// The meaning of null differs: a comparison with null is false or true here, and null in SQL. So each comparison in SQL
// is `IS`, `IS NOT`, or `coalesce(…, 0)`: its value is 0 or 1. Text operators are `GLOB`, which heeds case.

import Espalier
import EspalierModel
import TestSupport

/// The values of one drawn item; `nil` for null.
struct DrawnItem {
    var whole: Int64?
    var number: Int64?
    var ratio: Double?
    var code: String?
    var label: String?
    /// The position of the drawn box.
    var box: Int?
}

/// A question about drawn items.
struct SQLQuestion {
    /// The form in which the answer is asked for.
    enum Form: CaseIterable {
        case count, rows, distinctRows, totals, groups
    }

    /// A property: its key path, and the same in SQL.
    struct Column {
        let path: String
        let sql: String
        let isText: Bool
    }

    static let boxNames = ["a", "ab", "b", "B"]
    static let entities: [EntityDescription] = [
        EntityDescription(
            "Box", attributes: [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("items", to: "Item", inverse: "box", .toMany)]),
        EntityDescription(
            "Item",
            attributes: [
                AttributeDescription("serial", .integer64), AttributeDescription("whole", .integer16, isIndexed: true),
                AttributeDescription("number", .integer64), AttributeDescription("ratio", .double),
                AttributeDescription("code", .string, isIndexed: true), AttributeDescription("label", .string),
            ],
            relationships: [RelationshipDescription("box", to: "Box", inverse: "items")],
            indexes: [.init("byLabelAndWhole", on: [.init("label"), .init("whole", isAscending: false)])]),
    ]
    static let tables = [
        "CREATE TABLE box(id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE item(serial INTEGER, whole INTEGER, number INTEGER, ratio REAL, code TEXT, label TEXT, "
            + "box INTEGER)",
    ]
    private static let source = "FROM item i LEFT JOIN box b ON b.id = i.box"
    private static let numbers = ["whole", "number", "ratio"].map { Column(path: $0, sql: "i." + $0, isText: false) }
    private static let texts =
        ["code", "label"].map { Column(path: $0, sql: "i." + $0, isText: true) }
        + [Column(path: "box.name", sql: "b.name", isText: true)]
    private static let serial = Column(path: "serial", sql: "i.serial", isText: false)

    private(set) var form = Form.count
    private(set) var format = "TRUEPREDICATE"
    private(set) var columns: [FetchColumn] = []
    private(set) var groups: [FetchColumn] = []
    private(set) var having: String?
    private(set) var sortKeys: [SortKey] = []
    private(set) var limit = 0
    private(set) var offset = 0
    private(set) var sql = ""

    /// Draws a question.
    init(_ random: inout SeededGenerator) {
        form = random.choose(Form.allCases)
        var condition = "1"
        if !random.isOne(of: 6) {
            (format, condition) = Self.condition(depth: Int(random.next() % 3), &random)
        }
        if form == .rows || form == .distinctRows || form == .count, random.isOne(of: 2) {
            (limit, offset) = (Int(random.next() % 20) + 1, Int(random.next() % 10))
        }
        let end = limit > 0 ? " LIMIT \(limit) OFFSET \(offset)" : ""
        switch form {
        case .count: sql = "SELECT count(*) FROM (SELECT 1 \(Self.source) WHERE \(condition)\(end))"
        case .rows:
            let chosen = [Self.serial] + (Self.numbers + Self.texts).shuffled(using: &random).prefix(3)
            let order = Array((Self.numbers + Self.texts).shuffled(using: &random).prefix(Int(random.next() % 3)))
            columns = chosen.map { FetchColumn($0.path) }
            let ordering = sorted(by: order + [Self.serial], &random)
            sql = "SELECT \(Self.list(chosen)) \(Self.source) WHERE \(condition)\(ordering)\(end)"
        case .distinctRows:
            let chosen = Array((Self.numbers + Self.texts).shuffled(using: &random).prefix(2))
            columns = chosen.map { FetchColumn($0.path) }
            let ordering = sorted(by: chosen, &random)
            sql = "SELECT DISTINCT \(Self.list(chosen)) \(Self.source) WHERE \(condition)\(ordering)\(end)"
        case .totals:
            sql = "SELECT \(addAggregates(&random)) \(Self.source) WHERE \(condition)"
        case .groups:
            let chosen = Array(
                (Self.numbers + Self.texts).shuffled(using: &random).prefix(Int(random.next() % 2) + 1))
            groups = chosen.map { FetchColumn($0.path) }
            columns = groups
            let aggregates = addAggregates(&random)
            var tail = ""
            if random.isOne(of: 3) {
                let least = random.next() % 4
                (having, tail) = ("amount > \(least)", " HAVING count(*) > \(least)")
            }
            let (list, ordering) = (Self.list(chosen), sorted(by: chosen, &random))
            sql = "SELECT \(list), \(aggregates) \(Self.source) WHERE \(condition) GROUP BY \(list)\(tail)\(ordering)"
        }
    }

    private static func list(_ columns: [Column]) -> String { columns.map(\.sql).joined(separator: ", ") }

    /// The order in SQL; adds the same sort keys to the request.
    private mutating func sorted(by columns: [Column], _ random: inout SeededGenerator) -> String {
        var parts: [String] = []
        for column in columns {
            let isAscending = random.isOne(of: 2)
            sortKeys.append(SortKey(column.path, ascending: isAscending))
            parts.append(column.sql + (isAscending ? " ASC" : " DESC"))
        }
        return " ORDER BY " + parts.joined(separator: ", ")
    }

    /// The aggregates in SQL; adds the same columns to the request.
    private mutating func addAggregates(_ random: inout SeededGenerator) -> String {
        var parts = ["count(*)"]
        columns.append(.count(as: "amount"))
        for column in (Self.numbers + Self.texts).shuffled(using: &random).prefix(2) {
            columns += [.count(column.path, as: "n \(column.path)"), .min(column.path), .max(column.path)]
            parts += ["count(\(column.sql))", "min(\(column.sql))", "max(\(column.sql))"]
            guard !column.isText else { continue }
            columns += [.sum(column.path), .average(column.path)]
            parts += ["coalesce(sum(\(column.sql)), 0)", "avg(\(column.sql))"]
        }
        return parts.joined(separator: ", ")
    }

    // MARK: Conditions

    private static func condition(depth: Int, _ random: inout SeededGenerator) -> (format: String, sql: String) {
        guard depth > 0 else { return comparison(&random) }
        let parts = (0..<Int(random.next() % 3) + 1).map { _ in condition(depth: depth - 1, &random) }
        switch random.next() % 4 {
        case 0: return ("NOT (\(parts[0].format))", "NOT (\(parts[0].sql))")
        case 1:
            return (
                parts.map { "(\($0.format))" }.joined(separator: " OR "),
                parts.map { "(\($0.sql))" }.joined(separator: " OR ")
            )
        default:
            return (
                parts.map { "(\($0.format))" }.joined(separator: " AND "),
                parts.map { "(\($0.sql))" }.joined(separator: " AND ")
            )
        }
    }

    private static func comparison(_ random: inout SeededGenerator) -> (format: String, sql: String) {
        let column = random.choose(numbers + texts)
        switch random.next() % 8 {
        case 0:
            let isEqual = random.isOne(of: 2)
            return ("\(column.path) \(isEqual ? "==" : "!=") nil", "\(column.sql) IS \(isEqual ? "" : "NOT ")NULL")
        case 1:
            let list = (0..<Int(random.next() % 4) + 1).map { _ in constant(for: column, &random) }
                .joined(separator: ", ")
            return ("\(column.path) IN {\(list)}", "coalesce(\(column.sql) IN (\(list)), 0)")
        case 2:
            let bounds = column.isText ? ["'a'", "'b'"] : ["-1", "\(random.next() % 5)"]
            return (
                "\(column.path) BETWEEN {\(bounds[0]), \(bounds[1])}",
                "coalesce(\(column.sql) BETWEEN \(bounds[0]) AND \(bounds[1]), 0)"
            )
        case 3:
            let (left, right) = random.isOne(of: 2) ? (numbers[0], numbers[1]) : (texts[0], texts[2])
            return ordered(left.path, right.path, left.sql, right.sql, &random)
        case 4:
            let (operation, left) = (random.choose(["+", "-", "*"]), numbers[1])
            let constant = "\(random.next() % 9)"
            return ordered(
                "\(left.path) \(operation) whole", constant, "\(left.sql) \(operation) i.whole", constant, &random)
        case 5, 6:
            let text = random.choose(texts)
            let part = random.choose(["a", "b", "ab", "B", "ba", "c", "aa"])
            let (operation, pattern) = random.choose([
                ("BEGINSWITH", part), ("ENDSWITH", part), ("CONTAINS", part), ("LIKE", "\(part)*"),
                ("LIKE", "?\(part)"), ("LIKE", "*\(part)?*"), ("LIKE", part),
            ])
            let glob =
                switch operation {
                case "BEGINSWITH": "\(part)*"
                case "ENDSWITH": "*\(part)"
                case "CONTAINS": "*\(part)*"
                default: pattern
                }
            return ("\(text.path) \(operation) '\(pattern)'", "coalesce(\(text.sql) GLOB '\(glob)', 0)")
        default:
            let value = constant(for: column, &random)
            return ordered(column.path, value, column.sql, value, &random)
        }
    }

    /// A comparison of two values by their order.
    private static func ordered(
        _ left: String, _ right: String, _ leftSQL: String, _ rightSQL: String, _ random: inout SeededGenerator
    ) -> (format: String, sql: String) {
        let operation = random.choose(["==", "!=", "<", "<=", ">", ">="])
        let sql =
            switch operation {
            case "==": "(\(leftSQL)) IS (\(rightSQL))"
            case "!=": "(\(leftSQL)) IS NOT (\(rightSQL))"
            default: "coalesce((\(leftSQL)) \(operation) (\(rightSQL)), 0)"
            }
        return ("\(left) \(operation) \(right)", sql)
    }

    /// A constant of the kind of a column, which is written alike in both languages.
    private static func constant(for column: Column, _ random: inout SeededGenerator) -> String {
        if column.isText { return "'\(random.choose(["a", "b", "ab", "aab", "B", "bc", "zz"]))'" }
        if column.path == "ratio" { return "\(Double(Int(random.next() % 17)) / 4)" }
        return "\(random.next() % 9)"
    }
}

extension DrawnItem {
    /// Draws an item; small domains, so that most conditions match some.
    init(_ random: inout SeededGenerator) {
        func text(_ random: inout SeededGenerator) -> String {
            (0..<Int(random.next() % 4)).map { _ in random.choose(["a", "a", "b", "c", "B"]) }.joined()
        }
        if !random.isOne(of: 6) { whole = Int64(random.next() % 10) - 2 }
        if !random.isOne(of: 6) { number = random.choose([0, 1, 2, 3, -7, 1_000_000_000_000, -1_000_000_000_000]) }
        if !random.isOne(of: 6) { ratio = Double(Int64(random.next() % 41) - 20) / 4 }
        if !random.isOne(of: 6) { code = text(&random) }
        if !random.isOne(of: 6) { label = text(&random) }
        if !random.isOne(of: 5) { box = Int(random.next() % UInt64(SQLQuestion.boxNames.count)) }
    }

    /// The values in the order of the columns of the table.
    func sqlValues(serial: Int) -> String {
        func quoted(_ text: String?) -> String { text.map { "'\($0)'" } ?? "NULL" }
        func plain<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "NULL" }
        return [
            "\(serial)", plain(whole), plain(number), plain(ratio), quoted(code), quoted(label), plain(box),
        ].joined(separator: ", ")
    }
}

extension SeededGenerator {
    fileprivate mutating func choose<Choice>(_ choices: [Choice]) -> Choice {
        choices[Int(next() % UInt64(choices.count))]
    }

    /// `true` in one of `count` cases.
    fileprivate mutating func isOne(of count: UInt64) -> Bool { next() % count == 0 }
}
