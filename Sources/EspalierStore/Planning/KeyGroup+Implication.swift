// When a fetch may use an index with a condition: only if its own conditions require the same.
//
// Rules
//   1. Each part of the index's condition is one of the fetch's conditions, as written; or it is `x != nil`, and a
//      condition of the fetch compares x with a constant in a way that fails for null.
//   2. An index of an older library whose condition has answers that cannot be kept is left out: a row for which there
//      was no answer has no entry.

internal import EspalierModel

extension KeyGroup {
    /// The positions of the conditions that every entry passes because the index has a condition; `nil` if rows that
    /// pass the conditions may have no entry.
    func implied(by conditions: [ResolvedPredicate.Node]) -> [Int]? {
        guard let condition else { return [] }
        guard isReliable else { return nil }
        var answered: [Int] = []
        for part in condition.root.conditions {
            if let position = conditions.firstIndex(where: { $0.isSame(as: part) }) {
                answered.append(position)
            } else {
                guard let property = part.propertyWithValue,
                    conditions.contains(where: { $0.fails(forNull: property) })
                else { return nil }
            }
        }
        return answered
    }
}

extension ResolvedPredicate.Node {
    /// Whether both are the same condition.
    fileprivate func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.constant(let left), .constant(let right)): left == right
        case (.not(let left), .not(let right)): left.isSame(as: right)
        case (.and(let left), .and(let right)), (.or(let left), .or(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.comparison(let left), .comparison(let right)):
            left.operator == right.operator && left.modifier == right.modifier && left.options == right.options
                && left.left == right.left && left.right == right.right
        case (.constant, _), (.not, _), (.and, _), (.or, _), (.comparison, _): false
        }
    }

    /// The path that must not be null, if the condition is `path != nil`.
    fileprivate var propertyWithValue: ResolvedKeyPath? {
        let comparison: ResolvedComparison
        switch self {
        case .comparison(let found): comparison = found
        case .not(.comparison(let found)):
            guard found.operator == .equal, found.modifier == .direct, case .path(let path) = found.left,
                case .value(.null) = found.right
            else { return nil }
            return path
        default: return nil
        }
        guard comparison.operator == .notEqual, comparison.modifier == .direct, case .path(let path) = comparison.left,
            case .value(.null) = comparison.right
        else { return nil }
        return path
    }

    /// Whether the condition fails if the value at a path is null.
    fileprivate func fails(forNull property: ResolvedKeyPath) -> Bool {
        guard case .comparison(let comparison) = self, comparison.modifier == .direct,
            case .path(property) = comparison.left
        else { return false }
        switch comparison.right {
        case .value, .values: return !comparison.passesNull
        default: return false
        }
    }
}
