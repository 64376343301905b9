// Searches for one byte pattern in a text, and for several patterns in order.
//
// Invariants
//   1. In UTF-8 each byte shows whether a scalar begins there: so the bytes of one text are in another text exactly
//      where its scalars are.
//   2. Each search takes time proportional to the length of the text, whatever the pattern.
//   3. A borrowed text is read within the call only, and at offsets below its count: from each offset at which the
//      pattern may begin, the text has at least as many bytes as the pattern.

/// Bytes to find in a text (Knuth, Morris and Pratt 1977).
///
/// The search tests eight offsets at a time for the first and the last byte, and compares the other bytes only at
/// offsets where both fit. A class, because a copy for each text would retain every array.
final class BytePattern: Sendable {
    let count: Int
    private let bytes: [UInt8]
    /// For each index the length of the longest proper prefix of the pattern that ends there, as a suffix of the bytes
    /// up to and including that index.
    private let borders: [Int]
    /// The first byte and the last byte, each repeated eight times.
    private let firsts: UInt64
    private let lasts: UInt64

    init(_ bytes: [UInt8]) {
        var borders = [Int](repeating: 0, count: bytes.count)
        var length = 0
        for position in bytes.indices.dropFirst() {
            while length > 0, bytes[length] != bytes[position] { length = borders[length - 1] }
            if bytes[length] == bytes[position] { length += 1 }
            borders[position] = length
        }
        (self.bytes, self.borders, count) = (bytes, borders, bytes.count)
        firsts = UInt64(bytes.first ?? 0) &* 0x0101_0101_0101_0101
        lasts = UInt64(bytes.last ?? 0) &* 0x0101_0101_0101_0101
    }

    /// Whether `text` contains the bytes.
    ///
    /// - Complexity: O(n)
    func isIn(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // SAFETY: the text is borrowed for this call, and the search ends at its count.
        unsafe end(in: text, from: 0, below: text.count) != nil
    }

    /// The offset after the first occurrence of the bytes that begins at `start` or later and ends at most at `limit`.
    ///
    /// - Complexity: O(limit - start)
    func end(in text: UnsafeBufferPointer<UInt8>, from start: Int, below limit: Int) -> Int? {
        assert(start >= 0 && limit <= text.count, "from \(start) to \(limit) in \(text.count) bytes")
        guard count > 0 else { return start }
        let lastStart = limit - count
        var position = start
        while position <= lastStart {
            // SAFETY: `position` is at most `lastStart`, and below `limit` in the inner loop: both are below the count.
            guard let candidate = unsafe candidate(in: text, from: position, lastStart) else { return nil }
            position = candidate
            var length = 0
            repeat {
                let byte = unsafe text[position]
                position += 1
                while length > 0, bytes[length] != byte { length = borders[length - 1] }
                if bytes[length] == byte { length += 1 }
                if length == count { return position }
            } while length > 0 && position < limit
        }
        return nil
    }

    /// The first offset in `start...lastStart` at which the bytes may begin.
    @inline(__always)
    private func candidate(in text: UnsafeBufferPointer<UInt8>, from start: Int, _ lastStart: Int) -> Int? {
        var position = start
        while position + 7 <= lastStart {
            // SAFETY: eight offsets from `position` on are at most `lastStart`, so the pattern has room at each.
            let fits = unsafe fits(text, at: position)
            if fits != 0 { return position + fits.trailingZeroBitCount / 8 }
            position += 8
        }
        guard position <= lastStart else { return nil }
        if lastStart >= 7 {
            // The last eight offsets, without those that were tested already.
            // SAFETY: the last eight offsets begin at 0 or later, and end at `lastStart`.
            let fits = unsafe fits(text, at: lastStart - 7) & (UInt64.max << UInt64(8 * (position - lastStart + 7)))
            return fits == 0 ? nil : lastStart - 7 + fits.trailingZeroBitCount / 8
        }
        while position <= lastStart {
            // SAFETY: `position` is at most `lastStart`, from which on the text has `count` bytes.
            if unsafe text[position] == UInt8(truncatingIfNeeded: firsts),
                unsafe text[position + count - 1] == UInt8(truncatingIfNeeded: lasts)
            {
                return position
            }
            position += 1
        }
        return nil
    }

    /// The offsets among eight at which the first and the last byte may fit, with a bit set in the byte of each.
    ///
    /// The subtraction borrows, so the result may include a wrong offset after a right one.
    @inline(__always)
    private func fits(_ text: UnsafeBufferPointer<UInt8>, at position: Int) -> UInt64 {
        func zeros(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 }
        let raw = UnsafeRawBufferPointer(text)
        // SAFETY: both words are within the text: the eighth offset is at most the last one at which the pattern fits.
        let begin = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        let end = unsafe UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: position + count - 1, as: UInt64.self))
        return zeros(begin ^ firsts) & zeros(end ^ lasts)
    }
}

/// A LIKE pattern of stars and literals: the beginning and the end of a text, and the literals between them, in order.
///
/// A class, as `BytePattern` is.
final class LikeParts: Sendable {
    private let head: [UInt8]
    private let tail: [UInt8]
    private let middles: [BytePattern]
    /// Whether there is no star: the text is `head`.
    private let isWhole: Bool

    /// - Parameter literals: the bytes before, between and after the stars: one element more than there are stars.
    init(_ literals: [[UInt8]]) {
        head = literals[0]
        isWhole = literals.count == 1
        tail = isWhole ? [] : literals[literals.count - 1]
        middles = literals.dropFirst().dropLast().filter { !$0.isEmpty }.map(BytePattern.init)
    }

    /// Whether the whole of a folded text matches.
    ///
    /// - Complexity: O(n)
    func match(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // SAFETY: the text is borrowed for this call, and only read; both ends together are at most as long as it.
        if isWhole { return unsafe text.elementsEqual(head) }
        let limit = text.count - tail.count
        guard limit >= head.count, unsafe text.starts(with: head), unsafe text[limit...].elementsEqual(tail) else {
            return false
        }
        var position = head.count
        for middle in middles {
            // The first occurrence is the best one: it leaves the most bytes for the next literals.
            // SAFETY: from `position` to `limit` is within the text.
            guard let end = unsafe middle.end(in: text, from: position, below: limit) else { return false }
            position = end
        }
        return true
    }
}
