// Text operators on bytes where they lie, for text that is folded already: no text is made for a row that fails.
//
// Invariants
//   1. The answer is that of `matches(_:)`, or none.

extension TextPattern {
    /// Whether folded text has what the operator asks for; `nil` if only `matches(_:)` can tell.
    ///
    /// - Parameter isASCII: whether all bytes are below 0x80; otherwise they are of canonically composed text.
    package func matches(_ folded: UnsafeBufferPointer<UInt8>, isASCII: Bool) -> Bool? {
        switch matcher {
        // SAFETY: of all, the bytes are read within the call.
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
    /// A piece of a pattern for ASCII text: a byte, or one of these.
    enum ByteCode {
        static let one: UInt16 = 0x100
        static let any: UInt16 = 0x101
        /// A scalar that no such text has.
        static let never: UInt16 = 0x102
    }

    /// Whether the whole of ASCII text fits.
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
