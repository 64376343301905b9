// Caches parsed format strings, so that an application that repeats a request does not wait for the parser.
//
// Invariants
//   1. For other arguments of the same kinds, a cached template gives the same predicate as the parser. A format for
//      which this is not certain is not cached: one with a list or a key path as an argument.
//   2. At most `countMax` formats are cached; a full cache is emptied.

internal import Synchronization

enum ParsedFormats {
    static let countMax = 256

    /// A format string and the kinds of its arguments.
    private struct Format: Hashable {
        let text: String
        let kinds: [Int]

        /// Whether both are the same text, byte by byte: in two spellings of "é" the constants differ for `[n]`.
        static func == (left: Format, right: Format) -> Bool {
            left.kinds == right.kinds && left.text.hasSameBytes(as: right.text)
        }
    }

    private static let known = Mutex<[Format: FetchPredicate]>([:])

    /// The condition that a format string spells.
    static func predicate(
        _ text: String, _ arguments: [FetchExpression]
    ) throws(FetchPredicateError) -> FetchPredicate {
        guard let kinds = kinds(of: arguments) else { return try parsed(text, arguments) }
        let format = Format(text: text, kinds: kinds)
        let values = arguments.isEmpty ? [:] : Self.values(of: arguments)
        if let template = known.withLock({ $0[format] }) {
            return arguments.isEmpty ? template : filled(template, values)
        }
        let predicate = try parsed(text, arguments)
        // A template is valid if it gives the parser's result for these arguments.
        let places = arguments.indices.map { FetchExpression.variable(name(ofArgument: $0)) }
        guard let template = try? parsed(text, places), filled(template, values) == predicate else { return predicate }
        known.withLock { known in
            if known.count >= countMax { known.removeAll() }
            known[format] = template
        }
        return predicate
    }

    private static func parsed(
        _ text: String, _ arguments: [FetchExpression]
    ) throws(FetchPredicateError) -> FetchPredicate {
        assert(StepCount.note(text.utf8.count))
        var parser = try PredicateParser(text, arguments: arguments)
        return try parser.parse()
    }

    /// The kinds of the arguments; `nil` if one of them is not a value.
    private static func kinds(of arguments: [FetchExpression]) -> [Int]? {
        var kinds: [Int] = []
        for argument in arguments {
            guard case .value(let value) = argument else { return nil }
            // Some placeholders accept only whole numbers.
            if case .integer = value { kinds.append(-1) } else { kinds.append(value.kindRank) }
        }
        return kinds
    }

    /// The arguments by the variables that are their places in a template.
    private static func values(of arguments: [FetchExpression]) -> [FetchKeyPath: FetchExpression] {
        var values: [FetchKeyPath: FetchExpression] = [:]
        for (position, argument) in arguments.enumerated() {
            values[FetchKeyPath(["$" + name(ofArgument: position)])] = argument
        }
        return values
    }

    /// A template with arguments in their places; variables of the application stay.
    private static func filled(_ template: FetchPredicate, _ values: [FetchKeyPath: FetchExpression]) -> FetchPredicate
    {
        template.replacingVariablePaths { values[$0] }
    }

    /// Whether an expression is a template's place for an argument.
    static func isPlace(_ argument: FetchExpression) -> Bool {
        if case .variable(let name) = argument { name.hasPrefix("%") } else { false }
    }

    /// A name that a variable in a format string cannot have.
    private static func name(ofArgument position: Int) -> String { "%\(position)" }
}
