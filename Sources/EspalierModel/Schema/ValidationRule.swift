// The rules for the values of an attribute, besides its type and whether it must have one (MD-16).
//
// Not here: whether a value follows a rule (PreparedRule).

/// A rule that each value of an attribute must follow when it is saved; an attribute without a value follows all rules.
///
/// Rules are part of the model that an application describes. They are no part of the version hash, and stores do not
/// keep them.
public struct ValidationRule: Sendable, Hashable, Codable {
    /// The kinds of rules.
    public enum Condition: Sendable, Hashable, Codable {
        /// The value is not less than this one (1620; 1640 for dates).
        case minimum(AttributeValue)
        /// The value is not greater than this one (1610; 1630 for dates).
        case maximum(AttributeValue)
        /// A text has at least this many characters, binary data at least this many bytes (1670).
        case minimumLength(Int)
        /// A text has at most this many characters, binary data at most this many bytes (1660).
        case maximumLength(Int)
        /// The whole text matches this regular expression, in the syntax of MATCHES (1680).
        case pattern(String)
        /// This condition holds, in which `SELF` is the value (1550): a format that `FetchPredicate` parses.
        case predicate(String)
    }

    /// The condition.
    public var condition: Condition
    /// The message about a value that breaks the rule; `nil` = one that states the rule.
    public var message: String?

    /// A rule with a message of its own.
    public init(_ condition: Condition, message: String? = nil) {
        (self.condition, self.message) = (condition, message)
    }
}
