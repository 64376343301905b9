// Random conditions on values and ranges beside many unsaved objects, against plain dictionaries: doubles with -0 and
// NaN, dates, and references to stored, unsaved and deleted objects (F-3).
//
// `ESPALIER_PENDING_WALKS` is the number of walks for each place of the rows.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct PendingIndexWalkTests {
    private static let walkCount = campaignCount("ESPALIER_PENDING_WALKS", default: 2)

    @Test(arguments: SaleBoard.Place.allCases)
    func `one value, or one of several, finds the objects that have it, saved and unsaved (F-3)`(
        _ place: SaleBoard.Place
    ) throws {
        let first = testSeed(default: 77_000)
        print("ESPALIER_SEED=\(first)")
        for seed in (0..<UInt64(Self.walkCount)).map({ first &+ $0 }) {
            var walk = try PendingIndexWalk(place, seed: seed)
            for step in 0..<60 {
                try walk.change()
                guard let problem = try walk.ask() else { continue }
                Issue.record("seed \(seed), step \(step): \(problem)")
                return
            }
            #expect(walk.foundCount > 20, "seed \(seed): \(walk.foundCount) objects were found")
        }
    }
}

private struct PendingIndexWalk {
    /// A sale as plain values.
    private struct PlainSale {
        let object: ManagedObject
        var values: [String: AttributeValue] = [:]
        var shop: Int?
    }

    /// A condition on ranges, and the same for plain values.
    private typealias RangeForm = (predicate: FetchPredicate, isWithin: (AttributeValue) -> Bool)

    private let board: SaleBoard
    private let context: ManagedObjectContext
    private var random: SeededGenerator
    private var sales: [PlainSale] = []
    private var shops: [ManagedObject] = []
    private var deletedShops: Set<Int> = []
    private(set) var foundCount = 0

    init(_ place: SaleBoard.Place, seed: UInt64) throws {
        board = try SaleBoard(place, seed: seed)
        random = SeededGenerator(seed: seed)
        context = board.newContext()
        for _ in 0..<4 { shops.append(try context.make("Shop")) }
        for _ in 0..<10 { try addSale() }
        try context.save()
        // From 32 unsaved objects on, they are listed by value.
        for _ in 0..<40 { try addSale() }
        for number in 0..<5 { try set(someValues(), ofSale: number) }
    }

    // MARK: Changes

    mutating func change() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0...2: try addSale()
        case 3...6:
            guard let number = sales.indices.randomElement(using: &random) else { return }
            try set(someValues(), ofSale: number)
        case 7, 8:
            guard let number = sales.indices.randomElement(using: &random) else { return }
            let shop = someShop()
            if let shop, Bool.random(using: &random) {
                // The other end changes the same relationship.
                guard case .toMany(let members) = try shops[shop].value(forKey: "sales") else { return }
                try shops[shop].setValue(.toMany(members + [sales[number].object]), forKey: "sales")
            } else {
                try sales[number].object.setValue(.toOne(shop.map { shops[$0] }), forKey: "shop")
            }
            sales[number].shop = shop
        case 9:
            guard sales.count > 45, let number = sales.indices.randomElement(using: &random) else { return }
            try context.delete(sales.remove(at: number).object)
        case 10:
            if deletedShops.count < shops.count - 2, let shop = someShop(), Bool.random(using: &random) {
                try context.delete(shops[shop])
                deletedShops.insert(shop)
                for number in sales.indices where sales[number].shop == shop { sales[number].shop = nil }
            } else {
                shops.append(try context.make("Shop"))
            }
        default: if Int.random(in: 0..<10, using: &random) == 0 { try context.save() }
        }
    }

    private mutating func addSale() throws {
        let (values, shop) = (someValues(), someShop())
        let entity = Bool.random(using: &random) ? "Sale" : "Refund"
        let object = try context.make(entity, values, shop: shop.map { shops[$0] })
        sales.append(PlainSale(object: object, values: values, shop: shop))
    }

    private mutating func set(_ values: [String: AttributeValue], ofSale number: Int) throws {
        for (name, value) in values {
            try sales[number].object.setValue(value, forKey: name)
            sales[number].values[name] = value
        }
    }

    private mutating func someShop() -> Int? {
        if Int.random(in: 0..<5, using: &random) == 0 { return nil }
        return shops.indices.filter { !deletedShops.contains($0) }.randomElement(using: &random)
    }

    private mutating func someValues() -> [String: AttributeValue] {
        ["real": someValue("real"), "day": someValue("day"), "whole": someValue("whole")]
    }

    private mutating func someValue(_ name: String) -> AttributeValue {
        let number = Int.random(in: 0..<6, using: &random)
        if number == 0 { return .null }
        let real: Double = number == 1 ? .nan : number == 2 ? -0.0 : number == 3 ? 0 : Double(number) / 3
        switch name {
        case "real": return .double(real)
        case "day": return .date(Date(timeIntervalSinceReferenceDate: number == 1 ? 1 : real))
        default: return .integer(Int64(number))
        }
    }

    // MARK: Questions

    /// Asks one question in each form; returns what is wrong.
    mutating func ask() throws -> String? {
        let name = ["real", "day", "whole", "shop"].randomElement(using: &random) ?? "shop"
        let asksForSeveral = Bool.random(using: &random)
        let predicate: FetchPredicate
        let includes: (PlainSale) -> Bool
        if name == "shop" {
            // A deleted shop is asked for, too.
            var wanted: [Int?] = []
            for _ in 0..<(asksForSeveral ? 3 : 1) {
                let number = Int.random(in: -1..<shops.count, using: &random)
                wanted.append(number < 0 ? nil : number)
            }
            let ids = wanted.map { number -> FetchExpression in
                guard let number else { return .value(.null) }
                return .value(.objectID(shops[number].objectID))
            }
            predicate = Self.condition(name, ids, asksForSeveral)
            includes = { sale in wanted.contains { $0 == sale.shop } }
        } else if Int.random(in: 0..<3, using: &random) == 0 {
            let bounds = (someValue(name), someValue(name), someValue(name))
            let (form, isWithin) = Self.range(Int.random(in: 0..<8, using: &random), name, bounds)
            predicate = form
            includes = { sale in isWithin(sale.values[name] ?? .null) }
        } else {
            var wanted: [AttributeValue] = []
            for _ in 0..<(asksForSeveral ? 3 : 1) { wanted.append(someValue(name)) }
            predicate = Self.condition(name, wanted.map { .value($0) }, asksForSeveral)
            includes = { sale in wanted.contains { Self.equals($0, sale.values[name] ?? .null) } }
        }
        let expected = Set(sales.filter(includes).map(\.object))
        let request = FetchRequest<ManagedObject>(entityName: "Sale", predicate: predicate)
        let found = try context.fetch(request)
        foundCount += found.count
        guard found.count == expected.count, Set(found) == expected else {
            return "\(predicate) finds \(found.map(\.objectID)), expected are \(expected.map(\.objectID))"
        }
        let count = try context.count(for: request)
        guard count == expected.count else { return "\(predicate) counts \(count), expected are \(expected.count)" }
        let ids = try context.fetchIDs(request)
        guard Set(ids) == Set(expected.map(\.objectID)) else { return "\(predicate) finds the IDs \(ids)" }
        let rows = try context.fetch(ValueRequest(entityName: "Sale", predicate: predicate, columns: ["whole"])).count
        guard rows == expected.count else { return "\(predicate) has \(rows) rows, expected are \(expected.count)" }
        return nil
    }

    private static func condition(
        _ name: String, _ constants: [FetchExpression], _ asksForSeveral: Bool
    ) -> FetchPredicate {
        let path = FetchExpression.keyPath(FetchKeyPath([name]))
        return asksForSeveral
            ? .comparison(.init(path, .in, .list(constants))) : .comparison(.init(path, .equal, constants[0]))
    }

    /// A condition on a range or on several of one property, and the same for plain values: null and NaN are in no
    /// range.
    private static func range(
        _ form: Int, _ name: String, _ bounds: (AttributeValue, AttributeValue, AttributeValue)
    ) -> RangeForm {
        let path = FetchExpression.keyPath(FetchKeyPath([name]))
        func compared(
            _ comparison: FetchPredicate.Comparison.Operator, _ bound: AttributeValue,
            _ isWithin: @escaping (Double, Double) -> Bool
        ) -> RangeForm {
            (
                .comparison(.init(path, comparison, .value(bound))),
                { value in
                    guard let number = Self.number(value), let end = Self.number(bound) else { return false }
                    return isWithin(number, end)
                }
            )
        }
        func between(_ lower: AttributeValue, _ upper: AttributeValue) -> RangeForm {
            let (least, most) = (compared(.greaterThanOrEqual, lower, >=), compared(.lessThanOrEqual, upper, <=))
            let ends = FetchExpression.list([.value(lower), .value(upper)])
            return (.comparison(.init(path, .between, ends)), { least.isWithin($0) && most.isWithin($0) })
        }
        func both(_ left: RangeForm, _ right: RangeForm) -> RangeForm {
            (.and([left.predicate, right.predicate]), { left.isWithin($0) && right.isWithin($0) })
        }
        let (first, second, third) = bounds
        return switch form {
        case 0: compared(.lessThan, first, <)
        case 1: compared(.lessThanOrEqual, first, <=)
        case 2: compared(.greaterThan, first, >)
        case 3: compared(.greaterThanOrEqual, first, >=)
        case 4: between(first, second)
        case 5: both(compared(.lessThan, second, <), compared(.greaterThanOrEqual, first, >=))
        case 6: both(compared(.greaterThan, first, >), between(second, third))
        default: both(between(first, second), compared(.lessThanOrEqual, third, <=))
        }
    }

    /// The place of a value on a line; `nil` for null and NaN.
    private static func number(_ value: AttributeValue) -> Double? {
        switch value {
        case .double(let number): number.isNaN ? nil : number
        case .integer(let number): Double(number)
        case .date(let date): date.timeIntervalSinceReferenceDate
        default: nil
        }
    }

    /// Whether a predicate takes two values for equal: NaN equals itself, and -0 equals 0.
    private static func equals(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
        if case .double(let left) = left, case .double(let right) = right {
            return left == right || left.isNaN && right.isNaN
        }
        return left == right
    }
}
