// A predicate bound to an entity: names made slots, types checked, constants converted. What planners read.
//
// Invariants
//   1. A resolved predicate fits its entity: evaluating it needs no lookup by name and cannot meet an unknown key.
//   2. A constant compared with an attribute has the attribute's own type, unless no value of that type equals it.
//   3. Where a comparison has a key path and a constant, the key path stands on the left.
//   4. `x IN relationship.y` and `relationship.y CONTAINS x` have become `ANY relationship.y == x`; `"x" IN name` has
//      become `name CONTAINS "x"`: `in` has a list on its right, and `contains` is about text (PR-08).
//   5. The tree is no deeper than `depthMax`, so that walking it by recursion is safe.

/// A condition that is checked against an entity and ready to be evaluated or planned.
public struct ResolvedPredicate: Sendable {
    /// The deepest nesting of a predicate or expression.
    package static let depthMax = 100

    /// The condition as it was asked.
    public let source: FetchPredicate
    /// The entity it was resolved for.
    public let entity: Entity
    /// The condition in slots.
    package let root: Node
    /// What the condition comes down to if it says nothing but that an attribute of the object has a value.
    package let equality: AttributeEquality?

    /// A condition, resolved.
    package indirect enum Node: Sendable {
        /// Always true or always false.
        case constant(Bool)
        /// Two expressions compared.
        case comparison(ResolvedComparison)
        /// True if all are true; never empty.
        case and([Node])
        /// True if any is true; never empty.
        case or([Node])
        /// True if the other is false.
        case not(Node)
    }

    /// Checks `predicate` against `entity` and resolves its names.
    ///
    /// - Throws: `FetchPredicateError` for unknown or transient properties, wrong types, unbound variables, to-many key
    ///   paths without modifier, and patterns that are not regular expressions.
    /// - Complexity: O(size of the predicate); constants of IN are sorted.
    public init(
        _ predicate: FetchPredicate, for entity: Entity, in model: ManagedObjectModel
    ) throws(FetchPredicateError) {
        source = predicate
        self.entity = entity
        if let plain = PredicateResolver.plainEquality(predicate, of: entity) {
            root = plain
        } else {
            var resolver = PredicateResolver(entity: entity, model: model)
            root = try resolver.resolve(predicate)
        }
        equality = AttributeEquality(root)
    }

    /// The conditions that must all be true: the children of a topmost AND, or the predicate itself.
    package var conjuncts: [Node] { root.conjuncts }
}

extension ResolvedPredicate.Node {
    /// The conditions that must all be true: the children of an AND, or the condition itself.
    fileprivate var conjuncts: [Self] {
        if case .and(let nodes) = self { nodes } else { [self] }
    }

    /// The conditions that must all be true and are not always true.
    package var conditions: [Self] { conjuncts.filter { if case .constant(true) = $0 { false } else { true } } }
}

/// Two resolved expressions and how they are compared.
package struct ResolvedComparison: Sendable {
    package typealias Operator = FetchPredicate.Comparison.Operator
    package typealias Modifier = FetchPredicate.Comparison.Modifier
    package typealias Options = FetchPredicate.Comparison.Options

    /// The left side; a collection exactly if `modifier` is not `.direct`.
    package let left: ResolvedExpression
    /// The operator.
    package let `operator`: Operator
    /// The right side: two elements for BETWEEN, a list or collection for IN, else one value.
    package let right: ResolvedExpression
    /// How many elements of the left side must pass.
    package let modifier: Modifier
    /// How text is compared.
    package let options: Options
    /// The constant pattern of a text operator, made ready.
    let pattern: TextPattern?

    init(
        _ left: ResolvedExpression, _ operator: Operator, _ right: ResolvedExpression, _ modifier: Modifier,
        _ options: Options, pattern: TextPattern? = nil
    ) {
        self.left = left
        self.operator = `operator`
        self.right = right
        self.modifier = modifier
        self.options = options
        self.pattern = pattern
    }

    /// Folded text that every value of the left side begins with if it passes: of BEGINSWITH and LIKE with a constant.
    package var requiredPrefix: String? { pattern?.requiredPrefix }
}

/// An operand, resolved.
package indirect enum ResolvedExpression: Sendable, Hashable {
    /// A constant.
    case value(AttributeValue)
    /// Constants: the members of IN, ascending under the comparison's options and without equals; or BETWEEN's bounds.
    case values([AttributeValue])
    /// A list that has to be computed.
    case list([ResolvedExpression])
    /// A key path; a collection if it `isToMany`.
    case path(ResolvedKeyPath)
    /// One value made of a collection.
    case aggregate(Aggregate, ResolvedExpression)
    /// A function of one value or several.
    case function(ResolvedFunction, [ResolvedExpression])
    /// TERNARY.
    case conditional(PredicateBox, ResolvedExpression, ResolvedExpression)
    /// SUBQUERY: the objects at the end of `collection` that pass; inside, they are variable number `variable`.
    case subquery(collection: ResolvedKeyPath, variable: Int, PredicateBox)

    /// The functions of the grammar that make one value of a collection (PR-11, FR-19).
    package enum Aggregate: Sendable, Hashable, CaseIterable {
        case count, sum, average, min, max, median, mode, stddev
    }
}

/// A condition inside an expression; equal only to itself in text.
package final class PredicateBox: Sendable, Hashable {
    package let source: FetchPredicate
    package let node: ResolvedPredicate.Node

    init(source: FetchPredicate, node: ResolvedPredicate.Node) { (self.source, self.node) = (source, node) }

    package static func == (left: PredicateBox, right: PredicateBox) -> Bool { left.source == right.source }
    package func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// A path from an object to a value, in slots.
package struct ResolvedKeyPath: Sendable, Hashable {
    /// Where a path begins.
    package enum Base: Sendable, Hashable {
        /// The object being tested.
        case evaluatedObject
        /// The element of the SUBQUERY with this number.
        case variable(Int)
    }

    /// One relationship on the way.
    package struct Step: Sendable, Hashable {
        /// The entity the relationship is looked up in.
        package let source: ManagedObjectModel.EntityIndex
        /// The slot of the relationship in `source`.
        package let slot: Int
        /// The entity at its other end.
        package let destination: ManagedObjectModel.EntityIndex
        /// Whether it leads to many objects.
        package let isToMany: Bool
    }

    /// What is read at the end of the steps.
    package enum Terminal: Sendable, Hashable {
        /// The attribute in this slot of the last entity, or the part of a composite attribute under `elements`.
        case attribute(Int, type: AttributeType, elements: [String])
        /// The object itself, as its ID.
        case object
        /// The name of the object's entity.
        case entityName
    }

    /// Where the path begins.
    package let base: Base
    /// The relationships on the way.
    package let steps: [Step]
    /// What is read at their end.
    package let terminal: Terminal

    /// Whether the path leads to many values.
    package var isToMany: Bool { steps.contains(where: \.isToMany) }
}

/// A sort key that is checked against an entity.
public struct ResolvedSortKey: Sendable {
    /// The key as it was asked.
    public let source: SortKey
    /// The attribute, possibly across to-one relationships.
    package let path: ResolvedKeyPath

    /// Checks `key` against `entity` and resolves its names.
    ///
    /// - Throws: `FetchPredicateError` for unknown or transient properties and for paths that do not end in one value.
    public init(_ key: SortKey, for entity: Entity, in model: ManagedObjectModel) throws(FetchPredicateError) {
        let resolver = PredicateResolver(entity: entity, model: model)
        source = key
        do {
            path = try resolver.resolve(sortKey: key)
        } catch {
            throw error.inSortKey(key.keyPath)
        }
    }

    /// Whether smaller values come first.
    public var isAscending: Bool { source.isAscending }
    /// How text is compared.
    public var options: FetchPredicate.Comparison.Options { source.options }
}
