// Primary keys in memory: two words for each 64 adjacent keys of which at least one exists.
//
// Invariants
//   1. Keys are appended in ascending order.
//   2. A set that would grow too large is empty, and is not whole (`isWhole`).

/// A set of primary keys.
struct KeySet {
    private var highs: [UInt64] = []
    private var words: [UInt64] = []
    /// Whether it holds all keys that were appended.
    private(set) var isWhole = true

    /// Adds a key that is greater than all before it; returns whether that allocated a block, which is 16 bytes.
    @inline(__always)
    mutating func append(_ key: UInt64) -> Bool {
        guard isWhole else { return false }
        if highs.last == key &>> 6 {
            assert(words[words.count - 1] < 1 &<< (key & 63), "invariant 1: keys ascend, but \(key) does not follow")
            words[words.count - 1] |= 1 &<< (key & 63)
            return false
        }
        assert(highs.last.map { $0 < key &>> 6 } ?? true, "invariant 1: keys ascend, but \(key) does not follow")
        assert(highs.count == words.count, "\(highs.count) blocks with \(words.count) words")
        highs.append(key &>> 6)
        words.append(1 &<< (key & 63))
        return true
    }

    /// Empties the set for good, because it would need too much memory.
    mutating func giveUp() { (isWhole, highs, words) = (false, [], []) }

    /// Whether a key was appended.
    ///
    /// - Complexity: O(1) if keys have no gaps, else O(log n).
    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        assert(isWhole, "keys were given up")
        let high = key &>> 6
        guard let first = highs.first, high >= first else { return false }
        // A gap in the keys moves later blocks toward the front, never toward the back.
        let guess = high &- first
        if guess < UInt64(highs.count), highs[Int(guess)] == high {
            return words[Int(guess)] &>> (key & 63) & 1 != 0
        }
        let end = Int(min(guess, UInt64(highs.count)))
        return search(high, below: end).map { words[$0] &>> (key & 63) & 1 != 0 } ?? false
    }

    private func search(_ high: UInt64, below end: Int) -> Int? {
        var (low, end) = (0, end)
        assert(end <= highs.count && highs.count == words.count, "\(end) of \(highs.count) blocks are searched")
        while low < end {
            let middle = (low + end) / 2
            if highs[middle] < high { low = middle + 1 } else { end = middle }
        }
        assert(low == highs.count || highs[low] >= high, "invariant 1: the search ends before the block \(high)")
        return low < highs.count && highs[low] == high ? low : nil
    }
}
