// Predicates as values: the conditions of a fetch on each object, before they are bound to an entity.
//
// Invariants
//   1. A predicate contains only names; they are looked up in a model when a `ResolvedPredicate` is made.
//   2. Source columns are for messages; equality and hashing ignore them.
// Not here: parsing of format strings (PredicateParser), evaluation (ResolvedPredicate).

/// A condition on objects (Behaviour PR-01 to PR-18).
public indirect enum FetchPredicate: Sendable, Hashable {
    /// TRUEPREDICATE or FALSEPREDICATE.
    case constant(Bool)
    /// A comparison of two expressions.
    case comparison(Comparison)
    /// True if all conditions are true; `and([])` is true.
    case and([FetchPredicate])
    /// True if any condition is true; `or([])` is false.
    case or([FetchPredicate])
    /// True if the condition is false.
    case not(FetchPredicate)

    /// A comparison of two expressions.
    public struct Comparison: Sendable, Hashable {
        /// The comparison operators.
        public enum Operator: Sendable, Hashable, CaseIterable {
            case equal, notEqual, lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
            case between, `in`, contains, beginsWith, endsWith, like, matches
        }
        /// The treatment of a to-many key path on the left side (PR-10).
        public enum Modifier: Sendable, Hashable {
            case direct, any, all, none
        }
        /// The options for comparing text.
        public typealias Options = ComparisonOptions
        /// The left side.
        public var left: FetchExpression
        /// The operator.
        public var `operator`: Operator
        /// The right side.
        public var right: FetchExpression
        /// The modifier.
        public var modifier: Modifier
        /// The options.
        public var options: Options
        /// The columns of the sides in the text that the comparison was parsed from; for messages.
        package var places = ComparisonPlaces()

        /// Makes a comparison of two expressions.
        public init(
            _ left: FetchExpression, _ operator: Operator, _ right: FetchExpression, modifier: Modifier = .direct,
            options: Options = []
        ) {
            self.left = left
            self.operator = `operator`
            self.right = right
            self.modifier = modifier
            self.options = options
        }
    }
}

/// The columns of the sides of a comparison in its text; equality and hashing ignore them.
package struct ComparisonPlaces: Sendable, Hashable {
    /// The text; `nil` for a comparison made in code.
    package var text: String?
    /// The column of the left side.
    package var left = 0
    /// The column of the right side.
    package var right = 0

    /// Places without a text.
    package init() {}
    /// Any two are equal.
    package static func == (left: ComparisonPlaces, right: ComparisonPlaces) -> Bool { true }
    /// Hashes nothing.
    package func hash(into hasher: inout Hasher) {}
}

/// An operand of a comparison.
public indirect enum FetchExpression: Sendable, Hashable {
    /// A constant.
    case value(AttributeValue)
    /// `{a, b, c}`: a list of constants, or the two bounds of BETWEEN.
    case list([FetchExpression])
    /// A property, or a path of properties across relationships.
    case keyPath(FetchKeyPath)
    /// SELF: the object being tested.
    case evaluatedObject
    /// `$name`: bound before the predicate is used (PR-03).
    case variable(String)
    /// A function of other expressions, by the name of the grammar (`add:to:`, `uppercase`, `count` ...).
    case function(String, [FetchExpression])
    /// `TERNARY(condition, then, else)`.
    case conditional(FetchPredicate, FetchExpression, FetchExpression)
    /// `SUBQUERY(collection, $variable, predicate)`.
    case subquery(FetchKeyPath, variable: String, FetchPredicate)
}

/// A path of property names, with the operators of the grammar (`@count`) as components.
public struct FetchKeyPath: Sendable, Hashable {
    /// The names of the path.
    public let components: [String]
    /// The 1-based column of each component in `text`; empty if there is no text.
    public let columns: [Int]
    /// The text that contained the path; for messages.
    package let text: String?

    /// Makes a path in code; `SELF` and `$variable` may be its first component.
    public init(_ components: [String]) { (self.components, columns, text) = (components, [], nil) }

    /// Makes a path that was parsed from a text.
    package init(_ components: [String], columns: [Int], in text: String) {
        (self.components, self.columns, self.text) = (components, columns, text)
    }

    /// Whether the components are equal; columns and text are ignored.
    public static func == (left: FetchKeyPath, right: FetchKeyPath) -> Bool { left.components == right.components }
    /// Hashes the components.
    public func hash(into hasher: inout Hasher) { hasher.combine(components) }
}
