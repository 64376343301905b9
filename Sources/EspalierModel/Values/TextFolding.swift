// Text normalization for comparison: canonical composition, and folding for [c] and [d].
//
// Invariants
//   1. Two strings are equal under options exactly if `folded` returns the same bytes; their order is that of the
//      bytes.
//   2. `folded` is idempotent, but for the orders for readers (+Numbers), and does not depend on locale, environment
//      or platform tables other than the standard library's Unicode data.
//   3. [c] maps each scalar of the canonical decomposition to lower case, the result to upper case and again to lower
//      case (ẞ = ß = SS, ς = σ); the Turkish dotless i is unchanged.
//   4. [d] removes scalars of the canonical decomposition whose combining class is 1 (overlays) or at least 10: accents
//      and vowel points. Nukta, kana voicing and virama (7, 8, 9) make other letters and are kept, as are ø, đ and ł,
//      which have no decomposition.
//   5. [n] says the text is already normalized: bytes are compared unchanged.
// Not here: the division of text into pieces that can be looked up (FoldingTable); the order-preserving key encoding of
// a store's indexes, which is made from `folded(_:_:).utf8`.

package import FoundationEssentials
// The standard library exposes its normalization only under this SPI name.
@_spi(_Unicode) import Swift

/// Normalizes text for comparison (Behaviour PR-05).
package enum TextFolding {
    package typealias Options = ComparisonOptions

    /// The text whose UTF-8 bytes determine equality and order under `options`.
    ///
    /// - Complexity: O(n); text below U+0300 without [c] and [d], and ASCII text, are folded by a faster path.
    package static func folded(_ text: String, _ options: Options) -> String {
        if !options.isDisjoint(with: [.numeric, .natural]) { return foldedForReaders(text, options) }
        let ignoresCase = options.contains(.caseInsensitive)
        let ignoresMarks = options.contains(.diacriticInsensitive)
        guard ignoresCase || ignoresMarks else { return options.contains(.normalized) ? text : composed(text) }
        if isASCII(text) { return ignoresCase ? text.lowercased() : text }
        // SAFETY: the bytes do not leave the closure.
        return unsafe FoldingTable.of(ignoresCase: ignoresCase, ignoresMarks: ignoresMarks).withFolded(text) { bytes in
            // SAFETY: the bytes do not leave the closure.
            unsafe String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Calls `body` with the UTF-8 bytes of `folded(text, options)`, without making a string of them.
    ///
    /// - Complexity: O(n)
    static func withFolded<Outcome>(
        _ text: String, _ options: Options, _ body: (UnsafeBufferPointer<UInt8>) -> Outcome
    ) -> Outcome {
        let (ignoresCase, ignoresMarks) =
            (options.contains(.caseInsensitive), options.contains(.diacriticInsensitive))
        guard ignoresCase || ignoresMarks, !isASCII(text), options.isDisjoint(with: [.numeric, .natural]) else {
            var folded = folded(text, options)
            return folded.withUTF8(body)
        }
        // SAFETY: the caller must not let the bytes escape from `body`.
        return unsafe FoldingTable.of(ignoresCase: ignoresCase, ignoresMarks: ignoresMarks).withFolded(text, body)
    }

    /// The text folded scalar by scalar and composed as a whole.
    ///
    /// - Complexity: O(n), some 100 steps per scalar.
    static func foldedByScalars(_ text: String, ignoresCase: Bool, ignoresMarks: Bool) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfd where !(ignoresMarks && isDiacritic(scalar)) {
            // Scalars are appended one by one: `append(contentsOf:)` reserves only the exact space and copies all
            // previous scalars.
            if ignoresCase { foldCase(scalar) { scalars.append($0) } } else { scalars.append(scalar) }
        }
        return composed(String(scalars))
    }

    /// The canonical composition (NFC) of `text`.
    package static func composed(_ text: String) -> String {
        if isBelow(leastCombiningByte, text) { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfc { scalars.append(scalar) }
        return String(scalars)
    }

    /// Whether the UTF-8 bytes of a text are in NFC and contain no 0, as in most text.
    ///
    /// May be `false` for some such texts.
    package static func isPlain(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        // SAFETY: read within the call. Zero wraps around to the greatest byte, so the loop needs no branch.
        unsafe utf8.reduce(into: 0 as UInt8) { $0 = max($0, $1 &- 1) } < leastCombiningByte - 1
    }

    /// Whether no other text has the canonical composition with these UTF-8 bytes.
    ///
    /// It is `true` for ASCII without `K`, `;` and the grave accent, and `false` for every other text: the signs for
    /// kelvin, the Greek question mark and the Greek varia become these three, and no other sign becomes ASCII.
    ///
    /// - Complexity: O(n)
    package static func hasOneForm(_ utf8: [UInt8]) -> Bool {
        utf8.allSatisfy { byte in
            byte < 0x80 && byte != UInt8(ascii: "K") && byte != UInt8(ascii: ";") && byte != UInt8(ascii: "`")
        }
    }

    /// Compares `left` with `right` under `options`.
    package static func compare(_ left: String, _ right: String, _ options: Options) -> ComparisonResult {
        // The standard library's `<` is the order of the NFC scalars.
        if options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive, .normalized, .numeric, .natural]) {
            return ordered(left, right)
        }
        // SAFETY: the bytes of both are read within the closures only.
        return unsafe withFolded(left, options) { left in
            unsafe withFolded(right, options) { right in unsafe compareBytes(left, right) }
        }
    }

    private static func compareBytes(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> ComparisonResult {
        // SAFETY: the index is below both counts.
        for index in 0..<min(left.count, right.count) where unsafe left[index] != right[index] {
            return unsafe ordered(left[index], right[index])
        }
        return ordered(left.count, right.count)
    }

    /// The lead byte of U+0300: every scalar below it is its own NFC and combines with no other such scalar.
    static let leastCombiningByte: UInt8 = 0xCC

    private static func isASCII(_ text: String) -> Bool { isBelow(0x80, text) }

    /// Whether all bytes of `text` are less than `limit`.
    private static func isBelow(_ limit: UInt8, _ text: String) -> Bool {
        // SAFETY: the buffer does not leave the closure. The loop finds the greatest byte without a branch.
        let greatest = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.reduce(into: 0 as UInt8) { $0 = max($0, $1) }
        }
        return greatest.map { $0 < limit } ?? text.utf8.allSatisfy { $0 < limit }
    }

    /// Whether [d] removes the scalar.
    static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
        let combiningClass = scalar.properties.canonicalCombiningClass.rawValue
        return combiningClass == 1 || combiningClass >= 10
    }

    private static func foldCase(_ scalar: Unicode.Scalar, _ append: (Unicode.Scalar) -> Void) {
        let properties = scalar.properties
        // Most scripts have no case, and a mapping is a string that has to be created.
        guard scalar != "\u{131}", properties.changesWhenLowercased || properties.changesWhenUppercased else {
            return append(scalar)
        }
        for lower in properties.lowercaseMapping.unicodeScalars {
            for upper in lower.properties.uppercaseMapping.unicodeScalars {
                for again in upper.properties.lowercaseMapping.unicodeScalars { append(again) }
            }
        }
    }
}
