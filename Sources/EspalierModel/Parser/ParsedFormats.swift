// Texts of predicates that were read lately, so that an application that asks the same again and again does not wait
// for the parser.
//
// Invariants
//   1. What is kept for a text gives, with other arguments of the same kinds in the places of the first ones, what the
//      parser gives. A text for which that cannot be said is not kept: where an argument is a list or a key path.
//   2. At most `countMax` texts are kept.

internal import Synchronization

enum ParsedFormats {
    static let countMax = 256

    /// A text, and what kinds of values stand for its placeholders.
    private struct Format: Hashable {
        let text: String
        let kinds: [Int]
    }

    private static let known = Mutex<[Format: FetchPredicate]>([:])

    /// The condition that a text spells.
    static func predicate(
        _ text: String, _ arguments: [FetchExpression]
    ) throws(FetchPredicateError) -> FetchPredicate {
        guard let kinds = kinds(of: arguments) else { return try parsed(text, arguments) }
        let format = Format(text: text, kinds: kinds)
        let values = arguments.isEmpty ? [:] : Self.values(of: arguments)
        if let template = known.withLock({ $0[format] }) {
            return arguments.isEmpty ? template : try template.substituting(values, bound: [])
        }
        let predicate = try parsed(text, arguments)
        // A template is as good as the parser, if it gives the same for these arguments.
        let places = arguments.indices.map { FetchExpression.variable(name(ofArgument: $0)) }
        guard let template = try? parsed(text, places), (try? template.substituting(values, bound: [])) == predicate
        else { return predicate }
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

    /// The kinds of values; `nil` if one is no value.
    private static func kinds(of arguments: [FetchExpression]) -> [Int]? {
        var kinds: [Int] = []
        for argument in arguments {
            guard case .value(let value) = argument else { return nil }
            // Placeholders tell whole numbers from others.
            if case .integer = value { kinds.append(-1) } else { kinds.append(value.kindRank) }
        }
        return kinds
    }

    private static func values(of arguments: [FetchExpression]) -> [String: FetchExpression] {
        var values: [String: FetchExpression] = [:]
        for (position, argument) in arguments.enumerated() { values[name(ofArgument: position)] = argument }
        return values
    }

    /// Whether an expression stands for an argument that is still to come.
    static func isPlace(_ argument: FetchExpression) -> Bool {
        if case .variable(let name) = argument { name.hasPrefix("%") } else { false }
    }

    /// No text of a predicate can name a variable so.
    private static func name(ofArgument position: Int) -> String { "%\(position)" }
}
