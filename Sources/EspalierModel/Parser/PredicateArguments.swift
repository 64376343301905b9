// The arguments of a format string, assigned to its placeholders in order (Behaviour PR-02).

/// The arguments that are not used yet.
struct PredicateArguments {
    private let arguments: [FetchExpression]
    private var used = 0

    init(_ arguments: [FetchExpression]) { self.arguments = arguments }

    /// The problem if some arguments were not used; otherwise `nil`.
    var surplus: FetchPredicateError.Reason? {
        used < arguments.count ? .surplusArguments(used: used, given: arguments.count) : nil
    }

    /// The argument for `placeholder`: `%K` requires a name, number formats require numbers.
    mutating func next(for placeholder: String) throws(PredicateArgumentProblem) -> FetchExpression {
        guard used < arguments.count else {
            throw .init(reason: .missingArgument(placeholder: placeholder, argumentCount: arguments.count))
        }
        let argument = arguments[used]
        used += 1
        if placeholder.last != "K", ParsedFormats.isPlace(argument) { return argument }
        let found = PredicateArguments.description(of: argument)
        switch placeholder.last {
        case "@": return argument
        case "K":
            if case .keyPath = argument { return argument }
            guard case .value(.string(let path)) = argument, let keyPath = PredicateArguments.keyPath(path) else {
                throw .init(
                    reason: .wrongArgument(
                        placeholder: placeholder, found: found, expected: "a key path such as \"artist.name\""))
            }
            return .keyPath(keyPath)
        case "d", "i", "u", "o", "x", "X", "D", "U":
            if case .value(.integer) = argument { return argument }
            throw .init(reason: .wrongArgument(placeholder: placeholder, found: found, expected: "a whole number"))
        case "s", "S", "c":
            if case .value(.string) = argument { return argument }
            throw .init(reason: .wrongArgument(placeholder: placeholder, found: found, expected: "text"))
        default:
            if case .value(let value) = argument, value.number != nil { return argument }
            throw .init(reason: .wrongArgument(placeholder: placeholder, found: found, expected: "a number"))
        }
    }

    /// The key path that `text` spells; `nil` if a component is empty.
    private static func keyPath(_ text: String) -> FetchKeyPath? {
        let components = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return components.contains("") ? nil : FetchKeyPath(components)
    }

    private static func description(of argument: FetchExpression) -> String {
        switch argument {
        case .value(let value): value.kindDescription
        case .list: "a list"
        case .keyPath: "a key path"
        case .evaluatedObject, .variable, .function, .conditional, .subquery: "an expression"
        }
    }
}

/// A missing argument or one of the wrong kind; the parser adds the column.
struct PredicateArgumentProblem: Error {
    let reason: FetchPredicateError.Reason
}
