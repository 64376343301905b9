// Binds a predicate to an entity: looks up names, checks types, converts constants, normalizes comparisons.
//
// Invariants
//   1. The result satisfies the invariants of ResolvedPredicate; otherwise an error says which name or value is wrong.
// Not here: key paths (PredicateResolver+KeyPath), functions (PredicateResolver+Expression), types
// (PredicateResolver+Types).

import FoundationEssentials

struct PredicateResolver {
    typealias Comparison = FetchPredicate.Comparison

    /// The values of a group: an expression that reads anything else of objects is refused.
    typealias Substitutes = [FetchExpression: Operand]

    let entity: Entity
    let model: ManagedObjectModel
    /// Whether transient attributes are read: objects in memory have their values, and stores have not.
    let readsTransients: Bool
    /// The variables of the SUBQUERYs around the current place, outermost first, and the entities of their elements.
    var variables: [(name: String, entity: ManagedObjectModel.EntityIndex)] = []
    /// Expressions that have been computed before; `nil` = none, and everything is read from the tested object.
    var substitutes: Substitutes?
    /// Whether a constant of the result was made from more than the condition and the model: from the time.
    ///
    /// The object that a URI names is the same at all times: an unknown one is an error.
    var dependsOnMoment = false
    /// The nesting depth of the current place.
    private var depth = 0

    init(entity: Entity, model: ManagedObjectModel, readsTransients: Bool = false) {
        (self.entity, self.model, self.readsTransients) = (entity, model, readsTransients)
    }

    mutating func resolve(_ predicate: FetchPredicate) throws(FetchPredicateError) -> ResolvedPredicate.Node {
        try enter()
        defer { depth -= 1 }
        switch predicate {
        case .constant(let truth): return .constant(truth)
        case .and(let predicates): return try resolve(all: predicates, isConjunction: true)
        case .or(let predicates): return try resolve(all: predicates, isConjunction: false)
        case .not(let predicate):
            let node = try resolve(predicate)
            if case .constant(let truth) = node { return .constant(!truth) }
            return .not(node)
        case .comparison(let comparison): return .comparison(try resolve(comparison))
        }
    }

    /// Counts one level of nesting; the caller leaves it with `depth -= 1`.
    private mutating func enter() throws(FetchPredicateError) {
        guard depth < ResolvedPredicate.depthMax else {
            throw FetchPredicateError(.tooDeep(limit: ResolvedPredicate.depthMax))
        }
        depth += 1
    }

    /// Runs `body` one level deeper.
    mutating func nested<Result>(
        _ body: (inout PredicateResolver) throws(FetchPredicateError) -> Result
    ) throws(FetchPredicateError) -> Result {
        try enter()
        defer { depth -= 1 }
        return try body(&self)
    }

    /// Resolves AND or OR: joins nested ones of the same kind, and folds constants.
    private mutating func resolve(
        all predicates: [FetchPredicate], isConjunction: Bool
    ) throws(FetchPredicateError) -> ResolvedPredicate.Node {
        var nodes: [ResolvedPredicate.Node] = []
        var isDecided = false
        for predicate in predicates {
            switch try resolve(predicate) {
            case .constant(let truth): isDecided = isDecided || truth != isConjunction
            case .and(let inner) where isConjunction: nodes += inner
            case .or(let inner) where !isConjunction: nodes += inner
            case let node: nodes.append(node)
            }
        }
        if isDecided || nodes.isEmpty { return .constant(isDecided != isConjunction) }
        return nodes.count == 1 ? nodes[0] : isConjunction ? .and(nodes) : .or(nodes)
    }

    private mutating func resolve(_ comparison: Comparison) throws(FetchPredicateError) -> ResolvedComparison {
        guard !comparison.options.contains(.localeSensitive) else {
            throw FetchPredicateError(.unsupported("comparison by locale, [l],", instead: "use [cd]"))
        }
        guard comparison.options.isDisjoint(with: [.numeric, .natural]) else {
            throw FetchPredicateError(
                .unsupported("a condition by the numbers in a text", instead: "use the option in a sort key"))
        }
        var sides = Sides(
            left: try resolve(comparison.left), right: try resolve(comparison.right),
            operator: comparison.operator, modifier: comparison.modifier)
        sides.left.place = comparison.places.left
        (sides.right.place, sides.text) = (comparison.places.right, comparison.places.text)
        sides.normalize()
        try checkShape(sides)
        try checkOperator(of: sides)
        try convertConstants(of: &sides)
        try checkFamilies(of: sides)
        return ResolvedComparison(
            sides.left.expression, sides.operator,
            sides.right.expression.sortedMembers(sides.operator, comparison.options),
            sides.modifier, comparison.options, pattern: try pattern(of: sides, comparison.options))
    }

    private func pattern(of sides: Sides, _ options: Comparison.Options) throws(FetchPredicateError) -> TextPattern? {
        guard sides.operator.isTextual, case .value(.string(let text)) = sides.right.expression else { return nil }
        do {
            return try TextPattern(sides.operator, text, options)
        } catch {
            throw located(.invalidPattern(error.pattern, problem: error.reason), at: sides.right, in: sides)
        }
    }

    /// An error with the column of a component of `keyPath`.
    func located(
        _ reason: FetchPredicateError.Reason, at keyPath: FetchKeyPath?, component: Int = 0, suggestion: String? = nil
    ) -> FetchPredicateError {
        let columns = keyPath?.columns ?? []
        return FetchPredicateError(
            reason, text: keyPath?.text,
            column: columns.indices.contains(component) ? columns[component] : columns.last,
            suggestion: suggestion)
    }
}

extension PredicateResolver {
    /// An error with the column of a side of a comparison.
    func located(_ reason: FetchPredicateError.Reason, at side: Operand, in sides: Sides) -> FetchPredicateError {
        guard let text = sides.text, let place = side.place else {
            return located(reason, at: side.keyPath ?? sides.left.keyPath ?? sides.right.keyPath)
        }
        return FetchPredicateError(reason, text: text, column: place)
    }
}

/// A comparison while it is being resolved.
struct Sides {
    var left: PredicateResolver.Operand
    var right: PredicateResolver.Operand
    var `operator`: FetchPredicate.Comparison.Operator
    var modifier: FetchPredicate.Comparison.Modifier
    /// The text of the predicate that contains the sides.
    var text: String?

    /// Moves the key path to the left side, and rewrites CONTAINS and IN to their normal form (PR-08, PX-13).
    mutating func normalize() {
        guard modifier == .direct else { return }
        switch `operator` {
        case .contains where left.isList: exchange(.in)
        case .contains where left.isCollection: (modifier, `operator`) = (.any, .equal)
        case .in where right.isList: break
        case .in where right.isCollection:
            exchange(.equal)
            modifier = .any
        case .in where right.family == .text: exchange(.contains)
        default:
            guard left.isConstant, !right.isConstant, let mirrored = `operator`.mirrored else { return }
            exchange(mirrored)
        }
    }

    private mutating func exchange(_ operator: FetchPredicate.Comparison.Operator) {
        swap(&left, &right)
        self.operator = `operator`
    }
}

extension FetchPredicate.Comparison.Operator {
    /// The operator that gives the same result with the sides exchanged; `nil` if there is none.
    package var mirrored: Self? {
        switch self {
        case .equal, .notEqual: self
        case .lessThan: .greaterThan
        case .lessThanOrEqual: .greaterThanOrEqual
        case .greaterThan: .lessThan
        case .greaterThanOrEqual: .lessThanOrEqual
        case .between, .in, .contains, .beginsWith, .endsWith, .like, .matches: nil
        }
    }

    /// Whether the operator compares text only.
    var isTextual: Bool {
        switch self {
        case .contains, .beginsWith, .endsWith, .like, .matches: true
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .in: false
        }
    }

    /// Whether the operator compares the order of the sides.
    var isOrdering: Bool {
        switch self {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between: true
        case .equal, .notEqual, .in, .contains, .beginsWith, .endsWith, .like, .matches: false
        }
    }
}

extension ResolvedExpression {
    /// Constant members of IN in ascending order, each once; other expressions unchanged.
    fileprivate func sortedMembers(
        _ operator: FetchPredicate.Comparison.Operator, _ options: FetchPredicate.Comparison.Options
    ) -> ResolvedExpression {
        guard `operator` == .in, case .values(let values) = self else { return self }
        if let texts = values.sortedTexts(options) { return .values(texts) }
        var members: [AttributeValue] = []
        for value in values.sorted(by: { $0.compare($1, options: options) == .orderedAscending })
        where members.last?.compare(value, options: options) != .orderedSame {
            members.append(value)
        }
        return .values(members)
    }
}

extension [AttributeValue] {
    /// The values in ascending order, each once, if all are texts and no option folds them; otherwise `nil`.
    ///
    /// Sorting strings is faster than comparing values.
    fileprivate func sortedTexts(_ options: ComparisonOptions) -> [AttributeValue]? {
        guard options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive, .normalized]) else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(count)
        for value in self {
            guard case .string(let text) = value else { return nil }
            texts.append(text)
        }
        texts.sort()
        var members: [AttributeValue] = []
        members.reserveCapacity(count)
        for (place, text) in texts.enumerated() where place == 0 || texts[place - 1] != text {
            members.append(.string(text))
        }
        return members
    }
}
