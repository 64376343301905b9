// Conditions that are tested on the bytes of rows find the same rows as in the store in memory, which evaluates values.
//
// `ESPALIER_BYTE_CONDITIONS=10000` draws more conditions.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ByteConditionTests {
    private static let texts = [
        "", "a", "A", "ab", "abc", "ABC", "b", "a*c", "a?c", "a\0b", "caf\u{E9}", "cafe\u{301}", "cafe", "CAF\u{C9}",
        "\u{DF}", "ss", "SS", "stra\u{DF}e", "\u{3A3}", "z\u{327}\u{301}", "line\nbreak", "\u{1F600}", "\u{C0}\u{C1}",
    ]
    private static let integers: [Int64] = [-32768, -1, 0, 1, 2, 7, 255, 256, 32767]
    private static let doubles = [-Double.infinity, -1.5, -0.0, 0, 1, 1.5, 2, .infinity, .nan]

    @Test func `a condition finds the same rows by their bytes as by their values`() throws {
        let (tree, memory) = (try StoreFixture(.treeInMemory), try StoreFixture(.memory))
        let seed = testSeed(default: 16)
        var random = SeededGenerator(seed: seed)
        let rows = (0..<200).map { _ in Self.row(&random) }
        for fixture in [tree, memory] {
            var request = SaveRequest()
            request.insertions = try rows.map { try fixture.insertion("Sample", $0) }
            _ = try fixture.store.save(request)
        }
        var passing = 0
        let count = campaignCount("ESPALIER_BYTE_CONDITIONS", default: 600)

        for _ in 0..<count {
            let predicate = Self.predicate(&random, depth: 0)
            guard let found = try? Self.keys(tree, predicate) else { continue }
            #expect(try found == Self.keys(memory, predicate), "\(predicate); seed \(seed)")
            passing += found.isEmpty || found.count == rows.count ? 0 : 1
        }

        #expect(passing > count / 3, "only \(passing) of \(count) conditions tell rows apart")
    }

    @Test(arguments: [.treeInFile, .memory] as [StoreKind])
    func `conditions on a to-one relationship find the rows that lead there, few or most of all`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let owners = try ["most", "few", "none"].map { try fixture.insert("Person", ["name": .string($0)]) }
        var request = SaveRequest()
        // Every 50th has no owner, and every other 40th the second one.
        let ownerOf = (0..<2500).map { $0.isMultiple(of: 50) ? nil : $0.isMultiple(of: 40) ? 1 : 0 }
        request.insertions = try ownerOf.enumerated().map { number, owner in
            try fixture.insertion(
                number.isMultiple(of: 3) ? "Book" : "Song", ["length": .integer(Int64(number))],
                to: owner.map { ["owner": owners[$0]] } ?? [:])
        }
        let ids = try fixture.store.save(request).inserted.map(\.id)
        let arguments: [any PredicateArgument] = owners
        let conditions: [(String, [(any PredicateArgument)?], (Int?) -> Bool)] = [
            ("owner == nil", [], { $0 == nil }), ("owner != nil", [], { $0 != nil }),
            ("owner == %@", [arguments[0]], { $0 == 0 }), ("owner != %@", [arguments[0]], { $0 != 0 }),
            ("owner == %@", [arguments[1]], { $0 == 1 }), ("NOT owner == %@", [arguments[1]], { $0 != 1 }),
            ("owner == %@", [arguments[2]], { _ in false }),
            ("owner IN {%@, %@}", [arguments[1], arguments[2]], { $0 == 1 }),
            ("owner == nil OR owner == %@", [arguments[1]], { $0 != 0 }),
            ("owner.name == 'most'", [], { $0 == 0 }), ("owner.name != 'most'", [], { $0 != 0 }),
        ]
        for (format, arguments, isWanted) in conditions {
            let predicate = try FetchPredicate(format: format, argumentArray: arguments)
            let expected = zip(ids, ownerOf).filter { isWanted($0.1) }.map(\.0)
            #expect(try fixture.store.fetchIDs(fixture.request("Media", predicate)) == expected, "\(format)")
            let some = try fixture.request(
                "Media", .and([predicate, try FetchPredicate(format: "length < 700")]), offset: 5, limit: 20)
            let few = Array(expected.filter { ids.prefix(700).contains($0) }.dropFirst(5).prefix(20))
            #expect(try fixture.store.fetch(some).map(\.id) == few, "\(format), a page")
        }
    }

    @Test func `rows that are sorted by their bytes come in the order of their values`() throws {
        let (tree, memory) = (try StoreFixture(.treeInMemory), try StoreFixture(.memory))
        var random = SeededGenerator(seed: testSeed(default: 16))
        let rows = (0..<200).map { _ in Self.row(&random) }
        for fixture in [tree, memory] {
            var request = SaveRequest()
            request.insertions = try rows.map { try fixture.insertion("Sample", $0) }
            _ = try fixture.store.save(request)
        }

        for name in ["string", "integer16", "integer64", "double", "date", "boolean", "uuid", "float", "decimal"] {
            for isAscending in [true, false] {
                for options in [[], .caseInsensitive] as [FetchPredicate.Comparison.Options] {
                    let keys = [SortKey(name, ascending: isAscending, options: options), SortKey("integer32")]
                    #expect(
                        try Self.keys(tree, .constant(true), keys) == Self.keys(memory, .constant(true), keys),
                        "\(name) \(isAscending) \(options)")
                }
            }
        }
    }

    private static func row(_ random: inout some RandomNumberGenerator) -> [String: AttributeValue] {
        var row: [String: AttributeValue] = [:]
        func mostly(_ name: String, _ value: AttributeValue) {
            if Int.random(in: 0..<6, using: &random) > 0 { row[name] = value }
        }
        mostly("string", .string(texts.randomElement(using: &random) ?? ""))
        mostly("integer16", .integer(integers.randomElement(using: &random) ?? 0))
        mostly("integer32", .integer(integers.randomElement(using: &random) ?? 0))
        mostly("integer64", .integer([.min, .max, 3, -3].randomElement(using: &random) ?? 0))
        mostly("double", .double(doubles.randomElement(using: &random) ?? 0))
        mostly("date", .date(Date(timeIntervalSinceReferenceDate: [-2, 0, 1, 2].randomElement(using: &random) ?? 0)))
        mostly("boolean", .boolean(Bool.random(using: &random)))
        return row
    }

    private static func predicate(
        _ random: inout some RandomNumberGenerator, depth: Int
    ) -> FetchPredicate {
        switch depth < 2 ? Int.random(in: 0..<8, using: &random) : 7 {
        case 0: return .and((0..<2).map { _ in predicate(&random, depth: depth + 1) })
        case 1: return .or((0..<2).map { _ in predicate(&random, depth: depth + 1) })
        case 2: return .not(predicate(&random, depth: depth + 1))
        default: return .comparison(comparison(&random))
        }
    }

    private static func comparison(_ random: inout some RandomNumberGenerator) -> FetchPredicate.Comparison {
        let names = ["string", "string", "integer16", "integer32", "integer64", "double", "date", "boolean"]
        let name = names.randomElement(using: &random) ?? "string"
        func value() -> AttributeValue {
            if Int.random(in: 0..<8, using: &random) == 0 { return .null }
            return switch name {
            case "string": .string(texts.randomElement(using: &random) ?? "")
            case "double": .double(doubles.randomElement(using: &random) ?? 0)
            case "date":
                .date(Date(timeIntervalSinceReferenceDate: [-2, 0, 1, 2].randomElement(using: &random) ?? 0))
            case "boolean": .boolean(Bool.random(using: &random))
            default: .integer(integers.randomElement(using: &random) ?? 0)
            }
        }
        var operators: [FetchPredicate.Comparison.Operator] = [
            .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .in, .between,
        ]
        var options: FetchPredicate.Comparison.Options = []
        if name == "string" {
            operators += [.contains, .beginsWith, .endsWith, .like, .contains, .beginsWith, .endsWith, .like]
            options =
                [[], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]]
                .randomElement(using: &random) ?? []
        }
        let `operator` = operators.randomElement(using: &random) ?? .equal
        let right: FetchExpression
        switch `operator` {
        case .in: right = .list((0..<3).map { _ in .value(value()) })
        case .between: right = .list((0..<2).map { _ in .value(value()) })
        case .like:
            let patterns = ["*", "a*", "*c", "*b*", "?", "a?c", "*\u{E9}", "a\\*c", "*a*b*", "**", "caf?"]
            right = .value(.string(patterns.randomElement(using: &random) ?? ""))
        case .contains, .beginsWith, .endsWith: right = .value(.string(texts.randomElement(using: &random) ?? ""))
        default: right = .value(value())
        }
        return FetchPredicate.Comparison(.keyPath(FetchKeyPath([name])), `operator`, right, options: options)
    }

    private static func keys(
        _ fixture: StoreFixture, _ predicate: FetchPredicate, _ sort: [SortKey] = []
    ) throws -> [Substring?] {
        let fetch = try fixture.request("Sample", predicate, sort: sort)
        return try fixture.store.fetchIDs(fetch).map { $0.uriRepresentation.split(separator: "/").last }
    }
}
