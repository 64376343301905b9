// Finds a key in a tree page.
//
// Invariants
//   1. The result is right for any key, also for one outside the page's fences.
//   2. The search of integer pages has no branch that depends on the keys; that of bytes pages decides by the four-byte
//      heads in the slots, and looks at cells only where heads are equal.

import Synchronization

/// The position where a key is, or would be, in a page.
package struct SlotPosition {
    /// The number of keys below the one that was searched.
    package let index: Int
    /// Whether the key at `index` is the one that was searched.
    package let isExact: Bool

    @inline(__always)
    package init(index: Int, isExact: Bool) {
        assert(index >= 0, "place \(index)")
        self.index = index
        self.isExact = isExact
    }

    /// In an interior page: the index of the child that holds the key.
    @inline(__always)
    package var childIndex: Int { isExact ? index &+ 1 : index }
}

extension PageView {
    /// Finds `key` in this tree page.
    ///
    /// O(log n).
    @inline(__always)
    package func position(of key: TreeKey) -> SlotPosition {
        hasIntegerKeys ? position(ofInteger: key.integer) : position(ofBytes: key.bytes)
    }

    /// Begins to load the bytes that a search reads into the processor's cache: most of the slots, and the fences.
    ///
    /// In a search each load determines the next one, so they run one after the other; these loads overlap. Worthwhile
    /// for leaves, because interior pages are mostly cached (EspalierEngine.docc/Decisions.md).
    @inline(__always)
    package func prefetchForSearch() {
        guard byteCount >= 1024 else { return }
        // SAFETY: in bounds; any byte can be loaded atomically, and the compiler keeps such loads if they are unused.
        let bytes = unsafe base.assumingMemoryBound(to: Atomic<UInt8>.self)
        for line in 1..<13 { _ = unsafe bytes[64 &* line].load(ordering: .relaxed) }
        _ = unsafe bytes[byteCount &- 1].load(ordering: .relaxed)
    }

    /// Finds `key`, which is probably absent and belongs at `guess`.
    ///
    /// O(1) in that case: an insertion in a run in order compares two keys.
    @inline(__always)
    package func position(of key: TreeKey, expectedAt guess: Int) -> SlotPosition {
        if !hasIntegerKeys, isPlace(guess, of: key.bytes) { return SlotPosition(index: guess, isExact: false) }
        return position(of: key)
    }

    /// Whether slot `index` of a bytes page is where `key`, which is not in the page, belongs.
    private func isPlace(_ index: Int, of key: ByteString) -> Bool {
        let prefixLength = prefixByteCount
        guard index >= 0, index <= cellCount, key.count >= prefixLength, key.prefix(prefixLength).equals(prefix)
        else { return false }
        let suffix = key.dropping(prefixLength)
        if index > 0, self.suffix(index &- 1).compare(suffix) >= 0 { return false }
        return index == cellCount || suffix.compare(self.suffix(index)) < 0
    }

    /// Finds `key` in an integer page.
    @inline(__always)
    package func position(ofInteger key: UInt64) -> SlotPosition {
        assert(hasIntegerKeys, "page \(storedNumber) has keys of bytes")
        let count = cellCount
        guard count > 0 else { return SlotPosition(index: 0, isExact: false) }
        var first = 0
        var length = count
        // The length does not depend on the comparison, so the compiler emits a conditional move for the rest: a
        // mispredicted branch per step would cost more than the loads.
        while length > 1 {
            let half = length &>> 1
            first = integerKey(first &+ half &- 1) < key ? first &+ half : first
            length &-= half
        }
        if integerKey(first) < key { first &+= 1 }
        return SlotPosition(index: first, isExact: first < count && integerKey(first) == key)
    }

    /// Finds `key` in a bytes page.
    package func position(ofBytes key: ByteString) -> SlotPosition {
        assert(!hasIntegerKeys, "page \(storedNumber) has integer keys")
        let count = cellCount
        let prefixLength = prefixByteCount
        if prefixLength > 0 {
            let order = key.prefix(min(prefixLength, key.count)).compare(prefix)
            if order != 0 { return SlotPosition(index: order < 0 ? 0 : count, isExact: false) }
        }
        let suffix = key.dropping(prefixLength)
        let head = suffix.head
        var first = lowerBound(ofHead: head, in: 0..<count)
        guard first < count, self.head(first) == head else { return SlotPosition(index: first, isExact: false) }
        // Usually one key has this head, so the end of the range is searched only if the next key has it too.
        var end = first &+ 1
        if end < count, self.head(end) == head {
            end = head == UInt32.max ? count : lowerBound(ofHead: head &+ 1, in: end..<count)
        }
        while first < end {
            let middle = (first &+ end) &>> 1
            let order = suffix.compare(self.suffix(middle))
            if order == 0 { return SlotPosition(index: middle, isExact: true) }
            if order < 0 { end = middle } else { first = middle &+ 1 }
        }
        return SlotPosition(index: first, isExact: false)
    }

    /// The first slot in `range` whose head is not below `head`.
    @inline(__always)
    private func lowerBound(ofHead head: UInt32, in range: Range<Int>) -> Int {
        var first = range.lowerBound
        var length = range.upperBound &- first
        guard length > 0 else { return first }
        while length > 1 {
            let half = length &>> 1
            first = self.head(first &+ half &- 1) < head ? first &+ half : first
            length &-= half
        }
        return self.head(first) < head ? first &+ 1 : first
    }
}
