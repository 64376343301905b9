// Text in orders for readers: by the numbers in it, and as a person would look it up (FR-26).
//
// Invariants
//   1. The order is a folding as the others: of the folded text's bytes, equal in memory, in trees and in sort buffers,
//      and the same on every machine.
//   2. Numbers of any length are in the order of their values.
// No order depends on a locale: see Differences, FR-26.

extension TextFolding {
    /// The text whose bytes give the order of `.numeric` or `.natural`.
    ///
    /// - Complexity: O(n).
    static func foldedForReaders(_ text: String, _ options: Options) -> String {
        let numbered = numbered(text)
        let others = options.subtracting([.numeric, .natural])
        guard options.contains(.natural) else { return folded(numbered, others) }
        // First by letters, then by accents, then by case: 0 separates, and precedes everything.
        let letters = folded(numbered, [.caseInsensitive, .diacriticInsensitive])
        return letters + "\0" + folded(numbered, .caseInsensitive) + "\0" + composed(text)
    }

    /// The text with each number as a digit 0, a scalar that ascends with the number of digits, and the digits.
    private static func numbered(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var digits: [Unicode.Scalar] = []
        func endNumber() {
            guard !digits.isEmpty else { return }
            let significant = digits.drop { $0 == "0" }
            scalars.append("0")
            // Private scalars, which no folding changes: each full 4,000 digits have one more.
            for _ in 0..<significant.count / 4000 { scalars.append("\u{F000}") }
            scalars.append(Unicode.Scalar(UInt32(0xE000 + significant.count % 4000)) ?? "\u{E000}")
            scalars.append(contentsOf: significant)
            digits.removeAll(keepingCapacity: true)
        }
        for scalar in text.unicodeScalars {
            if let digit = scalar.decimalDigit {
                digits.append(digit)
            } else {
                endNumber()
                scalars.append(scalar)
            }
        }
        endNumber()
        return String(scalars)
    }
}

extension Unicode.Scalar {
    /// The digit from 0 to 9 that the scalar has in any script.
    fileprivate var decimalDigit: Unicode.Scalar? {
        if value < 0x80 { return (48...57).contains(value) ? self : nil }
        guard properties.numericType == .decimal, let number = properties.numericValue else { return nil }
        return Unicode.Scalar(UInt32(48 + number))
    }
}
