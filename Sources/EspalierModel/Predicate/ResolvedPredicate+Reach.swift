// The objects that a predicate reads besides the one it tests, and the conditions that lead back from them.

internal import FoundationEssentials

/// The relationship paths that predicates and sort keys, and derived attributes in them, follow from the tested object
/// to others.
package struct PredicateReach {
    /// Each element is the beginning of a path: the steps from the tested object up to one of the path's steps.
    package private(set) var ways: Set<[ResolvedKeyPath.Step]> = []
    /// Those of `ways` at whose end more than the ID of a to-one destination is read.
    private var reading: Set<[ResolvedKeyPath.Step]> = []
    /// The steps from the object to the elements of each enclosing SUBQUERY, outermost first.
    private var collections: [[ResolvedKeyPath.Step]] = []

    private let model: ManagedObjectModel

    private let entity: Entity

    /// Makes a reach without paths from objects of `entity`.
    package init(from entity: Entity, in model: ManagedObjectModel) { (self.entity, self.model) = (entity, model) }

    /// Whether anything is read at the end of a way: values, members of a to-many relationship, or objects beyond.
    ///
    /// Otherwise only the ID of the object at its end is compared, which is none if that object is deleted.
    package func reads(atEndOf way: [ResolvedKeyPath.Step]) -> Bool { reading.contains(way) }

    /// Adds the paths of a sort key.
    package mutating func add(_ key: ResolvedSortKey) { add(key.expression) }

    /// Adds the paths of a predicate.
    package mutating func add(_ predicate: ResolvedPredicate) { add(predicate.root) }

    /// Adds the paths of expressions.
    package mutating func add(_ expressions: [ResolvedExpression]) {
        for expression in expressions { add(expression) }
    }

    private mutating func add(_ node: ResolvedPredicate.Node) {
        switch node {
        case .constant: break
        case .comparison(let comparison):
            add(comparison.left)
            add(comparison.right)
        case .and(let nodes), .or(let nodes): for node in nodes { add(node) }
        case .not(let node): add(node)
        }
    }

    private mutating func add(_ expression: ResolvedExpression) {
        switch expression {
        case .value, .values: break
        case .list(let elements): for element in elements { add(element) }
        case .path(let path): add(path)
        case .aggregate(_, let element): add(element)
        case .function(_, let arguments): for argument in arguments { add(argument) }
        case .conditional(let condition, let first, let second):
            add(condition.node)
            add(first)
            add(second)
        case .subquery(let collection, _, let condition):
            collections.append(add(collection))
            add(condition.node)
            collections.removeLast()
        }
    }

    /// Adds a path, and returns its steps from the tested object.
    @discardableResult
    private mutating func add(_ path: ResolvedKeyPath) -> [ResolvedKeyPath.Step] {
        var steps: [ResolvedKeyPath.Step] = []
        if case .variable(let number) = path.base, number < collections.count { steps = collections[number] }
        for step in path.steps {
            if !steps.isEmpty { reading.insert(steps) }
            steps.append(step)
            ways.insert(steps)
        }
        if path.terminal != .object || path.isToMany { reading.insert(steps) }
        // A derived value changes with the objects from which it is derived.
        if case .attribute(let slot, _, _) = path.terminal {
            for way in model.waysOfDerivation(of: slot, in: steps.last?.destination ?? entity.index) {
                for end in way.indices { ways.insert(steps + way[...end]) }
                for end in way.indices { reading.insert(steps + way[...end]) }
            }
        }
        return steps
    }
}

extension ResolvedPredicate {
    /// The condition that one of `ways` leads to one of the given objects; `nil` if no way has any.
    package init?(_ ways: [(steps: [ResolvedKeyPath.Step], ids: [ObjectID])], from entity: Entity) {
        let nodes = ways.filter { !$0.ids.isEmpty }.map { steps, ids in
            Node.comparison(.isOne(of: ids, at: steps))
        }
        guard let first = nodes.first else { return nil }
        self.init(root: nodes.count == 1 ? first : .or(nodes), of: entity)
    }

    /// This condition, restricted to the objects in `ids`.
    package func holding(forOneOf ids: [ObjectID]) -> ResolvedPredicate {
        let isOne = Node.comparison(.isOne(of: ids, at: []))
        return ResolvedPredicate(root: .and(root.conditions + [isOne]), of: entity)
    }

    /// The condition that the object is one of `ids`.
    package init(oneOf ids: [ObjectID], of entity: Entity) {
        self.init(root: .comparison(.isOne(of: ids, at: [])), of: entity)
    }

    /// A condition that was not made from a request, so it has no source text.
    init(root: Node, of entity: Entity) {
        self.init(root, of: entity, from: .constant(true))
    }
}

extension ResolvedComparison {
    fileprivate static func isOne(of ids: [ObjectID], at steps: [ResolvedKeyPath.Step]) -> ResolvedComparison {
        let values = ids.map(AttributeValue.objectID).sorted { $0.compare($1) == .orderedAscending }
        let path = ResolvedKeyPath(base: .evaluatedObject, steps: steps, terminal: .object)
        return ResolvedComparison(.path(path), .in, .values(values), path.isToMany ? .any : .direct, [])
    }
}
