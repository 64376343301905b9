// The options for comparing text, shared by conditions, sort keys, patterns and folding.

/// Options for comparing text (PR-05).
public struct ComparisonOptions: OptionSet, Sendable, Hashable, Codable {
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
    /// The numbers in texts are in the order of their values: "file 9" is before "file 10" (FR-26); for sort keys only.
    ///
    /// Digits of all scripts count, and leading zeros do not.
    public static let numeric = ComparisonOptions(rawValue: 32)
    /// Texts are in an order for readers: by letters and the values of numbers, then by accents, then by case (FR-26);
    /// for sort keys only.
    ///
    /// It is the same on all machines, whatever their locale.
    public static let natural = ComparisonOptions(rawValue: 64)
}
