// Validation rules of typed properties, as `@Attribute` writes them.

public import EspalierModel

extension ValidationRule {
    /// A value is not less than this one.
    public static func minimum(_ limit: some AttributeConvertible, message: String? = nil) -> ValidationRule {
        ValidationRule(.minimum(limit.attributeValue), message: message)
    }
    /// A value is not greater than this one.
    public static func maximum(_ limit: some AttributeConvertible, message: String? = nil) -> ValidationRule {
        ValidationRule(.maximum(limit.attributeValue), message: message)
    }
    /// A text has at least this many characters, binary data at least this many bytes.
    public static func minimumLength(_ count: Int, message: String? = nil) -> ValidationRule {
        ValidationRule(.minimumLength(count), message: message)
    }
    /// A text has at most this many characters, binary data at most this many bytes.
    public static func maximumLength(_ count: Int, message: String? = nil) -> ValidationRule {
        ValidationRule(.maximumLength(count), message: message)
    }
    /// The whole text matches a regular expression.
    public static func pattern(_ pattern: String, message: String? = nil) -> ValidationRule {
        ValidationRule(.pattern(pattern), message: message)
    }
    /// A condition holds, in which `SELF` is the value.
    public static func predicate(_ format: String, message: String? = nil) -> ValidationRule {
        ValidationRule(.predicate(format), message: message)
    }

    /// The same rule with its limit in another type, if that has an equal value: `.minimum(0)` of a `Double`.
    func converted(to type: AttributeType) -> ValidationRule {
        func converted(_ limit: AttributeValue) -> AttributeValue { (try? type.converting(limit)) ?? limit }
        return switch condition {
        case .minimum(let limit): ValidationRule(.minimum(converted(limit)), message: message)
        case .maximum(let limit): ValidationRule(.maximum(converted(limit)), message: message)
        case .minimumLength, .maximumLength, .pattern, .predicate: self
        }
    }
}
