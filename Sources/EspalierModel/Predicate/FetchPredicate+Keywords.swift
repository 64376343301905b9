// The words of the grammar for operators, modifiers and options: used by parser, printer and messages alike.

extension FetchPredicate.Comparison.Operator {
    /// The operator as the printer writes it.
    package var keyword: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .lessThan: "<"
        case .lessThanOrEqual: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqual: ">="
        case .between: "BETWEEN"
        case .in: "IN"
        case .contains: "CONTAINS"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .like: "LIKE"
        case .matches: "MATCHES"
        }
    }
}

extension FetchPredicate.Comparison.Options {
    /// The options as they stand behind an operator: `[cd]`, or nothing.
    package var suffix: String {
        let letters: [(FetchPredicate.Comparison.Options, String)] = [
            (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
        ]
        let present = letters.filter { contains($0.0) }.map(\.1).joined()
        return present.isEmpty ? "" : "[\(present)]"
    }
}
