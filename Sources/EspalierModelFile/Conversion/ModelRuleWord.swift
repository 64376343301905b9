// The rules of attributes in model files, in both directions: one word for each rule.
//
// Invariants
//   1. A rule that is written to a file and read again is equal.
//   2. A word has one meaning for each type: `minValueString` is a length of a text and a limit of a
//      number, and has no meaning for all other types.

import EspalierModel

/// The words of model files for rules of attributes; the raw value is the attribute's name in the file.
enum ModelRuleWord: String {
    case minValueString
    case maxValueString
    case minDateTimeInterval
    case maxDateTimeInterval
    case regularExpressionString
    /// In compiled models only: the predicates that are none of the rules above, as text.
    case validationPredicates
    /// In compiled models only: the messages of rules, as text.
    case validationWarnings
}

/// The reason why no rule says what a word of a model file says.
struct ModelRuleError: Error {
    let reason: String
}

extension ValidationRule.Condition {
    /// The condition that a word says about an attribute.
    ///
    /// - Throws: `ModelRuleError` if the word has no meaning for the attribute's type, or the text none for the word.
    init(_ word: ModelRuleWord, _ text: String, of attribute: AttributeDescription) throws(ModelRuleError) {
        switch (word, attribute.type) {
        case (.minValueString, .string): self = .minimumLength(try Self.length(text))
        case (.maxValueString, .string): self = .maximumLength(try Self.length(text))
        case (.regularExpressionString, .string): self = try Self.parsedPattern(text)
        case (.minDateTimeInterval, .date): self = .minimum(try Self.limit(text, of: attribute))
        case (.maxDateTimeInterval, .date): self = .maximum(try Self.limit(text, of: attribute))
        case (.minValueString, let type) where type.isNumeric: self = .minimum(try Self.limit(text, of: attribute))
        case (.maxValueString, let type) where type.isNumeric: self = .maximum(try Self.limit(text, of: attribute))
        case (.validationPredicates, _):
            throw ModelRuleError(reason: "no word of model files says the same; set it in code")
        case (.validationWarnings, _):
            throw ModelRuleError(reason: "messages of compiled models are not read; set them in code")
        default: throw ModelRuleError(reason: "it has no meaning for type \(attribute.type)")
        }
    }

    private static func limit(
        _ text: String, of attribute: AttributeDescription
    ) throws(ModelRuleError) -> AttributeValue {
        guard let value = attribute.type.value(modelFileText: text), attribute.accepts(value),
            Self.text(value, of: attribute.type) != nil
        else {
            throw ModelRuleError(reason: "it is not a value of type \(attribute.type)")
        }
        return value
    }

    private static func length(_ text: String) throws(ModelRuleError) -> Int {
        guard case .integer(let number)? = AttributeType.integer64.value(modelFileText: text),
            let count = Int(exactly: number), count >= 0
        else { throw ModelRuleError(reason: "a length is a whole number, 0 or more") }
        return count
    }

    private static func parsedPattern(_ text: String) throws(ModelRuleError) -> Self {
        let condition = Self.pattern(text)
        do throws(FetchPredicateError) { _ = try PreparedRule(ValidationRule(condition), of: .string) } catch {
            throw ModelRuleError(reason: error.reason.description)
        }
        return condition
    }

    /// The word that says this condition about attributes of a type, and its text; `nil` if files have none.
    func modelFileWord(of type: AttributeType) -> (word: ModelRuleWord, text: String)? {
        switch (self, type) {
        case (.minimumLength(let count), .string): return (.minValueString, "\(count)")
        case (.maximumLength(let count), .string): return (.maxValueString, "\(count)")
        // An empty attribute of a file says nothing.
        case (.pattern(let pattern), .string) where !pattern.isEmpty: return (.regularExpressionString, pattern)
        case (.minimum(let limit), .date): return Self.text(limit, of: type).map { (.minDateTimeInterval, $0) }
        case (.maximum(let limit), .date): return Self.text(limit, of: type).map { (.maxDateTimeInterval, $0) }
        case (.minimum(let limit), _) where type.isNumeric:
            return Self.text(limit, of: type).map { (.minValueString, $0) }
        case (.maximum(let limit), _) where type.isNumeric:
            return Self.text(limit, of: type).map { (.maxValueString, $0) }
        default: return nil
        }
    }

    /// The text of a limit; `nil` if a reader of the text would find another value, as for a limit that is no number.
    private static func text(_ limit: AttributeValue, of type: AttributeType) -> String? {
        guard let text = limit.modelFileText, type.value(modelFileText: text) == limit else { return nil }
        return text
    }

    /// The kind of the condition in words.
    var kindDescription: String {
        switch self {
        case .minimum: "a minimum"
        case .maximum: "a maximum"
        case .minimumLength: "a minimum length"
        case .maximumLength: "a maximum length"
        case .pattern: "a pattern"
        case .predicate: "a condition"
        }
    }
}
