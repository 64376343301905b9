// The words of the grammar for operators, modifiers and options, shared by the parser, the printer and messages.

extension FetchPredicate.Comparison.Operator {
    /// The operator in the printer's spelling.
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
    /// The options in the spelling after an operator: `[cd]`, or empty.
    package var suffix: String {
        let letters: [(FetchPredicate.Comparison.Options, String)] = [
            (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
            (.wholeCharacters, "w"),
        ]
        let present = letters.filter { contains($0.0) }.map(\.1).joined()
        return present.isEmpty ? "" : "[\(present)]"
    }
}
