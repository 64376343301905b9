// The options for comparing text, shared by conditions, sort keys, patterns and folding.

/// Options for comparing text (PR-05).
public struct ComparisonOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt8
    /// Makes options from these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `[c]`: upper and lower case are equal.
    public static let caseInsensitive = ComparisonOptions(rawValue: 1)
    /// `[d]`: letters with and without diacritics are equal.
    public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
    /// `[n]`: the strings are already normalized; bytes are compared.
    public static let normalized = ComparisonOptions(rawValue: 4)
    /// `[l]`: compare by locale.
    public static let localeSensitive = ComparisonOptions(rawValue: 8)
    /// `[w]`: CONTAINS, BEGINSWITH and ENDSWITH find whole characters only, as Swift's `String` does.
    ///
    /// An emoji of several scalars does not contain its first one, and `"\r\n"` does not contain `"\n"`. Other
    /// operators ignore the option.
    public static let wholeCharacters = ComparisonOptions(rawValue: 16)
}
