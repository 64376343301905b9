// Parses the words after a verb: positional arguments and options, each checked against the verb's usage.
//
// Invariants
//   1. Parsing succeeds only if every word was understood; no word is ignored.
//   2. Options may be anywhere; `--name value` and `--name=value` are equal; after `--` all words are positional.

/// The checked arguments of a verb.
struct Arguments: Sendable {
    /// The positional arguments by placeholder.
    fileprivate(set) var positional: [String: String] = [:]
    /// The texts of the options by name; a flag's text is empty.
    fileprivate(set) var options: [String: String] = [:]

    /// The positional argument called `name`, if it was given.
    subscript(_ name: String) -> String? { positional[name] }

    /// The positional argument called `name`, which the verb declares as required.
    func required(_ name: String) -> String {
        guard let text = positional[name] else { preconditionFailure("\(name) is not a required parameter") }
        return text
    }

    /// Whether the flag called `name` was given.
    func flag(_ name: String) -> Bool { options[name] != nil }
    /// The number of the option called `name`, if it was given.
    func integer(_ name: String) -> Int? { options[name].flatMap { Int($0) } }
    /// The text of the option called `name`, if it was given.
    func text(_ name: String) -> String? { options[name] }
    /// Whether results are wanted as JSON.
    var wantsJSON: Bool { flag(Usage.Option.json.name) }
}

/// Parses the words after a verb.
struct ArgumentParser {
    private let usage: Usage

    /// A parser for one verb.
    init(_ usage: Usage) { self.usage = usage }

    /// Parses `words`.
    ///
    /// - Throws: `ToolError.usage` for the first word that does not fit, or for a required argument that is missing.
    func parse(_ words: [String]) throws(ToolError) -> Arguments {
        var arguments = Arguments()
        var positional: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                positional += rest
                break
            }
            if word.hasPrefix("-"), word.count > 1 {
                try parseOption(word, &rest, into: &arguments)
            } else {
                positional.append(word)
            }
        }
        try assign(positional, to: &arguments)
        return arguments
    }

    private func parseOption(
        _ word: String, _ rest: inout ArraySlice<String>, into arguments: inout Arguments
    ) throws(ToolError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts[0]
        guard let option = usage.options.first(where: { $0.name == name }) else {
            let names = usage.options.map(\.name) + ["--help"]
            throw error("unknown option '\(name)'", suggestion: Suggestion.closest(to: name, among: names))
        }
        guard arguments.options[name] == nil else { throw error("\(name) is given twice") }
        switch option.value {
        case .none:
            guard parts.count == 1 else { throw error("\(name) takes no value, but was given '\(parts[1])'") }
            arguments.options[name] = ""
        case .integer(let range):
            let text = try value(of: option, parts, &rest)
            guard let number = Int(text), range.contains(number) else {
                throw error("\(name) needs a whole number \(Self.describe(range)), not '\(text)'")
            }
            arguments.options[name] = String(number)
        case .text:
            arguments.options[name] = try value(of: option, parts, &rest)
        }
    }

    private func value(
        of option: Usage.Option, _ parts: [String], _ rest: inout ArraySlice<String>
    ) throws(ToolError) -> String {
        if parts.count == 2 { return parts[1] }
        guard let next = rest.popFirst() else {
            throw error("\(option.name) needs a value: \(option.synopsis)")
        }
        return next
    }

    private func assign(_ words: [String], to arguments: inout Arguments) throws(ToolError) {
        for (parameter, word) in zip(usage.parameters, words) { arguments.positional[parameter.name] = word }
        if words.count > usage.parameters.count {
            let surplus = words[usage.parameters.count]
            let takesPredicate = usage.parameters.contains { $0.name == "PREDICATE" }
            throw error(
                "unexpected argument '\(surplus)'" + (takesPredicate ? "; quote a predicate as one argument" : ""))
        }
        if let missing = usage.parameters.dropFirst(words.count).first(where: \.isRequired) {
            throw error("\(missing.name) is missing: \(missing.summary)")
        }
    }

    private func error(_ message: String, suggestion: String? = nil) -> ToolError {
        .usage(
            UsageError(
                message: message, suggestion: suggestion,
                hint: "usage: \(usage.synopsis)\n'dbtool help \(usage.name)' explains it with examples"))
    }

    private static func describe(_ range: ClosedRange<Int>) -> String {
        range.upperBound == .max ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
    }
}
