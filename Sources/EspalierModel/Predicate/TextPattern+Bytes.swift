// Text operators on borrowed bytes of folded text, so that no string is made for a row that fails.
//
// Invariants
//   1. The answer is that of `matches(_:)`, or `nil`.

extension TextPattern {
    /// Whether folded text matches; `nil` if only `matches(_:)` can decide.
    ///
    /// - Parameter isASCII: whether all bytes are below 0x80; otherwise the text is canonically composed.
    package func matches(_ folded: UnsafeBufferPointer<UInt8>, isASCII: Bool) -> Bool? {
        // SAFETY: the bytes are read within the call only.
        let isMatch = unsafe matchesScalars(folded, isASCII: isASCII)
        let isCertain = !findsWholeCharacters || isMatch == false || isASCII && !splitsLineEnd
        return isCertain ? isMatch : nil
    }

    private func matchesScalars(_ folded: UnsafeBufferPointer<UInt8>, isASCII: Bool) -> Bool? {
        switch matcher {
        // SAFETY: all cases read the bytes within the call only.
        case .contains(let part): unsafe part.isIn(folded)
        case .beginsWith(let part): unsafe folded.count >= part.count && folded.starts(with: part)
        case .endsWith(let part): unsafe folded.count >= part.count && folded.suffix(part.count).elementsEqual(part)
        case .like(let pattern):
            if let parts = pattern.parts {
                unsafe parts.match(folded)
            } else {
                isASCII ? unsafe pattern.matches(folded) : nil
            }
        case .matches: nil
        case .never: false
        }
    }
}

extension LikePattern {
    /// The codes of a pattern's pieces for ASCII text that are no bytes.
    enum ByteCode {
        static let one: UInt16 = 0x100
        static let any: UInt16 = 0x101
        /// A scalar that ASCII text cannot contain.
        static let never: UInt16 = 0x102
    }

    /// Whether the whole of an ASCII text matches.
    func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let codes = byteCodes
        var (position, piece) = (0, 0)
        var star: (piece: Int, end: Int)?
        while position < text.count {
            // SAFETY: `position` is below the count.
            if piece < codes.count, codes[piece] == ByteCode.any {
                star = (piece, position)
                piece += 1
            } else if piece < codes.count,
                unsafe codes[piece] == ByteCode.one || codes[piece] == UInt16(text[position])
            {
                (position, piece) = (position + 1, piece + 1)
            } else if let last = star {
                star = (last.piece, last.end + 1)
                (position, piece) = (last.end + 1, last.piece + 1)
            } else {
                return false
            }
        }
        return codes[piece...].allSatisfy { $0 == ByteCode.any }
    }
}
