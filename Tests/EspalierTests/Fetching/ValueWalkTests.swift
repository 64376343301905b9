// Random requests for values against an evaluator over plain dictionaries: before and after each save, in every kind of
// store, in child contexts, and after the store was opened again (F-3). Columns also read the lists of the sales'
// shops.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct ValueWalkTests {
    private static let walkCount = campaignCount("ESPALIER_VALUE_WALKS", default: 6)

    @Test(arguments: SaleBoard.Place.allCases)
    func `values at random are those of plain dictionaries, unsaved and saved, in parents and children (F-3)`(
        _ place: SaleBoard.Place
    ) throws {
        let first = testSeed(default: 51_000)
        for seed in (0..<UInt64(Self.walkCount)).map({ first &+ $0 }) {
            var walk = try ValueWalk(place, seed: seed)
            for _ in 0..<4 where walk.failure == nil { try walk.takeRound() }
            guard let failure = walk.failure else { continue }
            Issue.record("seed \(seed): \(failure)")
            return
        }
    }
}

/// A sale as a dictionary, with its shop.
private struct PlainSale {
    var values: [String: AttributeValue] = [:]
    var shop: Int?
    var isRefund = false
}

/// A shop as a dictionary, with its sales in the order of their creation.
private struct PlainShop {
    let values: [String: AttributeValue]
    let sales: [PlainSale]
}

private struct ValueWalk {
    private static let names = ["text", "whole", "big", "real", "money", "day", "flag"]
    private static let texts = ["a", "A", "é", "e\u{301}", "Zoë", "", "日本", "b\u{0}c", "ss", "ß"]

    private let board: SaleBoard
    private var random: SeededGenerator
    private var context: ManagedObjectContext
    /// By order of creation; deleted ones are nil.
    private var sales: [PlainSale?] = []
    private var shops: [[String: AttributeValue]?] = []
    /// The objects of a round; `nil` for those that were deleted before it.
    private var saleObjects: [ManagedObject?] = []
    private var shopObjects: [ManagedObject?] = []
    private var saleIDs: [ObjectID] = []
    private var shopIDs: [ObjectID] = []
    private(set) var failure: String?

    init(_ place: SaleBoard.Place, seed: UInt64) throws {
        board = try SaleBoard(place, seed: seed)
        random = SeededGenerator(seed: seed)
        context = board.newContext()
    }

    // MARK: Changes

    mutating func takeRound() throws {
        let root = context
        let isChild = Bool.random(using: &random)
        if isChild { context = ManagedObjectContext(parent: root) }
        let objects = context
        saleObjects = try sales.indices.map { try sales[$0] == nil ? nil : objects.object(with: saleIDs[$0]) }
        shopObjects = try shops.indices.map { try shops[$0] == nil ? nil : objects.object(with: shopIDs[$0]) }
        for _ in 0..<Int.random(in: 1...8, using: &random) { try change() }
        try compare(context, "unsaved")
        try context.save()
        try compare(context, "saved")
        if isChild {
            try compare(root, "in the parent")
            try compare(ManagedObjectContext(parent: root), "in a child of the parent")
            try root.save()
        }
        // IDs are permanent now.
        saleIDs = zip(saleIDs, saleObjects).map { $1?.objectID ?? $0 }
        shopIDs = zip(shopIDs, shopObjects).map { $1?.objectID ?? $0 }
        try compare(root, "after the save")
        context = root
        (saleObjects, shopObjects) = ([], [])
        if Int.random(in: 0..<3, using: &random) == 0 {
            context = board.newContext()
            try board.reopen()
            context = board.newContext()
            saleIDs = saleIDs.map { ObjectID(uriRepresentation: $0.uriRepresentation) ?? $0 }
            try compare(context, "opened again")
        }
    }

    private mutating func change() throws {
        let alive = sales.indices.filter { sales[$0] != nil }
        let open = shops.indices.filter { shops[$0] != nil }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try addShop()
        case 1...4: try addSale()
        case 5, 6:
            guard let number = alive.randomElement(using: &random) else { return try addSale() }
            for (name, value) in someValues() {
                try saleObjects[number]?.setValue(value, forKey: name)
                sales[number]?.values[name] = value
            }
        case 7:
            guard let number = alive.randomElement(using: &random) else { return try addSale() }
            let shop = Bool.random(using: &random) ? open.randomElement(using: &random) : nil
            try saleObjects[number]?.setValue(.toOne(shop.flatMap { shopObjects[$0] }), forKey: "shop")
            sales[number]?.shop = shop
        case 8:
            guard let number = open.randomElement(using: &random) else { return try addShop() }
            let town = AttributeValue.string(Self.texts.randomElement(using: &random) ?? "")
            try shopObjects[number]?.setValue(town, forKey: "town")
            shops[number]?["town"] = town
        default:
            if Bool.random(using: &random), let number = open.randomElement(using: &random) {
                if let shop = shopObjects[number] { try context.delete(shop) }
                shops[number] = nil
                for sale in sales.indices where sales[sale]?.shop == number { sales[sale]?.shop = nil }
            } else if let number = alive.randomElement(using: &random) {
                if let sale = saleObjects[number] { try context.delete(sale) }
                sales[number] = nil
            }
        }
    }

    private mutating func addShop() throws {
        let values: [String: AttributeValue] = [
            "name": .string("shop \(shops.count % 3)"), "rank": .integer(Int64(shops.count % 4)),
            "town": .string(Self.texts.randomElement(using: &random) ?? ""),
        ]
        let shop = try context.make("Shop", values)
        shopObjects.append(shop)
        shops.append(values)
        shopIDs.append(shop.objectID)
    }

    private mutating func addSale() throws {
        var sale = PlainSale(values: someValues())
        sale.isRefund = Int.random(in: 0..<4, using: &random) == 0
        let open = shops.indices.filter { shops[$0] != nil }
        if Bool.random(using: &random) { sale.shop = open.randomElement(using: &random) }
        let object = try context.make(
            sale.isRefund ? "Refund" : "Sale", sale.values, shop: sale.shop.flatMap { shopObjects[$0] })
        saleObjects.append(object)
        sales.append(sale)
        saleIDs.append(object.objectID)
    }

    private mutating func someValues() -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        for name in Self.names where Int.random(in: 0..<3, using: &random) > 0 {
            let number = Int64.random(in: -3...3, using: &random)
            let value: AttributeValue =
                switch name {
                case "text": .string(Self.texts.randomElement(using: &random) ?? "")
                case "whole": .integer(number)
                case "big": number == 3 ? .integer(.max) : .integer(number * 1_000_000_007)
                case "real": number == -3 ? .double(.nan) : .double(0.1 * Double(number) + 0.3)
                case "money": .decimal(Decimal(number) / 100)
                case "day": .date(Date(timeIntervalSinceReferenceDate: Double(number)))
                default: .boolean(number > 0)
                }
            values[name] = Int.random(in: 0..<6, using: &random) == 0 ? .null : value
        }
        return values
    }

    // MARK: Requests

    private mutating func compare(_ context: ManagedObjectContext, _ moment: String) throws {
        let shops = self.shops.enumerated().map { number, values in
            values.map { PlainShop(values: $0, sales: sales.compactMap(\.self).filter { $0.shop == number }) }
        }
        for _ in 0..<20 where failure == nil {
            let plain = PlainRequest(&random)
            let expected = plain.rows(sales, shops)
            let found: [[AttributeValue]]
            do { found = try context.fetch(plain.request).map(\.values) } catch {
                failure = "\(moment): \(plain): \(error)"
                return
            }
            // A median of whole numbers may be a double, and one of equal rows represents them.
            let isSame =
                found.count == expected.count
                && zip(found, expected).allSatisfy {
                    plain.hasMedian ? $0.isEqual(to: $1) : $0.isSame(as: $1)
                }
            if !isSame { failure = "\(moment): \(plain):\nfound \(found)\nexpected \(expected)" }
        }
    }
}

/// A request, and the same in terms of dictionaries.
private struct PlainRequest: CustomStringConvertible {
    private typealias Shops = [PlainShop?]

    private struct Column {
        let column: FetchColumn
        let isAggregate: Bool
        let value: ([PlainSale], Shops) -> AttributeValue
    }

    private static let paths = [
        "text", "whole", "big", "real", "money", "day", "flag", "shop.town", "shop.rank", "entity.name",
    ]
    /// Values of the list at the end of a path.
    private static let listPaths = [
        "shop.sales.@count", "shop.sales.@sum.whole", "shop.sales.@avg.money", "shop.sales.@min.text",
        "shop.sales.@max.real",
    ]

    private(set) var request: ValueRequest
    private var columns: [Column] = []
    private var groups: [String] = []
    private var includes: (PlainSale, Shops) -> Bool = { _, _ in true }
    private var having: ([PlainSale], Shops) -> Bool = { _, _ in true }
    private(set) var hasMedian = false
    private var sort: [(name: String, isAscending: Bool)] = []

    var description: String {
        "\(request.terms.debugDescription), "
            + "columns \(request.propertiesToFetch.map { "\($0.name) = \($0.expression)" }), "
            + "by \(groups), having \(request.havingPredicate.map { "\($0)" } ?? "nothing"), "
            + "distinct \(request.returnsDistinctResults)"
    }

    init(_ random: inout SeededGenerator) {
        let isRefund = Int.random(in: 0..<5, using: &random) == 0
        request = ValueRequest(entityName: isRefund ? "Refund" : "Sale")
        request.includesSubentities = Int.random(in: 0..<4, using: &random) > 0
        let familyIsWhole = request.terms.includesSubentities
        func isWanted(_ sale: PlainSale) -> Bool { isRefund ? sale.isRefund : familyIsWhole || !sale.isRefund }
        includes = { sale, _ in isWanted(sale) }
        addCondition(isWanted, &random)
        let isGrouped = Int.random(in: 0..<3, using: &random) == 0
        if isGrouped {
            groups = somePaths(&random, 1...2)
            request.propertiesToGroupBy = groups.map { FetchColumn($0) }
        }
        let hasAggregates = isGrouped || Bool.random(using: &random)
        let hasPlain = isGrouped || !hasAggregates || Bool.random(using: &random)
        if hasPlain { for path in isGrouped ? groups : somePaths(&random, 1...3) { add(path) } }
        if hasAggregates {
            for _ in 0..<Int.random(in: hasPlain ? 0...2 : 1...3, using: &random) { addAggregate(&random) }
        }
        request.propertiesToFetch = columns.map(\.column)
        request.returnsDistinctResults = Int.random(in: 0..<4, using: &random) == 0
        if isGrouped, Bool.random(using: &random) {
            let least = Int64.random(in: 0...3, using: &random)
            request.havingPredicate = try? FetchPredicate(format: "count:(whole) > %d", least)
            having = { sales, _ in sales.count { $0.values["whole"].map { !$0.isNull } ?? false } > least }
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            guard let column = columns.randomElement(using: &random) else { continue }
            sort.append((column.column.name, Bool.random(using: &random)))
        }
        if !isGrouped, !request.returnsDistinctResults, hasPlain, Bool.random(using: &random) {
            sort.append((Self.paths.randomElement(using: &random) ?? "text", Bool.random(using: &random)))
        }
        request.sortKeys = sort.map { SortKey($0.name, ascending: $0.isAscending) }
        if Bool.random(using: &random) {
            request.fetchOffset = Int.random(in: 0...3, using: &random)
            request.fetchLimit = Int.random(in: 0...5, using: &random)
        }
    }

    /// Mostly, a condition on the sales that the request may find.
    private mutating func addCondition(
        _ isWanted: @escaping (PlainSale) -> Bool, _ random: inout SeededGenerator
    ) {
        switch Int.random(in: 0..<9, using: &random) {
        case 0:
            let least = Int64.random(in: -2...2, using: &random)
            request.predicate = try? FetchPredicate(format: "whole >= %d", least)
            includes = { sale, _ in
                guard case .integer(let whole)? = sale.values["whole"] else { return false }
                return isWanted(sale) && whole >= least
            }
        case 1:
            request.predicate = try? FetchPredicate(format: "shop.town == 'a' OR flag == YES")
            includes = { sale, shops in
                isWanted(sale)
                    && (Self.read("shop.town", sale, shops) == .string("a") || sale.values["flag"] == .boolean(true))
            }
        case 2:
            request.predicate = try? FetchPredicate(format: "whole == 1")
            includes = { sale, _ in isWanted(sale) && sale.values["whole"] == .integer(1) }
        case 3:
            let count = Int.random(in: 0...3, using: &random)
            request.predicate = try? FetchPredicate(format: "shop.sales.@count > %d", count)
            includes = { sale, shops in isWanted(sale) && Self.members(sale, shops).count > count }
        case 4:
            request.predicate = try? FetchPredicate(format: "ANY shop.sales.whole == 2")
            includes = { sale, shops in
                isWanted(sale) && Self.members(sale, shops).contains { $0.values["whole"] == .integer(2) }
            }
        case 5:
            request.predicate = try? FetchPredicate(
                format: "SUBQUERY(shop.sales, $x, $x.flag == YES AND $x.whole > 0).@count == 0")
            includes = { sale, shops in
                let found = Self.members(sale, shops).contains { member in
                    guard case .integer(let whole)? = member.values["whole"] else { return false }
                    return member.values["flag"] == .boolean(true) && whole > 0
                }
                return isWanted(sale) && !found
            }
        default: break
        }
    }

    private func somePaths(_ random: inout SeededGenerator, _ counts: ClosedRange<Int>) -> [String] {
        let paths = (Self.paths + Self.listPaths).shuffled(using: &random)
        return Array(paths.prefix(Int.random(in: counts, using: &random)))
    }

    private mutating func add(_ path: String) {
        columns.append(
            Column(column: FetchColumn(path), isAggregate: false) { sales, shops in
                sales.first.map { Self.read(path, $0, shops) } ?? .null
            })
    }

    private mutating func addAggregate(_ random: inout SeededGenerator) {
        let functions = ["count", "sum", "average", "min", "max", "median", "mode", "stddev", "all"]
        let function = functions.randomElement(using: &random) ?? "all"
        let paths: [String] =
            switch function {
            case "sum", "average", "median":
                ["whole", "big", "real", "money", "shop.rank", "shop.sales.@count", "shop.sales.@sum.whole"]
            // Without decimals, whose deviation is that of rounded doubles.
            case "stddev": ["whole", "big", "real", "shop.rank", "shop.sales.@count"]
            default: Self.paths + Self.listPaths
            }
        let path = paths.randomElement(using: &random) ?? "whole"
        if function == "median" { hasMedian = true }
        let name = "a\(columns.count)"
        guard function != "all" else {
            let format = "count:(SELF) * 10 + count:(text)"
            guard let column = try? FetchColumn(name, format: format) else { return }
            columns.append(
                Column(column: column, isAggregate: true) { sales, _ in
                    .integer(Int64(sales.count * 10 + sales.count { $0.values["text"].map { !$0.isNull } ?? false }))
                })
            return
        }
        let column = FetchColumn(
            name, .function(function, [.keyPath(FetchKeyPath(path.split(separator: ".").map(String.init)))]))
        columns.append(
            Column(column: column, isAggregate: true) { sales, shops in
                PlainAggregate.result(function, sales.map { Self.read(path, $0, shops) })
            })
    }

    // MARK: Evaluation

    private static func read(_ path: String, _ sale: PlainSale, _ shops: Shops) -> AttributeValue {
        if path == "entity.name" { return .string(sale.isRefund ? "Refund" : "Sale") }
        guard path.hasPrefix("shop.") else { return sale.values[path] ?? .null }
        let list = "shop.sales.@"
        guard path.hasPrefix(list) else {
            return sale.shop.flatMap { shops[$0]?.values[String(path.dropFirst(5))] } ?? .null
        }
        let (members, names) = (members(sale, shops), path.dropFirst(list.count).split(separator: "."))
        guard let name = names.last, names.count == 2 else { return .integer(Int64(members.count)) }
        let function = names[0] == "avg" ? "average" : String(names[0])
        return PlainAggregate.result(function, members.map { $0.values[String(name)] ?? .null })
    }

    /// The sales of the shop of a sale.
    private static func members(_ sale: PlainSale, _ shops: Shops) -> [PlainSale] {
        sale.shop.flatMap { shops[$0]?.sales } ?? []
    }

    private struct Row {
        let values: [AttributeValue]
        let sortValues: [AttributeValue]
        /// The values that decide between rows that are equal in the order, or the order of creation.
        let last: [AttributeValue]
    }

    func rows(_ all: [PlainSale?], _ shops: [PlainShop?]) -> [[AttributeValue]] {
        let sales = all.compactMap(\.self).filter { includes($0, shops) }
        let isGrouped = !groups.isEmpty
        var rows: [Row] = []
        func add(_ own: [PlainSale], of all: [PlainSale], _ last: [AttributeValue]) {
            let values = columns.map { $0.value($0.isAggregate ? all : own, shops) }
            let sortValues = sort.map { key in
                columns.firstIndex { $0.column.name == key.name }.map { values[$0] }
                    ?? own.first.map { Self.read(key.name, $0, shops) } ?? .null
            }
            rows.append(Row(values: values, sortValues: sortValues, last: last))
        }
        if isGrouped {
            var members: [(key: [AttributeValue], sales: [PlainSale])] = []
            for sale in sales {
                let key = groups.map { Self.read($0, sale, shops) }
                if let position = members.firstIndex(where: { $0.key.isSame(as: key) }) {
                    members[position].sales.append(sale)
                } else {
                    members.append((key, [sale]))
                }
            }
            for group in members where having(group.sales, shops) { add(group.sales, of: group.sales, group.key) }
        } else if columns.allSatisfy(\.isAggregate) {
            add(sales, of: sales, [])
        } else {
            for (number, sale) in sales.enumerated() { add([sale], of: sales, [.integer(Int64(number))]) }
        }
        if request.returnsDistinctResults {
            var distinct: [Row] = []
            for row in rows where !distinct.contains(where: { $0.values.isEqual(to: row.values) }) {
                distinct.append(Row(values: row.values, sortValues: row.sortValues, last: row.values))
            }
            rows = distinct
        }
        rows.sort { left, right in
            for (position, key) in sort.enumerated() {
                let order = left.sortValues[position].compare(right.sortValues[position])
                if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
            }
            for (left, right) in zip(left.last, right.last) where left.compare(right) != .orderedSame {
                return left.compare(right) == .orderedAscending
            }
            return false
        }
        let limit = request.terms.fetchLimit > 0 ? request.terms.fetchLimit : Int.max
        return rows.dropFirst(request.terms.fetchOffset).prefix(limit).map(\.values)
    }
}
