// The decimal number that a text writes: all of the text, with all of its digits.

package import FoundationEssentials

extension Decimal {
    /// The number that `text` writes; `nil` if not all of the text is one number, or if the number has more digits than
    /// a decimal keeps.
    ///
    /// `Decimal(string:)` takes a number at the beginning of a text, and leaves digits out that it cannot keep.
    ///
    /// - Complexity: O(bytes of the text).
    package init?(wholeText text: String) {
        // `Double` takes a whole text only. The words for numbers that are none, and other bases, have other letters.
        guard text.utf8.allSatisfy({ Self.isDigit($0) || "+-.eE".utf8.contains($0) }), let double = Double(text),
            let number = Decimal(string: text), number.isFinite, Double(number.description) == double,
            Self.significantDigits(number.description) == Self.significantDigits(text)
        else { return nil }
        self = number
    }

    /// The digits from the first to the last that is not 0, without those of an exponent.
    private static func significantDigits(_ text: String) -> [UInt8] {
        var digits = text.utf8.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }.filter(isDigit)
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return Array(digits.drop { $0 == UInt8(ascii: "0") })
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
