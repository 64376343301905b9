// Folds a text piece by piece: most scalars are looked up, and scalars that affect one another are folded together.
//
// Invariants
//   1. A piece is a scalar and the following scalars up to the next one that begins a piece. A piece folds to the same
//      bytes alone and in its text.
//   2. A piece of one scalar is looked up, and so is a piece whose other scalars are all left out; pairs are cached;
//      every other piece is folded by `TextFolding.foldedByScalars`.
//   3. Each byte of a text is read at most twice, so folding is linear.

extension FoldingTable {
    /// Calls `body` with the UTF-8 bytes of the folded text.
    ///
    /// - Complexity: O(n)
    func withFolded<Outcome>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Outcome) -> Outcome {
        var text = text
        return text.withUTF8 { bytes in
            // Few texts grow: most upper-case letters have as many bytes as their lower-case letters.
            var capacity = bytes.count + bytes.count / 4 + 2 * Self.slack
            while true {
                // SAFETY: both buffers are valid during the closures that receive them.
                let outcome = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { room in
                    unsafe fold(bytes, into: room).map { count in
                        // SAFETY: `fold` has initialized `count` bytes.
                        unsafe body(UnsafeBufferPointer(rebasing: room[..<count]))
                    }
                }
                if let outcome { return outcome }
                capacity *= 2
            }
        }
    }

    /// The free bytes required before an entry is written: all its eight bytes are written at once.
    private static let slack = 8

    /// Folds a text into `room`; returns the number of bytes written, or `nil` if `room` is too small.
    private func fold(_ bytes: UnsafeBufferPointer<UInt8>, into room: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var (position, count) = (0, 0)
        // The scalar at `position` and its entry, if the search for the end of the previous piece has read them.
        var ahead: (scalar: (value: UInt32, length: Int), entry: FoldingEntry)?
        let limit = room.count - 2 * Self.slack
        while position < bytes.count {
            guard count <= limit else { return nil }
            let begin = position
            // SAFETY: `position` is at a scalar of the text; every write ends before the end of `room`.
            let first = unsafe ahead?.scalar ?? Self.scalar(bytes, at: position)
            position += first.length
            // SAFETY: as above, within the text.
            if first.value < 0x80, position == bytes.count || (unsafe bytes[position] < TextFolding.leastCombiningByte)
            {
                let isCapital = ignoresCase && (0x41...0x5A).contains(first.value)
                // SAFETY: below the limit.
                unsafe room[count] = UInt8(truncatingIfNeeded: isCapital ? first.value | 0x20 : first.value)
                count += 1
                continue
            }
            let entry = ahead?.entry ?? entry(first.value)
            ahead = nil
            var (others, isAlone) = (0, true)
            // SAFETY: as above, within the text.
            while position < bytes.count, unsafe bytes[position] >= TextFolding.leastCombiningByte {
                // SAFETY: `position` is at a scalar.
                let next = unsafe Self.scalar(bytes, at: position)
                let nextEntry = self.entry(next.value)
                if nextEntry.beginsPiece {
                    ahead = (next, nextEntry)
                    break
                }
                if !nextEntry.isLeftOut { isAlone = false }
                others += 1
                position += next.length
            }
            if isAlone, entry.isWhole {
                // SAFETY: there is room for an entry.
                unsafe Self.put(entry, &count, room)
            } else if isAlone, entry.isUnchanged {
                for index in begin..<begin + first.length {
                    // SAFETY: one scalar of the text; there is room for more.
                    unsafe room[count] = bytes[index]
                    count += 1
                }
            } else {
                // SAFETY: both ends are at scalars.
                let piece = unsafe UnsafeBufferPointer(rebasing: bytes[begin..<position])
                guard unsafe foldPiece(piece, scalars: 1 + others, &count, room) else { return nil }
            }
        }
        return count
    }

    /// Folds a piece of several scalars; returns `false` if `room` is too small.
    private func foldPiece(
        _ piece: UnsafeBufferPointer<UInt8>, scalars: Int, _ count: inout Int,
        _ room: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        // SAFETY: the piece has `scalars` scalars, of which there is at least one; `room` has space for two entries.
        let first = unsafe Self.scalar(piece, at: 0)
        let second = scalars == 2 ? unsafe Self.scalar(piece, at: first.length).value : 0
        if scalars == 2, let result = pairs[first.value, second] {
            switch result {
            case .scalar(let scalar):
                for byte in UTF8.encode(scalar) ?? .init() {
                    unsafe room[count] = byte
                    count += 1
                }
            case .both:
                unsafe Self.put(entry(first.value), &count, room)
                unsafe Self.put(entry(second), &count, room)
            }
            return true
        }
        // SAFETY: the piece is valid UTF-8, because the text is.
        let text = unsafe String(decoding: piece, as: UTF8.self)
        let folded = TextFolding.foldedByScalars(text, ignoresCase: ignoresCase, ignoresMarks: ignoresMarks)
        if scalars == 2 { keep(folded, of: first.value, second) }
        guard folded.utf8.count <= room.count - count - 2 * Self.slack else { return false }
        for byte in folded.utf8 {
            // SAFETY: the guard above has checked the space.
            unsafe room[count] = byte
            count += 1
        }
        return true
    }

    private func keep(_ folded: String, of first: UInt32, _ second: UInt32) {
        let scalars = folded.unicodeScalars
        if let only = scalars.first, scalars.count == 1 { return pairs.keep(first, second, .scalar(only)) }
        let (one, other) = (entry(first), entry(second))
        guard one.isWhole, other.isWhole, folded.utf8.elementsEqual(one.utf8 + other.utf8) else { return }
        pairs.keep(first, second, .both)
    }

    @inline(__always)
    private static func put(_ entry: FoldingEntry, _ count: inout Int, _ room: UnsafeMutableBufferPointer<UInt8>) {
        // SAFETY: eight bytes are free at offset `count`.
        unsafe UnsafeMutableRawBufferPointer(room).storeBytes(
            of: entry.bytes.littleEndian, toByteOffset: count, as: UInt64.self)
        count += entry.count
    }

    /// The scalar at `position`, and its length in bytes.
    @inline(__always)
    private static func scalar(
        _ bytes: UnsafeBufferPointer<UInt8>, at position: Int
    ) -> (value: UInt32, length: Int) {
        // SAFETY: the UTF-8 of a string is valid, so a lead byte is followed by as many bytes as it announces.
        let lead = unsafe UInt32(bytes[position])
        func next(_ offset: Int) -> UInt32 { unsafe UInt32(bytes[position + offset]) & 0x3F }
        if lead < 0x80 { return (lead, 1) }
        if lead < 0xE0 { return ((lead & 0x1F) << 6 | next(1), 2) }
        if lead < 0xF0 { return ((lead & 0x0F) << 12 | next(1) << 6 | next(2), 3) }
        return ((lead & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4)
    }
}
