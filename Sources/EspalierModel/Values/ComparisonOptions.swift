// How text is compared: what conditions, sort keys, patterns and folding have in common.

/// How text is compared (PR-05).
public struct ComparisonOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt8
    /// Options with these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `[c]`: upper and lower case are the same.
    public static let caseInsensitive = ComparisonOptions(rawValue: 1)
    /// `[d]`: letters with and without diacritics are the same.
    public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
    /// `[n]`: the strings are normalized already; bytes are compared.
    public static let normalized = ComparisonOptions(rawValue: 4)
    /// `[l]`: compare by locale.
    public static let localeSensitive = ComparisonOptions(rawValue: 8)
}
