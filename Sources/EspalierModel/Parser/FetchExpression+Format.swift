// Makes expressions from format strings.

extension FetchExpression {
    /// Parses the expression `format` in Core Data's predicate language.
    ///
    ///     try FetchExpression(format: "price * 1.2 + %@", surcharge)
    ///
    /// - Throws: `FetchPredicateError` with the column, the text found there and the text expected.
    /// - Complexity: O(length of the text).
    public init(format: String, _ arguments: (any PredicateArgument)?...) throws(FetchPredicateError) {
        var parser = try PredicateParser(
            format, arguments: arguments.map { $0?.predicateExpression ?? .value(.null) })
        self = try parser.parseExpression()
    }
}
