// Makes predicates from format strings, and replaces variables by values.

extension FetchPredicate {
    /// Parses the condition `format` in Core Data's predicate language.
    ///
    ///     try FetchPredicate(format: "name BEGINSWITH[c] %@ AND album.year BETWEEN %@", "the", 1970...1979)
    ///
    /// Placeholders: `%@` is a value, `%K` a key path, `%d %ld %f %s` ... values of that kind (PR-02). Placeholders
    /// within quotes are not replaced. An argument cannot change the meaning of the text around it.
    ///
    /// - Throws: `FetchPredicateError` with the column, the text found there and the text expected.
    /// - Complexity: O(length of the text); recently used formats are cached and not parsed again.
    public init(format: String, _ arguments: (any PredicateArgument)?...) throws(FetchPredicateError) {
        try self.init(format: format, argumentArray: arguments)
    }

    /// Parses the condition `format`, with its arguments in an array.
    ///
    /// - Throws: `FetchPredicateError` with the column, the text found there and the text expected.
    public init(format: String, argumentArray: [(any PredicateArgument)?]) throws(FetchPredicateError) {
        let expressions = argumentArray.map { $0?.predicateExpression ?? .value(.null) }
        self = try ParsedFormats.predicate(format, expressions)
    }

    /// The condition with `$name` replaced by the value of `name` everywhere (Behaviour PR-03).
    ///
    /// Variables that a SUBQUERY introduces are kept. A path such as `$owner.name` continues the path that is the value
    /// of `owner` (`FetchKeyPath`); of an object or another constant only the value as a whole is known here.
    ///
    /// - Throws: `FetchPredicateError` if a variable has no value, or if a path continues a value that is no path.
    public func withSubstitutionVariables(
        _ values: [String: any PredicateArgument]
    ) throws(FetchPredicateError) -> FetchPredicate {
        try replacingVariablePaths { path throws(FetchPredicateError) in
            let (name, rest) = (String(path.components[0].dropFirst()), Array(path.components.dropFirst()))
            guard let value = values[name]?.predicateExpression else {
                throw FetchPredicateError(
                    .unboundVariable(name), text: path.text, column: path.columns.first,
                    suggestion: NameSuggestion.nearest(to: name, among: values.keys.sorted()))
            }
            if rest.isEmpty { return value }
            switch value {
            case .keyPath(let beginning): return .keyPath(FetchKeyPath(beginning.components + rest))
            case .evaluatedObject: return .keyPath(FetchKeyPath(rest))
            default:
                throw FetchPredicateError(
                    .unsupported(
                        "'\(path.components.joined(separator: "."))', a path from the value of a variable,",
                        instead: "give the value at its end a variable of its own"),
                    text: path.text, column: path.columns.first)
            }
        }
    }
}
