// A condition in the form that indexes understand: a path or an expression, and its values that pass.
//
// Rules
//   1. A condition becomes a term only if an object without a value at the end of the path fails it, or if the path is
//      a property of the object itself: an index does not list objects whose path ends early.
//   2. Text is only compared as indexes order it: without [n], and with [c] and [d] only for equality and prefixes, by
//      an index that ignores the same differences.
//   3. An expression becomes a term only if it is compared with constants. An index answers it if it has the same
//      expression, part by part: `price * 2` is another one than `2 * price`.

internal import EspalierModel

/// The values that pass an indexable condition.
enum PassingValues {
    /// One of these, ascending.
    case oneOf([AttributeValue])
    /// From a lower to an upper bound; `nil` = open. Null never passes.
    case between(lower: Bound?, upper: Bound?)
    /// Text that begins with this.
    case beginsWith(String)

    struct Bound {
        let value: AttributeValue
        let isIncluded: Bool
    }
}

/// One condition that an index, a primary key or a relationship may answer.
///
/// A class, because every index is tested against every term.
final class PlanTerm {
    /// The relationships from the object to the property.
    let steps: [ResolvedKeyPath.Step]
    /// The property at the end; `nil` for an expression.
    let terminal: ResolvedKeyPath.Terminal?
    /// The expression that is compared, in the place of a path.
    let expression: ResolvedExpression?
    /// The type of the constants with which the expression is compared, as an index of it has it; `nil` if they are
    /// all null.
    private let constantType: AttributeType?
    /// The values that pass; `nil` if only a test of each object at the end of the path can tell.
    let passing: PassingValues?
    /// The differences between texts that the condition ignores.
    let folding: ComparisonOptions
    /// The comparison as the object at the end of the path makes it, if there are steps and an attribute.
    let atEnd: ResolvedComparison?

    /// The term for `node`; `nil` if no index, primary key or relationship can answer it.
    init?(_ node: ResolvedPredicate.Node) {
        guard case .comparison(let comparison) = node else { return nil }
        folding = comparison.options.intersection([.caseInsensitive, .diacriticInsensitive])
        switch comparison.left {
        case .path(let path):
            guard path.base == .evaluatedObject, comparison.modifier == .direct || comparison.modifier == .any
            else { return nil }
            (steps, terminal, expression, constantType) = (path.steps, path.terminal, nil, nil)
            switch path.terminal {
            case .entityName: return nil
            case .attribute(_, let type, _):
                passing = Self.passing(comparison, type)
                atEnd = comparison.atEndOfPath
            case .object:
                passing = Self.passing(comparison, .objectID)
                atEnd = nil
            }
        case .function(.noIndex, _): return nil
        case .function, .conditional:
            guard comparison.modifier == .direct, let types = comparison.right.typesOfConstants, types.count <= 1
            else { return nil }
            (steps, terminal, expression, constantType) = ([], nil, comparison.left, types.first)
            passing = Self.passing(comparison, types.first ?? .undefined)
            atEnd = nil
        case .value, .values, .list, .aggregate, .subquery: return nil
        }
        guard passing != nil || atEnd != nil else { return nil }
        assert(
            (terminal == nil) != (expression == nil) && (expression == nil || steps.isEmpty),
            "a term compares a path of \(steps.count) steps or an expression, and not both")
        guard !steps.isEmpty else { return }
        // Rule 1. A to-one relationship itself may be null in an index on it.
        let isOwnRelationship = steps.count == 1 && !steps[0].isToMany && terminal == .object
        if !isOwnRelationship, comparison.passesNull { return nil }
    }

    /// Whether values of an expression of this type can be equal to the constants, or in one order with them.
    func compares(_ type: AttributeType) -> Bool { constantType == nil || constantType == type }

    private static func passing(_ comparison: ResolvedComparison, _ type: AttributeType) -> PassingValues? {
        if type == .string, !comparison.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) {
            guard comparison.options.isSubset(of: [.localeSensitive, .caseInsensitive, .diacriticInsensitive]),
                [.equal, .in, .beginsWith, .like].contains(comparison.operator)
            else { return nil }
        } else if type == .string || type == .uri {
            guard comparison.options.isSubset(of: [.localeSensitive]) else { return nil }
        }
        func accepted(_ value: AttributeValue) -> Bool { type.accepts(value) }
        switch (comparison.operator, comparison.right) {
        case (.equal, .value(let value)) where accepted(value): return .oneOf([value])
        case (.in, .values(let values)) where values.allSatisfy(accepted): return .oneOf(values)
        case (.beginsWith, .value(.string(let prefix))) where type == .string: return .beginsWith(prefix)
        // The text before the first wildcard; the pattern still has to be tested.
        case (.like, _) where type == .string: return comparison.requiredPrefix.map { .beginsWith($0) }
        case (_, .value(let value)) where accepted(value) && !value.isNull && type != .objectID && type != .composite:
            // A NaN is in no order with other values.
            if value.isNaN { return comparison.operator.isOrder ? .oneOf([]) : nil }
            let bound = PassingValues.Bound(
                value: value,
                isIncluded: comparison.operator == .lessThanOrEqual || comparison.operator == .greaterThanOrEqual)
            switch comparison.operator {
            case .lessThan, .lessThanOrEqual: return .between(lower: nil, upper: bound)
            case .greaterThan, .greaterThanOrEqual: return .between(lower: bound, upper: nil)
            default: return nil
            }
        case (.between, .values(let bounds))
        where bounds.count == 2 && bounds.allSatisfy { accepted($0) && !$0.isNull } && type != .objectID:
            if bounds.contains(where: \.isNaN) { return .oneOf([]) }
            return .between(
                lower: PassingValues.Bound(value: bounds[0], isIncluded: true),
                upper: PassingValues.Bound(value: bounds[1], isIncluded: true))
        default: return nil
        }
    }
}

extension ResolvedExpression {
    /// The types that indexes of expressions have for these constants, without null; `nil` for anything but constants
    /// that have one.
    fileprivate var typesOfConstants: Set<AttributeType>? {
        let constants: [AttributeValue]
        switch self {
        case .value(let value): constants = [value]
        case .values(let values): constants = values
        case .list, .path, .aggregate, .function, .conditional, .subquery: return nil
        }
        var types: Set<AttributeType> = []
        for constant in constants where !constant.isNull {
            guard let type = constant.typeInExpressionIndex else { return nil }
            types.insert(type)
        }
        return types
    }
}

extension AttributeValue {
    /// The type of the expressions of indexes that can have the value.
    fileprivate var typeInExpressionIndex: AttributeType? {
        switch self {
        case .integer, .double, .float, .decimal: .undefined
        case .string: .string
        case .boolean: .boolean
        case .date: .date
        case .binary: .binary
        case .uuid: .uuid
        case .uri: .uri
        case .null, .transformable, .objectID, .composite: nil
        }
    }
}

extension FetchPredicate.Comparison.Operator {
    /// Whether the operator is one of `<`, `<=`, `>` and `>=`.
    fileprivate var isOrder: Bool {
        self == .lessThan || self == .lessThanOrEqual || self == .greaterThan || self == .greaterThanOrEqual
    }
}
