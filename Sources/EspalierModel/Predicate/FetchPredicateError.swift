// The errors of predicates and sort keys: facts in cases, all wording in one place.

/// The reason why a predicate cannot be parsed, or does not fit its entity.
public struct FetchPredicateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors, with their facts.
    public enum Reason: Hashable, Sendable {
        /// The text does not have what the grammar expects.
        case unexpected(found: String, expected: String)
        /// A string, list or parenthesis that begins at the column has no end.
        case unterminated(String)
        /// A `\` is followed by characters that are not an escape.
        case invalidEscape(String)
        /// Parentheses, functions or operators are nested too deeply.
        case tooDeep(limit: Int)
        /// The grammar contains it, but Espalier cannot evaluate it.
        case unsupported(String, instead: String)
        /// An expression of a typed predicate has no counterpart in a fetch.
        case untranslatable(String, because: String)
        /// A placeholder has no argument.
        case missingArgument(placeholder: String, argumentCount: Int)
        /// There are more arguments than placeholders.
        case surplusArguments(used: Int, given: Int)
        /// An argument does not fit its placeholder.
        case wrongArgument(placeholder: String, found: String, expected: String)
        /// No function has this name.
        case unknownFunction(String)
        /// A function has the wrong number of arguments.
        case argumentCount(function: String, found: Int, expected: Int)
        /// A variable was not bound to a value.
        case unboundVariable(String)
        /// The entity has no property with this name.
        case unknownProperty(String, entity: String)
        /// Only a subentity has the property.
        case propertyOfSubentity(String, entity: String, subentity: String)
        /// The property is not stored, so it cannot be fetched by (PX-02).
        case transientProperty(String, entity: String)
        /// The property is a fetched one, which has no rows to find objects by (FR-24).
        case fetchedProperty(String, entity: String)
        /// A variable of a fetched property has no such part (PR-15).
        case unknownVariablePart(String, known: [String])
        /// The path continues after an attribute.
        case pathBeyondAttribute(String, next: String)
        /// No collection operator has this name, or it is used without a collection.
        case collectionOperator(String, problem: String)
        /// A path leads to many values where one value is needed (PR-10).
        case toManyPath(String, advice: String)
        /// ANY, ALL or NONE is used with a single value.
        case modifierWithoutCollection(String)
        /// The type of an operand does not fit the other side or the operator.
        case typeMismatch(found: String, expected: String)
        /// The text after MATCHES is not a valid regular expression.
        case invalidPattern(String, problem: String)
        /// Matching a text against the pattern after MATCHES exceeded the limit of steps for one text.
        case patternTooSlow(String, stepCountMax: Int)
        /// A value of a group is neither one of the group's properties nor an aggregate (FR-13).
        case notGrouped(String)
        /// Distinct rows cannot be sorted by a value that is not one of their columns (FR-12).
        case notFetched(String)
        /// A condition on groups without groups (FR-13).
        case havingWithoutGroups
        /// Two columns have one name.
        case repeatedColumn(String)
        /// An aggregate over objects within another one, or where no group exists yet.
        case misplacedAggregate(String)
    }

    private struct Facts: Hashable, Sendable {
        let reason: Reason
        let text: String?
        let column: Int?
        let suggestion: String?
        /// The subject of the error, in words.
        var subject = "predicate"
        /// The file and line at which a typed predicate was passed.
        var place: String?
    }

    /// A single reference, so that the many functions that can throw this error keep small stack frames.
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

    /// The kind of the error.
    public var reason: Reason { facts.reason }
    /// The text of the predicate, if it was parsed from text.
    public var text: String? { facts.text }
    /// The 1-based column in `text`, in characters.
    public var column: Int? { facts.column }
    /// The name that was probably meant.
    public var suggestion: String? { facts.suggestion }

    /// The file and line, as in `Music/Albums.swift:12`, at which a typed predicate, sort key or path was passed.
    public var place: String? { facts.place }

    /// The subject of the error, in words: "predicate", "sort key 'name'", "column 'total'".
    public var subject: String { facts.subject }

    /// An error in a typed predicate, sort key or path.
    package init(_ reason: Reason, subject: String, fileID: String, line: Int) {
        var facts = Facts(reason: reason, text: nil, column: nil, suggestion: nil)
        (facts.subject, facts.place) = (subject, "\(fileID):\(line)")
        box = .facts(facts)
    }

    /// The same error with a sort key as its subject.
    func inSortKey(_ key: SortKey) -> FetchPredicateError { about("sort key '\(key.text)'") }

    /// The same error about another subject, in words.
    func about(_ subject: String) -> FetchPredicateError {
        var facts = facts
        facts.subject = subject
        var error = self
        error.box = .facts(facts)
        return error
    }

    /// The error with its place and remedy; if there is a text, it is shown with a caret below it.
    public var description: String {
        var description = facts.subject + (column.map { ", column \($0)" } ?? "") + (place.map { " at \($0)" } ?? "")
        description += ": " + reason.description
        if let suggestion { description += "; did you mean '\(suggestion)'?" }
        if let text, let column { description += "\n" + FetchPredicateError.excerpt(of: text, column: column) }
        return description
    }

    /// The line of `text` that contains `column`, with a caret below; long lines are cut on both sides.
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
    /// The error and its remedy.
    public var description: String {
        switch self {
        case .unexpected(let found, let expected): "found \(found), expected \(expected)"
        case .unterminated(let what): "this \(what) has no end"
        case .invalidEscape(let escape):
            "'\(escape)' is not an escape; the escapes are \\\\ \\\" \\' \\n \\r \\t and \\u with four hexadecimal "
                + "digits"
        case .tooDeep(let limit): "nested more than \(limit) levels deep"
        case .unsupported(let what, let instead): "\(what) is not supported; \(instead)"
        case .untranslatable(let expression, let reason): "\(expression) cannot be part of a fetch: \(reason)"
        case .missingArgument(let placeholder, let count):
            "\(placeholder) has no argument: the call passes only \(count)"
        case .surplusArguments(let used, let given):
            "the call passes \(given) arguments, but the text has placeholders for \(used)"
        case .wrongArgument(let placeholder, let found, let expected):
            "the argument for \(placeholder) is \(found), expected is \(expected)"
        case .unknownFunction(let name): "there is no function '\(name)'"
        case .argumentCount(let function, let found, let expected):
            "function '\(function)' takes \(expected) argument\(expected == 1 ? "" : "s"), not \(found)"
        case .unboundVariable(let name): "variable $\(name) is not bound; bind it with withSubstitutionVariables"
        case .unknownProperty(let name, let entity): "entity '\(entity)' has no property '\(name)'"
        case .propertyOfSubentity(let name, let entity, let subentity):
            "entity '\(entity)' has no property '\(name)', but its subentity '\(subentity)' has; fetch that entity"
        case .transientProperty(let name, let entity):
            "'\(entity).\(name)' is not stored, because it is transient, so a fetch cannot find or sort objects by it; "
                + "fetch the objects, and filter or sort them in memory"
        case .fetchedProperty(let name, let entity):
            "'\(entity).\(name)' is a fetched property: read it, and use its objects as an argument"
        case .unknownVariablePart(let path, let known):
            "\(path) does not exist; the variable has \(known.joined(separator: ", "))"
        case .pathBeyondAttribute(let name, let next): "'\(name)' is an attribute and has no '\(next)'"
        case .collectionOperator(let name, let problem): "collection operator '\(name)': \(problem)"
        case .toManyPath(let path, let advice): "'\(path)' leads to many values; \(advice)"
        case .modifierWithoutCollection(let modifier):
            "\(modifier) needs a to-many key path or a list on the left; leave \(modifier) out for a single value"
        case .typeMismatch(let found, let expected): "found \(found), expected \(expected)"
        case .invalidPattern(let pattern, let problem): "\"\(pattern)\" is not a valid regular expression: \(problem)"
        case .patternTooSlow(let pattern, let stepCountMax):
            "\"\(pattern.count > 200 ? pattern.prefix(200) + "…" : pattern)\" takes more than \(stepCountMax) steps on "
                + "one text; use a simpler pattern without repeats inside repeated groups and without back references"
        case .notGrouped(let name):
            "\(name) is neither a property of the groups nor an aggregate: group by it, or use an aggregate of it"
        case .notFetched(let name):
            "\(name) is not one of the columns, so equal rows have no single value of it; add it to the columns"
        case .havingWithoutGroups:
            "a condition on groups needs properties to group by; conditions on objects belong to the predicate"
        case .repeatedColumn(let name): "two columns are named '\(name)'; give one of them another name"
        case .misplacedAggregate(let name):
            "\(name) is an aggregate over objects, which is possible in columns and in conditions on groups only"
        }
    }
}
