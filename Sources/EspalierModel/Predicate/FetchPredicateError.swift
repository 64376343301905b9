// Everything that can be wrong with a predicate or a sort key: facts in cases, text in one place.

/// Why a predicate cannot be read, or does not fit the entity it is asked of.
public struct FetchPredicateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// The text has something else than the grammar expects.
        case unexpected(found: String, expected: String)
        /// A string, list or parenthesis that begins here never ends.
        case unterminated(String)
        /// A `\` is followed by something that is no escape.
        case invalidEscape(String)
        /// Parentheses, functions or operators are nested too deeply.
        case tooDeep(limit: Int)
        /// The grammar knows it, but it cannot be evaluated here.
        case unsupported(String, instead: String)
        /// A placeholder has no argument.
        case missingArgument(placeholder: String, argumentCount: Int)
        /// There are more arguments than placeholders.
        case surplusArguments(used: Int, given: Int)
        /// An argument does not fit its placeholder.
        case wrongArgument(placeholder: String, found: String, expected: String)
        /// There is no function of this name.
        case unknownFunction(String)
        /// A function has another number of arguments.
        case argumentCount(function: String, found: Int, expected: Int)
        /// A variable was never bound.
        case unboundVariable(String)
        /// The entity has no property of this name.
        case unknownProperty(String, entity: String)
        /// The property belongs to a subentity only.
        case propertyOfSubentity(String, entity: String, subentity: String)
        /// The property is never stored, so nothing can be fetched by it (PX-02).
        case transientProperty(String, entity: String)
        /// The path goes on after an attribute.
        case pathBeyondAttribute(String, next: String)
        /// There is no collection operator of this name, or it stands where there is no collection.
        case collectionOperator(String, problem: String)
        /// A path leads to many values where one is needed (PR-10).
        case toManyPath(String, advice: String)
        /// ANY, ALL or NONE in front of one value.
        case modifierWithoutCollection(String)
        /// An operand is of a type that the other side or the operator does not take.
        case typeMismatch(found: String, expected: String)
        /// The text after MATCHES is no regular expression.
        case invalidPattern(String, problem: String)
        /// A text took more steps to be tried against the pattern after MATCHES than one text may cost.
        case patternTooSlow(String, stepCountMax: Int)
    }

    private struct Facts: Hashable, Sendable {
        let reason: Reason
        let text: String?
        let column: Int?
        let suggestion: String?
        /// What the error is about, in words.
        var subject = "predicate"
    }

    /// One reference, so that the many functions that can throw this keep small stack frames.
    private indirect enum Box: Hashable, Sendable {
        case facts(Facts)
    }

    private var box: Box

    package init(_ reason: Reason, text: String? = nil, column: Int? = nil, suggestion: String? = nil) {
        box = .facts(Facts(reason: reason, text: text, column: column, suggestion: suggestion))
    }

    private var facts: Facts {
        switch box {
        case .facts(let facts): facts
        }
    }

    /// What is wrong.
    public var reason: Reason { facts.reason }
    /// The text of the predicate, if it was made of text.
    public var text: String? { facts.text }
    /// Where in `text`: the 1-based position in characters.
    public var column: Int? { facts.column }
    /// What may have been meant.
    public var suggestion: String? { facts.suggestion }

    /// The same error, of a sort key.
    func inSortKey(_ keyPath: FetchKeyPath) -> FetchPredicateError {
        var facts = facts
        facts.subject = "sort key '\(keyPath.components.joined(separator: "."))'"
        var error = self
        error.box = .facts(facts)
        return error
    }

    /// What is wrong, where, and what would be right; with a caret below the text if there is text.
    public var description: String {
        var description = facts.subject + (column.map { ", column \($0)" } ?? "") + ": " + reason.description
        if let suggestion { description += "; did you mean '\(suggestion)'?" }
        if let text, let column { description += "\n" + FetchPredicateError.excerpt(of: text, column: column) }
        return description
    }

    /// The line of `text` that holds `column`, with a caret below; long lines are cut on both sides.
    private static func excerpt(of text: String, column: Int) -> String {
        let characters = Array(text)
        let position = min(max(column - 1, 0), characters.count)
        let lineStart = (characters[..<position].lastIndex(where: \.isNewline) ?? -1) + 1
        let lineEnd = characters[position...].firstIndex(where: \.isNewline) ?? characters.count
        let (start, end) = (max(lineStart, position - 60), min(lineEnd, position + 60))
        let (before, after) = (start > lineStart ? "…" : "", end < lineEnd ? "…" : "")
        let caretOffset = before.count + position - start
        return "  " + before + String(characters[start..<end]) + after + "\n  "
            + String(repeating: " ", count: caretOffset) + "^"
    }
}

extension FetchPredicateError.Reason: CustomStringConvertible {
    /// What is wrong and what would be right.
    public var description: String {
        switch self {
        case .unexpected(let found, let expected): "found \(found), expected \(expected)"
        case .unterminated(let what): "this \(what) never ends"
        case .invalidEscape(let escape):
            "'\(escape)' is no escape; known are \\\\ \\\" \\' \\n \\r \\t and \\u with four hexadecimal digits"
        case .tooDeep(let limit): "nested more than \(limit) levels deep"
        case .unsupported(let what, let instead): "\(what) is not supported; \(instead)"
        case .missingArgument(let placeholder, let count):
            "no argument for \(placeholder): only \(count) given"
        case .surplusArguments(let used, let given):
            "\(given) arguments given, but the text has placeholders for \(used)"
        case .wrongArgument(let placeholder, let found, let expected):
            "the argument for \(placeholder) is \(found), expected \(expected)"
        case .unknownFunction(let name): "there is no function '\(name)'"
        case .argumentCount(let function, let found, let expected):
            "function '\(function)' takes \(expected) argument\(expected == 1 ? "" : "s"), not \(found)"
        case .unboundVariable(let name): "variable $\(name) is not bound; bind it with withSubstitutionVariables"
        case .unknownProperty(let name, let entity): "entity '\(entity)' has no property '\(name)'"
        case .propertyOfSubentity(let name, let entity, let subentity):
            "entity '\(entity)' has no property '\(name)', only its subentity '\(subentity)' has; fetch that one"
        case .transientProperty(let name, let entity):
            "'\(entity).\(name)' is never stored, so objects cannot be found or sorted by it"
        case .pathBeyondAttribute(let name, let next): "'\(name)' is an attribute; there is no '\(next)' in it"
        case .collectionOperator(let name, let problem): "collection operator '\(name)': \(problem)"
        case .toManyPath(let path, let advice): "'\(path)' leads to many values; \(advice)"
        case .modifierWithoutCollection(let modifier):
            "\(modifier) needs a to-many key path or a list on the left; leave it out for a single value"
        case .typeMismatch(let found, let expected): "found \(found), expected \(expected)"
        case .invalidPattern(let pattern, let problem): "\"\(pattern)\" is no regular expression: \(problem)"
        case .patternTooSlow(let pattern, let stepCountMax):
            "\"\(pattern.count > 200 ? pattern.prefix(200) + "…" : pattern)\" takes more than \(stepCountMax) steps on "
                + "one text; use a simpler pattern without groups that are repeated within repeats or referred back to"
        }
    }
}
