// Random conditions on the rows of a world, as predicates and as closures that test plain values.

import EspalierModel
import Foundation
import TestSupport

/// A condition, and the same in terms of plain values.
struct RandomCondition {
    /// It has variables in place of the IDs of rows, which differ from store to store (`RequestStore.bound`).
    let predicate: FetchPredicate
    /// Whether it holds for the row at a position.
    let holds: (Int) -> Bool
}

/// Makes conditions on the rows of a world.
struct ConditionMaker {
    typealias Operator = FetchPredicate.Comparison.Operator

    /// A single value of each row.
    private struct Operand {
        let expression: FetchExpression
        let attribute: RequestWorld.Attribute
        let value: (Int) -> PlainValue
    }

    let world: RequestWorld
    var random: SeededGenerator

    private static let orders: [Operator] = [
        .equal, .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ]
    private static let texts: [Operator] = [.contains, .beginsWith, .endsWith, .like]

    // MARK: Conditions

    mutating func condition(on entity: Int, depth: Int) -> RandomCondition {
        guard depth > 0 else { return comparison(on: entity) }
        let first = condition(on: entity, depth: depth - 1)
        if random.oneIn(5) {
            let holds = first.holds
            return RandomCondition(predicate: .not(first.predicate)) { !holds($0) }
        }
        let second = condition(on: entity, depth: depth - 1)
        let (left, right) = (first.holds, second.holds)
        if random.oneIn(3) {
            return RandomCondition(predicate: .or([first.predicate, second.predicate])) { left($0) || right($0) }
        }
        return RandomCondition(predicate: .and([first.predicate, second.predicate])) { left($0) && right($0) }
    }

    private mutating func comparison(on entity: Int) -> RandomCondition {
        switch random.next() % 16 {
        case 0, 1: return anyOfList(entity)
        case 2: return countOfList(entity)
        case 3: return random.oneIn(2) ? identity(entity) : subquery(entity)
        case 4 where world.isThing(entity): return toOne()
        case 5: return twoAttributes(entity)
        case 6: return computed(entity)
        default: return test(operand(entity), prefix: nil)
        }
    }

    /// A property of the rows of an entity, sometimes across a to-one relationship.
    private mutating func operand(_ entity: Int) -> Operand {
        let (world, isThing) = (world, world.isThing(entity))
        if isThing, random.oneIn(6) {
            let position = random.pick(world.attributes(of: 4))
            return Operand(
                expression: Self.path(["owner"] + world.attribute(position).path), attribute: world.attribute(position)
            ) { row in world.rows[row].owner.map { world.rows[$0].values[position] } ?? .null }
        }
        if isThing, world.hasNext, random.oneIn(8) {
            let position = random.pick(world.attributes(of: 0))
            return Operand(
                expression: Self.path(["next"] + world.attribute(position).path), attribute: world.attribute(position)
            ) { row in world.rows[row].next.map { world.rows[$0].values[position] } ?? .null }
        }
        return own(random.pick(world.attributes(of: entity)))
    }

    private func own(_ position: Int) -> Operand {
        let world = world
        let attribute = world.attribute(position)
        return Operand(expression: Self.path(attribute.path), attribute: attribute) { row in
            world.rows[row].values[position]
        }
    }

    private static func path(_ names: [String]) -> FetchExpression { .keyPath(FetchKeyPath(names)) }

    // MARK: Single values

    /// A comparison of a property with constants; with a prefix, of the element of a SUBQUERY.
    private mutating func test(_ operand: Operand, prefix: String?) -> RandomCondition {
        var expression = operand.expression
        if let prefix { expression = Self.path([prefix] + operand.attribute.path) }
        let (holds, operation, right, options) = constantTest(of: operand.attribute)
        let value = operand.value
        return RandomCondition(
            predicate: .comparison(.init(expression, operation, right, options: options))
        ) { holds(value($0)) }
    }

    /// An operator with constants for the values of an attribute.
    private mutating func constantTest(
        of attribute: RequestWorld.Attribute
    ) -> (holds: (PlainValue) -> Bool, Operator, FetchExpression, ComparisonOptions) {
        let folds: [PlainFold] = attribute.kind == .text ? [.plain, .plain, .caseless, .markless, .both] : [.plain]
        let fold = random.pick(folds)
        let equality: [Operator] = [.equal, .notEqual]
        switch attribute.kind {
        case .flag where random.oneIn(8), .number where random.oneIn(12), .text where random.oneIn(12),
            .day where random.oneIn(12), .bytes where random.oneIn(12), .opaque where random.oneIn(4):
            let operation = random.pick(equality)
            return ({ $0.satisfies(operation, .null) }, operation, .value(.null), [])
        case .text where random.oneIn(3): return textTest(fold)
        case .number where random.oneIn(7):
            let (low, high) = (constant(of: attribute), constant(of: attribute))
            let bounds = FetchExpression.list([.value(low.value), .value(high.value)])
            let isBetween: (PlainValue) -> Bool = {
                $0.satisfies(.greaterThanOrEqual, low.plain) && $0.satisfies(.lessThanOrEqual, high.plain)
            }
            return (isBetween, .between, bounds, [])
        case .number where random.oneIn(5), .text where random.oneIn(4), .day where random.oneIn(4),
            .bytes where random.oneIn(4), .opaque where random.oneIn(4):
            var members = (0..<1 + random.next() % 3).map { _ in constant(of: attribute) }
            if random.oneIn(6) { members.append((.null, .null)) }
            let plain = members.map(\.plain)
            let isMember: (PlainValue) -> Bool = { value in plain.contains { value.order($0, fold) == 0 } }
            return (isMember, .in, .list(members.map { .value($0.value) }), fold.options)
        default:
            let hasOrder = attribute.kind != .flag && attribute.kind != .opaque
            let operation = random.pick(hasOrder ? Self.orders : equality)
            let (value, plain) = constant(of: attribute)
            return ({ $0.satisfies(operation, plain, fold) }, operation, .value(value), fold.options)
        }
    }

    private mutating func textTest(
        _ fold: PlainFold
    ) -> (holds: (PlainValue) -> Bool, Operator, FetchExpression, ComparisonOptions) {
        let operation = random.pick(Self.texts)
        let isPattern = operation == .like
        let place = Int(random.next() % UInt64(isPattern ? PlainPattern.all.count : PlainText.operands.count))
        let text = isPattern ? PlainPattern.all[place].text : PlainText.operands[place].text
        let holds: (PlainValue) -> Bool = { value in
            guard case .text(let position) = value else { return false }
            return isPattern
                ? PlainText.isLike(position, place, fold) : PlainText.holds(operation, position, place, fold)
        }
        return (holds, operation, .value(.string(text)), fold.options)
    }

    /// A constant to compare an attribute with.
    private mutating func constant(of attribute: RequestWorld.Attribute) -> (value: AttributeValue, plain: PlainValue) {
        switch attribute.kind {
        case .flag:
            let flag = random.oneIn(2)
            return (.boolean(flag), .flag(flag))
        case .text:
            let place = Int(random.next() % UInt64(PlainText.all.count))
            return (.string(PlainText.all[place].text), .text(place))
        case .day:
            let seconds = random.pick([0, 1, 86_400, -1.5])
            return (.date(.init(timeIntervalSinceReferenceDate: seconds)), .day(seconds))
        case .bytes, .opaque:
            let plain = PlainValue.bytes(random.pick(PlainBytes.all(of: attribute.type)))
            return (plain.stored(as: attribute.type), plain)
        case .number:
            let hasNaN = attribute.type == .double || attribute.type == .float
            let numbers: [Double] = hasNaN && random.oneIn(6) ? [.nan, .infinity] : [-2, 0, 1, 1, 2, 2.5, 3]
            let number = random.pick(numbers)
            return (Int64(exactly: number).map { .integer($0) } ?? .double(number), .number(number))
        }
    }

    /// Two numbers of one row.
    private mutating func twoAttributes(_ entity: Int) -> RandomCondition {
        let numbers = world.attributes(of: entity).filter { world.attribute($0).kind == .number }
        let (left, right) = (own(random.pick(numbers)), own(random.pick(numbers)))
        let operation = random.pick(Self.orders)
        return RandomCondition(predicate: .comparison(.init(left.expression, operation, right.expression))) { row in
            left.value(row).satisfies(operation, right.value(row))
        }
    }

    /// A sum or product with a number; a function whose result is no number is null.
    private mutating func computed(_ entity: Int) -> RandomCondition {
        let operand = own(random.pick(world.attributes(of: entity).filter { world.attribute($0).kind == .number }))
        let (isSum, factor) = (random.oneIn(2), random.pick([1, 2]) as Int64)
        let expression = FetchExpression.function(
            isSum ? "add:to:" : "multiply:by:", [operand.expression, .value(.integer(factor))])
        let operation = random.pick(Self.orders)
        let number = random.pick([-1, 0, 2, 3, 5]) as Int64
        return RandomCondition(
            predicate: .comparison(.init(expression, operation, .value(.integer(number))))
        ) { row in
            var value = PlainValue.null
            if case .number(let own) = operand.value(row) {
                let result = isSum ? own + Double(factor) : own * Double(factor)
                value = result.isNaN ? .null : .number(result)
            }
            return value.satisfies(operation, .number(Double(number)))
        }
    }

    // MARK: Objects

    private mutating func identity(_ entity: Int) -> RandomCondition {
        let world = world
        let candidates = world.rows.indices.filter { place in
            world.isThing(entity) ? world.isThing(world.rows[place].entity) : world.rows[place].entity == entity
        }
        let chosen = (0..<1 + random.next() % 3).map { _ in random.pick(candidates) }
        let ids = chosen.map { RequestStore.variable(of: $0) }
        if ids.count == 1 {
            return RandomCondition(predicate: .comparison(.init(.evaluatedObject, .equal, ids[0]))) { $0 == chosen[0] }
        }
        return RandomCondition(predicate: .comparison(.init(.evaluatedObject, .in, .list(ids)))) { chosen.contains($0) }
    }

    private mutating func toOne() -> RandomCondition {
        let world = world
        let owner = random.oneIn(4) ? nil : random.pick([0, 1, 2])
        let right = owner.map { RequestStore.variable(of: $0) } ?? .value(.null)
        let isEqual = !random.oneIn(4)
        return RandomCondition(
            predicate: .comparison(.init(Self.path(["owner"]), isEqual ? .equal : .notEqual, right))
        ) { (world.rows[$0].owner == owner) == isEqual }
    }

    // MARK: Lists

    /// The to-many relationship of an entity: its name, and the entity to which it leads.
    private func list(_ entity: Int) -> (name: String, entity: Int) {
        world.isThing(entity) ? ("tags", 5) : ("things", 0)
    }

    private mutating func anyOfList(_ entity: Int) -> RandomCondition {
        let (world, list) = (world, list(entity))
        let position = random.pick(world.attributes(of: list.entity))
        let modifier: FetchPredicate.Comparison.Modifier = random.pick([.any, .any, .all, .none])
        let (holds, operation, right, options) = constantTest(of: world.attribute(position))
        let path = Self.path([list.name] + world.attribute(position).path)
        return RandomCondition(
            predicate: .comparison(.init(path, operation, right, modifier: modifier, options: options))
        ) { row in
            let values = world.list(row).map { world.rows[$0].values[position] }
            return switch modifier {
            case .all: values.allSatisfy(holds)
            case .none: !values.contains(where: holds)
            default: values.contains(where: holds)
            }
        }
    }

    private mutating func countOfList(_ entity: Int) -> RandomCondition {
        let world = world
        let isOfOwner = world.isThing(entity) && random.oneIn(3)
        let path = isOfOwner ? ["owner", "things", "@count"] : [list(entity).name, "@count"]
        let operation = random.pick([.equal, .greaterThan, .lessThanOrEqual] as [Operator])
        let number = random.pick([0, 1, 2, 5]) as Int64
        return RandomCondition(
            predicate: .comparison(.init(Self.path(path), operation, .value(.integer(number))))
        ) { row in
            let count = isOfOwner ? world.rows[row].owner.map { world.list($0).count } ?? 0 : world.list(row).count
            return PlainValue.number(Double(count)).satisfies(operation, .number(Double(number)))
        }
    }

    private mutating func subquery(_ entity: Int) -> RandomCondition {
        let (world, list) = (world, list(entity))
        let inner = test(own(random.pick(world.attributes(of: list.entity))), prefix: "$x")
        let count = FetchExpression.function(
            "count", [.subquery(FetchKeyPath([list.name]), variable: "x", inner.predicate)])
        let number = random.pick([0, 1]) as Int64
        return RandomCondition(predicate: .comparison(.init(count, .greaterThan, .value(.integer(number))))) { row in
            world.list(row).count(where: inner.holds) > Int(number)
        }
    }
}
