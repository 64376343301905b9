// Folding that looks most scalars up: text is cut where nothing before can act on what follows.
//
// Invariants
//   1. Text is cut only before scalars that begin a piece: starters that no canonical composition has in second place.
//      A piece folds to the same bytes alone and in its text.
//   2. A piece of one scalar is looked up; every other one goes through `TextFolding.foldedByScalars`, and so did what
//      the table holds when it was made.
//   3. Each byte of a text is looked at once, so folding is linear.

/// What single scalars fold to, for one way to fold.
final class FoldingTable: Sendable {
    private static let caseTable = FoldingTable(ignoresCase: true, ignoresMarks: false)
    private static let markTable = FoldingTable(ignoresCase: false, ignoresMarks: true)
    private static let caseAndMarkTable = FoldingTable(ignoresCase: true, ignoresMarks: true)

    /// The table of a way to fold, made when it is asked for first.
    static func of(ignoresCase: Bool, ignoresMarks: Bool) -> FoldingTable {
        ignoresCase ? (ignoresMarks ? caseAndMarkTable : caseTable) : markTable
    }

    /// Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic: none of their letters combines with one before it.
    private static let lowEnd: UInt32 = 0x700
    /// Latin and Greek letters with marks.
    private static let highRange: Range<UInt32> = 0x1E00..<0x2000
    private static let count = Int(lowEnd) + highRange.count
    /// Scalars that fold to themselves and begin a piece: punctuation, kana, ideographs, Hangul syllables, emoji.
    private static let selfFolding: [ClosedRange<UInt32>] = [
        0x2010...0x2027, 0x2030...0x205E, 0x3041...0x3096, 0x30A1...0x30FA, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xAC00...0xD7A3, 0x1F300...0x1FAFF,
    ]

    /// For each scalar the UTF-8 bytes of what it folds to, the first one lowest, and their count in the highest byte;
    /// `manyBytes` if they are more than seven, or if it does not begin a piece.
    private let entries: [UInt64]
    private static let manyBytes = UInt64.max
    private let ignoresCase: Bool
    private let ignoresMarks: Bool

    private init(ignoresCase: Bool, ignoresMarks: Bool) {
        (self.ignoresCase, self.ignoresMarks) = (ignoresCase, ignoresMarks)
        entries = (0..<Self.count).map { index in
            let value =
                index < Int(Self.lowEnd) ? UInt32(index) : UInt32(index) - Self.lowEnd + Self.highRange.lowerBound
            guard let scalar = Unicode.Scalar(value), scalar.properties.canonicalCombiningClass == .notReordered else {
                return Self.manyBytes
            }
            let folded = TextFolding.foldedByScalars(
                String(scalar), ignoresCase: ignoresCase, ignoresMarks: ignoresMarks)
            guard folded.utf8.count <= 7 else { return Self.manyBytes }
            return folded.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) } | UInt64(folded.utf8.count) << 56
        }
    }

    /// The text, folded.
    ///
    /// - Complexity: O(n)
    func folded(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes in
            var output: [UInt8] = []
            output.reserveCapacity(bytes.count + bytes.count / 8)
            // SAFETY: the bytes stay in place within the call; every index is below their count.
            unsafe fold(bytes, into: &output)
            return String(decoding: output, as: UTF8.self)
        }
    }

    private func fold(_ bytes: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) {
        var position = 0
        while position < bytes.count {
            // SAFETY: `position` is at a scalar of the text, and so is `end`, or at the text's end.
            let (value, length) = unsafe Self.scalar(bytes, at: position)
            var end = position + length
            let isAlone = unsafe beginsPiece(bytes, at: end)
            if isAlone, let entry = entry(value) {
                var rest = entry
                for _ in 0..<entry >> 56 {
                    output.append(UInt8(truncatingIfNeeded: rest))
                    rest >>= 8
                }
            } else if isAlone, Self.foldsToItself(value) {
                // SAFETY: both are within the text.
                for index in position..<end { unsafe output.append(bytes[index]) }
            } else {
                // SAFETY: as above; whoever goes on is not at the text's end.
                while unsafe !beginsPiece(bytes, at: end) { end += unsafe Self.scalar(bytes, at: end).length }
                // SAFETY: both are within the text.
                let piece = unsafe String(decoding: bytes[position..<end], as: UTF8.self)
                let folded = TextFolding.foldedByScalars(piece, ignoresCase: ignoresCase, ignoresMarks: ignoresMarks)
                output.append(contentsOf: folded.utf8)
            }
            position = end
        }
    }

    /// What a scalar folds to, if the table has it.
    @inline(__always)
    private func entry(_ value: UInt32) -> UInt64? {
        let index: Int
        if value < Self.lowEnd {
            index = Int(value)
        } else if Self.highRange.contains(value) {
            index = Int(value - Self.highRange.lowerBound + Self.lowEnd)
        } else {
            return nil
        }
        return entries[index] == Self.manyBytes ? nil : entries[index]
    }

    private static func foldsToItself(_ value: UInt32) -> Bool { selfFolding.contains { $0.contains(value) } }

    /// Whether a piece begins at `position`, or the text ends there.
    @inline(__always)
    private func beginsPiece(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Bool {
        // SAFETY: `position` is at a scalar of the text or at its end.
        guard position < bytes.count, unsafe bytes[position] >= TextFolding.leastCombiningByte else { return true }
        let value = unsafe Self.scalar(bytes, at: position).value
        return entry(value) != nil || Self.foldsToItself(value)
    }

    /// The scalar at `position`, and how many bytes it has.
    @inline(__always)
    private static func scalar(
        _ bytes: UnsafeBufferPointer<UInt8>, at position: Int
    ) -> (value: UInt32, length: Int) {
        // SAFETY: a string's UTF-8 is valid: behind a lead byte are as many bytes as it says.
        let lead = unsafe UInt32(bytes[position])
        func next(_ offset: Int) -> UInt32 { unsafe UInt32(bytes[position + offset]) & 0x3F }
        if lead < 0x80 { return (lead, 1) }
        if lead < 0xE0 { return ((lead & 0x1F) << 6 | next(1), 2) }
        if lead < 0xF0 { return ((lead & 0x0F) << 12 | next(1) << 6 | next(2), 3) }
        return ((lead & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4)
    }
}
