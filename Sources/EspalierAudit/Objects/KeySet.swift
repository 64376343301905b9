// The primary keys of the rows of one entity: a bit per key where they are dense, two bytes per key where they are not.
//
// Invariants
//   1. Keys are added in ascending order; after `finish` the set is complete.
//   2. Blocks of 4,096 keys ascend; a block without keys uses no memory.

/// A set of primary keys.
struct KeySet {
    private struct Block {
        let high: UInt64
        /// The index of its first key in `lists`, or of its first word in `words`.
        let start: Int
        /// The number of keys in `lists`; `nil` for a block in `words`.
        let count: Int?
    }

    private static let listCountMax = 256
    private static let wordCount = 64

    private var blocks: [Block] = []
    private var lists: [UInt16] = []
    private var words: [UInt64] = []
    private var open: (high: UInt64, keys: [UInt16])?

    /// Adds a key that is greater than all keys of the set.
    mutating func append(_ key: UInt64) {
        let high = key >> 12
        if open?.high != high {
            finish()
            open = (high, [])
        }
        open?.keys.append(UInt16(key & 0xFFF))
    }

    /// Closes the last block.
    ///
    /// `contains` sees the keys of that block only after this call.
    mutating func finish() {
        guard let (high, keys) = open else { return }
        open = nil
        guard keys.count > Self.listCountMax else {
            blocks.append(Block(high: high, start: lists.count, count: keys.count))
            lists += keys
            return
        }
        blocks.append(Block(high: high, start: words.count, count: nil))
        words += [UInt64](repeating: 0, count: Self.wordCount)
        let start = words.count - Self.wordCount
        for key in keys { words[start + Int(key) / 64] |= 1 << UInt64(key % 64) }
    }

    /// Whether the set contains `key`.
    ///
    /// - Complexity: O(1) in dense blocks of a set without gaps; otherwise O(log blocks + log keys of one block).
    func contains(_ key: UInt64) -> Bool {
        let high = key >> 12
        guard let first = blocks.first?.high, high >= first else { return false }
        // Without gaps the index of a block is the difference of the block numbers.
        let guess = Int(clamping: high - first)
        if guess < blocks.count, blocks[guess].high == high { return contains(key, in: blocks[guess]) }
        var (low, end) = (0, blocks.count)
        while low < end {
            let middle = (low + end) / 2
            if blocks[middle].high < high { low = middle + 1 } else { end = middle }
        }
        return low < blocks.count && blocks[low].high == high && contains(key, in: blocks[low])
    }

    private func contains(_ key: UInt64, in block: Block) -> Bool {
        let rest = UInt16(key & 0xFFF)
        guard let count = block.count else { return words[block.start + Int(rest) / 64] & 1 << UInt64(rest % 64) != 0 }
        var (low, end) = (block.start, block.start + count)
        while low < end {
            let middle = (low + end) / 2
            if lists[middle] < rest { low = middle + 1 } else { end = middle }
        }
        return low < block.start + count && lists[low] == rest
    }
}
