// Tells whether two conditions are the same to the last bit, so that the resolved form of one is the form of the other.
//
// Invariants
//   1. Identical conditions have equal fingerprints, and one resolved form, unless the form depends on the moment
//      (`ResolvedPredicate.isLasting`).
//   2. `==` is not enough: it holds 0 and -0 for one number, 1.0 and 1.00 for one decimal, and two spellings of "é" for
//      one text. A quotient, a URI or the option [n] can tell the difference.

import FoundationEssentials

extension FetchPredicate {
    /// Whether both are the same, each constant to the last bit; columns in texts are ignored.
    ///
    /// - Complexity: O(size of the smaller condition).
    func isIdentical(to other: FetchPredicate) -> Bool {
        switch (self, other) {
        case (.constant(let left), .constant(let right)): left == right
        case (.comparison(let left), .comparison(let right)):
            left.operator == right.operator && left.modifier == right.modifier && left.options == right.options
                && left.left.isIdentical(to: right.left) && left.right.isIdentical(to: right.right)
        case (.and(let left), .and(let right)), (.or(let left), .or(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
        case (.not(let left), .not(let right)): left.isIdentical(to: right)
        case (.constant, _), (.comparison, _), (.and, _), (.or, _), (.not, _): false
        }
    }
}

extension FetchExpression {
    fileprivate func isIdentical(to other: FetchExpression) -> Bool {
        switch (self, other) {
        case (.value(let left), .value(let right)): left.isIdentical(to: right)
        case (.list(let left), .list(let right)): Self.areIdentical(left, right)
        case (.keyPath(let left), .keyPath(let right)): left == right
        case (.evaluatedObject, .evaluatedObject): true
        case (.variable(let left), .variable(let right)): left == right
        case (.function(let left, let leftArguments), .function(let right, let rightArguments)):
            left == right && Self.areIdentical(leftArguments, rightArguments)
        case (.conditional(let left, let then, let otherwise), .conditional(let right, let rightThen, let rightElse)):
            left.isIdentical(to: right) && then.isIdentical(to: rightThen) && otherwise.isIdentical(to: rightElse)
        case (.subquery(let left, let leftName, let leftCondition), .subquery(let right, let rightName, let condition)):
            left == right && leftName == rightName && leftCondition.isIdentical(to: condition)
        case (.value, _), (.list, _), (.keyPath, _), (.evaluatedObject, _), (.variable, _), (.function, _),
            (.conditional, _), (.subquery, _):
            false
        }
    }

    private static func areIdentical(_ left: [FetchExpression], _ right: [FetchExpression]) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
    }
}

extension AttributeValue {
    /// Whether both are the same to the last bit; `false` for URIs and composites, which are not looked into.
    fileprivate func isIdentical(to other: AttributeValue) -> Bool {
        switch (self, other) {
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        case (.decimal(let left), .decimal(let right)): left == right && left.exponent == right.exponent
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.uri, _), (.composite, _): false
        default: self == other
        }
    }
}

extension String {
    /// Whether both have the same bytes: `==` holds two spellings of "é" for one text.
    func hasSameBytes(as other: String) -> Bool {
        guard self == other, utf8.count == other.utf8.count else { return false }
        // A text with as many bytes as UTF-16 units is ASCII, and no other text of as many bytes equals it.
        return utf8.count == utf16.count || utf8.elementsEqual(other.utf8)
    }
}

/// A hash of a condition, or of the parts of a request, that says whether its resolved form is worth keeping.
struct RequestFingerprint {
    /// The size of the largest condition whose form is kept, in bytes: its constants, and `partSize` for each part.
    static let sizeMax = 4096
    private static let partSize = 16

    private var hasher = Hasher()
    private var size = 0
    private var isRefused = false

    init() {}

    /// The hash; `nil` if the form is not worth keeping.
    var hash: Int? { isKeepable ? hasher.finalize() : nil }

    private var isKeepable: Bool { !isRefused && size <= Self.sizeMax }

    /// Adds the entity of a request.
    mutating func add(_ entity: Entity) { hasher.combine(entity.index) }

    /// Adds a sort key; a request with an order by expressions is refused, because these have constants, too.
    mutating func add(_ key: SortKey) {
        size += Self.partSize
        if key.expression != nil { isRefused = true }
        hasher.combine(key.keyPath)
        hasher.combine(key.isAscending)
        hasher.combine(key.options)
    }

    /// Adds a condition; one that is too large is left after a part of it.
    mutating func add(_ predicate: FetchPredicate) {
        size += Self.partSize
        guard isKeepable else { return }
        switch predicate {
        case .constant(let truth): hasher.combine(truth)
        case .comparison(let comparison): add(comparison)
        case .and(let predicates):
            hasher.combine(predicates.count)
            add(predicates)
        case .or(let predicates):
            hasher.combine(-predicates.count)
            add(predicates)
        case .not(let predicate):
            hasher.combine(0)
            add(predicate)
        }
    }

    private mutating func add(_ predicates: [FetchPredicate]) {
        for predicate in predicates {
            guard isKeepable else { return }
            add(predicate)
        }
    }

    private mutating func add(_ comparison: FetchPredicate.Comparison) {
        // The answers of a pattern's properties have a lock, for which the contexts that share the form would wait.
        if comparison.operator == .matches { isRefused = true }
        hasher.combine(comparison.operator)
        hasher.combine(comparison.modifier)
        hasher.combine(comparison.options)
        add(comparison.left)
        add(comparison.right)
    }

    private mutating func add(_ expression: FetchExpression) {
        size += Self.partSize
        guard isKeepable else { return }
        switch expression {
        case .value(let value): add(value)
        case .list(let elements): add(elements)
        case .keyPath(let path): hasher.combine(path)
        case .evaluatedObject: hasher.combine(1)
        case .variable(let name): hasher.combine(name)
        case .function(let name, let arguments):
            hasher.combine(name)
            add(arguments)
        case .conditional(let condition, let first, let second):
            add(condition)
            add(first)
            add(second)
        case .subquery(let path, let name, let condition):
            hasher.combine(path)
            hasher.combine(name)
            add(condition)
        }
    }

    private mutating func add(_ expressions: [FetchExpression]) {
        hasher.combine(expressions.count)
        for expression in expressions {
            guard isKeepable else { return }
            add(expression)
        }
    }

    private mutating func add(_ value: AttributeValue) {
        switch value {
        case .string(let text): size += text.utf8.count
        case .binary(let data), .transformable(let data): size += data.count
        case .uri, .composite: isRefused = true
        case .null, .integer, .decimal, .double, .float, .boolean, .date, .uuid, .objectID: break
        }
        if isKeepable { hasher.combine(value) }
    }
}
