// Conditions and expressions of typed classes that have no counterpart in a fetch, while a description has them as
// text.
//
// Invariants
//   1. A description cannot throw. A text that begins with `marker` is the error instead: the parser throws it, so that
//      the model is refused where it is made, and its error names the place.

extension FetchPredicateError {
    /// The beginning of such a text; the grammar has no word that ends with a colon and a space.
    private static let marker = "untranslatable: "
    private static let separator = " because: "

    /// A text that stands for an expression without a counterpart.
    package static func format(ofUntranslatable expression: String, because reason: String) -> String {
        marker + expression + separator + reason
    }

    /// The error for which `text` stands; `nil` for every other text.
    init?(untranslatable text: String) {
        guard text.hasPrefix(Self.marker) else { return nil }
        let content = text.dropFirst(Self.marker.count)
        guard let place = content.firstRange(of: Self.separator) else { return nil }
        self.init(
            .untranslatable(
                String(content[..<place.lowerBound]), because: String(content[place.upperBound...])))
    }
}
