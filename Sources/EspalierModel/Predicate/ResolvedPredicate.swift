// A predicate bound to an entity: names resolved to slots, types checked, constants converted. Planners read this form.
//
// Invariants
//   1. A resolved predicate fits its entity: evaluation needs no lookup by name and cannot meet an unknown key.
//   2. A constant compared with an attribute has the attribute's own type, unless no value of that type equals it.
//   3. In a comparison of a key path and a constant, the key path is on the left.
//   4. `x IN relationship.y` and `relationship.y CONTAINS x` are rewritten to `ANY relationship.y == x`, and `"x" IN
//      name` to `name CONTAINS "x"`: `in` has a list on its right, and `contains` compares text (PR-08).
//   5. The tree is at most `depthMax` deep, so recursion over it is safe.
// The parts of a condition are one object: a condition is passed on several times before a store answers it, and each
// copy counts one reference (see Decisions of EspalierStore, "Resolved conditions").

/// A condition that has been checked against an entity and can be evaluated or planned.
public struct ResolvedPredicate: Sendable {
    /// The maximum nesting of a predicate or expression.
    package static let depthMax = 100

    private let content: Content

    /// The condition before resolution.
    public var source: FetchPredicate { content.source }
    /// The entity that the condition was resolved for.
    public var entity: Entity { content.entity }
    /// The resolved condition.
    package var root: Node { content.root }
    /// The condition as an equality, if it consists only of an attribute of the object compared with a constant.
    package var equality: AttributeEquality? { content.equality }
    /// The identity of the resolved form: copies of a condition have the same one.
    ///
    /// It names the form as long as one of the copies exists.
    package var identity: ObjectIdentifier { ObjectIdentifier(content) }
    /// Whether the same condition has the same form whenever it is resolved: not if it reads the time, or looks for an
    /// object by its URI, because the store of the object may not be open yet.
    var isLasting: Bool { content.isLasting }

    /// The parts of a condition.
    private final class Content: Sendable {
        let source: FetchPredicate
        let entity: Entity
        let root: Node
        let equality: AttributeEquality?
        let isLasting: Bool

        init(_ source: FetchPredicate, _ entity: Entity, _ root: Node, isLasting: Bool) {
            (self.source, self.entity, self.root, self.isLasting) = (source, entity, root, isLasting)
            equality = AttributeEquality(root)
        }
    }

    /// A condition that was resolved before.
    init(_ root: Node, of entity: Entity, from source: FetchPredicate, isLasting: Bool = true) {
        content = Content(source, entity, root, isLasting: isLasting)
    }

    /// The form of a plain equality, which takes less time to resolve than to look for; `nil` for other conditions.
    init?(plain predicate: FetchPredicate, of entity: Entity) {
        guard let node = PredicateResolver.plainEquality(predicate, of: entity) else { return nil }
        self.init(node, of: entity, from: predicate)
    }

    /// A resolved condition.
    package indirect enum Node: Sendable {
        /// Always true or always false.
        case constant(Bool)
        /// A comparison of two expressions.
        case comparison(ResolvedComparison)
        /// True if all conditions are true; never empty.
        case and([Node])
        /// True if any condition is true; never empty.
        case or([Node])
        /// True if the condition is false.
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
        try self.init(predicate, for: entity, in: model, readsTransients: false)
    }

    /// Checks `predicate` against `entity` and resolves its names, for objects in memory: it may read transient
    /// attributes, too, and no store may get it.
    ///
    /// - Throws: `FetchPredicateError`, as for a store but for transient properties.
    /// - Complexity: O(size of the predicate); constants of IN are sorted.
    package init(
        inMemory predicate: FetchPredicate, for entity: Entity, in model: ManagedObjectModel
    ) throws(FetchPredicateError) {
        try self.init(predicate, for: entity, in: model, readsTransients: true)
    }

    private init(
        _ predicate: FetchPredicate, for entity: Entity, in model: ManagedObjectModel, readsTransients: Bool
    ) throws(FetchPredicateError) {
        if let plain = PredicateResolver.plainEquality(predicate, of: entity) {
            self.init(plain, of: entity, from: predicate)
        } else {
            var resolver = PredicateResolver(entity: entity, model: model, readsTransients: readsTransients)
            let root = try resolver.resolve(predicate)
            self.init(root, of: entity, from: predicate, isLasting: !resolver.dependsOnMoment)
        }
    }
}

extension ResolvedPredicate.Node {
    /// The conditions that must all be true: the children of an AND, or the condition itself; without the constant
    /// true.
    package var conditions: [Self] {
        let all: [Self] = if case .and(let nodes) = self { nodes } else { [self] }
        return all.filter { if case .constant(true) = $0 { false } else { true } }
    }
}

/// A comparison of two resolved expressions.
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
    /// The elements of the left side that must pass: any, all or none.
    package let modifier: Modifier
    /// The options for comparing text.
    package let options: Options
    /// The compiled pattern of a text operator with a constant.
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

    /// The compiled pattern of a text operator with a constant.
    package var textPattern: TextPattern? { pattern }

    /// Folded text that every matching value of the left side begins with, for BEGINSWITH and LIKE with a constant.
    package var requiredPrefix: String? { pattern?.requiredPrefix }
}

/// A resolved operand.
package indirect enum ResolvedExpression: Sendable, Hashable {
    /// A constant.
    case value(AttributeValue)
    /// Constants: the members of IN, ascending under the comparison's options and without duplicates; or BETWEEN's
    /// bounds.
    case values([AttributeValue])
    /// A list with elements to be computed.
    case list([ResolvedExpression])
    /// A key path; a collection if its `isToMany` is true.
    case path(ResolvedKeyPath)
    /// An aggregate of a collection.
    case aggregate(Aggregate, ResolvedExpression)
    /// A function of one or more values.
    case function(ResolvedFunction, [ResolvedExpression])
    /// TERNARY: a condition and two alternatives.
    case conditional(PredicateBox, ResolvedExpression, ResolvedExpression)
    /// SUBQUERY: the objects at the end of `collection` for which the condition holds, as variable number `variable` in
    /// it.
    case subquery(collection: ResolvedKeyPath, variable: Int, PredicateBox)

    /// The functions of the grammar that reduce a collection to one value (PR-11, FR-19).
    package enum Aggregate: Sendable, Hashable, CaseIterable {
        case count, sum, average, min, max, median, mode, stddev
    }
}

/// A condition inside an expression; two are equal if their source texts are equal.
package final class PredicateBox: Sendable, Hashable {
    package let source: FetchPredicate
    package let node: ResolvedPredicate.Node
    /// The depth of the outermost object from which a path in the condition begins (`ResolvedKeyPath.Base.depth`).
    let outermostDepth: Int

    init(source: FetchPredicate, node: ResolvedPredicate.Node) {
        (self.source, self.node, outermostDepth) = (source, node, node.outermostDepth)
    }

    package static func == (left: PredicateBox, right: PredicateBox) -> Bool { left.source == right.source }
    package func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// A resolved path from an object to a value.
package struct ResolvedKeyPath: Sendable, Hashable {
    /// The start of a path.
    package enum Base: Sendable, Hashable {
        /// The object being tested.
        case evaluatedObject
        /// The element of the SUBQUERY with this number.
        case variable(Int)
    }

    /// One relationship of a path.
    package struct Step: Sendable, Hashable {
        /// The entity in which the relationship is looked up.
        package let source: ManagedObjectModel.EntityIndex
        /// The slot of the relationship in `source`.
        package let slot: Int
        /// The entity at the other end of the relationship.
        package let destination: ManagedObjectModel.EntityIndex
        /// Whether the relationship is to-many.
        package let isToMany: Bool
    }

    /// The value that is read after the last step.
    package enum Terminal: Sendable, Hashable {
        /// The attribute in this slot of the last entity, or the part of a composite attribute under `elements`.
        case attribute(Int, type: AttributeType, elements: [String])
        /// The object itself, as its ID.
        case object
        /// The name of the object's entity.
        case entityName
    }

    /// The start of the path.
    package let base: Base
    /// The relationships from the start to the end of the path.
    package let steps: [Step]
    /// The value that is read after the last step.
    package let terminal: Terminal

    /// Whether the path leads to many values.
    package var isToMany: Bool { steps.contains(where: \.isToMany) }
}

/// A sort key that has been checked against an entity.
public struct ResolvedSortKey: Sendable {
    /// The key before resolution.
    public let source: SortKey
    /// The attribute, possibly across to-one relationships, or the expression.
    package let expression: ResolvedExpression
    /// The type of the values, which have an order; `undefined` stands for numbers of all types.
    package let type: AttributeType

    /// Checks `key` against `entity` and resolves its names.
    ///
    /// - Throws: `FetchPredicateError` for unknown or transient properties, for paths that do not end in one value, for
    ///   objects and their IDs, composites and transformable values, which have no order (PX-10), and for expressions
    ///   whose values have no order or several types.
    public init(_ key: SortKey, for entity: Entity, in model: ManagedObjectModel) throws(FetchPredicateError) {
        try self.init(key, for: entity, in: model, readsTransients: false)
    }

    /// Checks `key` against `entity` and resolves its names, for objects in memory: it may read transient attributes,
    /// too, and no store may get it.
    ///
    /// - Throws: `FetchPredicateError`, as for a store but for transient properties.
    package init(
        inMemory key: SortKey, for entity: Entity, in model: ManagedObjectModel
    ) throws(FetchPredicateError) {
        try self.init(key, for: entity, in: model, readsTransients: true)
    }

    private init(
        _ key: SortKey, for entity: Entity, in model: ManagedObjectModel, readsTransients: Bool
    ) throws(FetchPredicateError) {
        var resolver = PredicateResolver(entity: entity, model: model, readsTransients: readsTransients)
        source = key
        do {
            (expression, type) = try resolver.resolve(sortKey: key)
        } catch {
            throw error.inSortKey(key)
        }
    }

    /// The key path; `nil` for another expression.
    package var path: ResolvedKeyPath? { if case .path(let path) = expression { path } else { nil } }

    /// Whether smaller values come first.
    public var isAscending: Bool { source.isAscending }
    /// The options for comparing text.
    public var options: FetchPredicate.Comparison.Options { source.options }
}
