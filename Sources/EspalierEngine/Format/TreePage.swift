// Pages of B-trees: the sub-header, the slots and the cells of leaves and interior pages, for both kinds of keys.
//
// Invariants (on disk: never renumber)
//   1. From the front: header (32), sub-header (16), slots; from the back: fences, cells; between them the gap.
//   2. Integer pages keep their keys in one array, and cell offsets or children in a second one, so that a search
//      touches only keys. Slots of bytes pages contain the first four bytes of the key after the page's prefix.
//   3. low fence <= every key < high fence. A missing low fence stands for the least key, a missing high fence for
//      "no bound". The prefix of a bytes page is the common prefix of both fences; cells leave it out.
//   4. In an interior page, child i holds the keys below key i (and not below key i - 1), the right child the rest.

/// Offsets of the fields of a tree page.
@usableFromInline
package enum TreeLayout {
    package static let fragmentByteCount = 32  // u16: bytes in the cell area that belong to no cell
    package static let prefixByteCount = 34  // u16
    package static let rightChild = 36  // u32, interior pages
    package static let lowFenceByteCount = 40  // u16
    package static let highFenceByteCount = 42  // u16
    package static let rootTag = 44  // u32: low half of the XXH3-64 of the tree's name, in its root
    package static let slots = 48

    /// Slot of a bytes page: offset u16, key byte count u16, head u32.
    package static let bytesSlotByteCount = 8
    /// Slot of an integer leaf: key u64 (first array), offset u16 (second array).
    package static let integerLeafSlotByteCount = 10
    /// Slot of an interior integer page: key u64 (first array), child u32 (second array).
    package static let integerInteriorSlotByteCount = 12
    /// Both fences of an integer page, at its very end.
    package static let integerFenceByteCount = 16

    /// The two bytes at the beginning of each leaf cell: byte count of the value, and in the highest bit the flag.
    @inlinable package static var valueWordByteCount: Int { 2 }
    /// Set in the value word if the value is in overflow pages.
    @inlinable package static var overflowFlag: UInt16 { 0x8000 }
    /// The size of the reference that the leaf cell then has in place of the value: byte count u64, first page u32.
    package static let overflowReferenceByteCount = 12
    /// The size of the child number at the beginning of each interior cell of a bytes page.
    package static let childByteCount = 4
}

/// A value as a leaf stores it: trivial; an inline value is valid as long as its bytes.
package enum StoredValue {
    /// In the leaf itself.
    case inline(ByteString)
    /// In a chain of overflow pages.
    case overflow(first: PageNumber, byteCount: UInt64)

    /// Its size in a leaf cell after the value word, in bytes.
    @inline(__always)
    package var cellByteCount: Int {
        switch self {
        case .inline(let bytes): bytes.count
        case .overflow: TreeLayout.overflowReferenceByteCount
        }
    }

    /// The value word that describes it.
    @inline(__always)
    package var word: UInt16 {
        switch self {
        case .inline(let bytes): UInt16(truncatingIfNeeded: bytes.count)
        case .overflow: UInt16(TreeLayout.overflowReferenceByteCount) | TreeLayout.overflowFlag
        }
    }
}

extension PageView {
    // MARK: - Sub-header

    /// Whether the keys of this tree page are integers.
    @inline(__always)
    package var hasIntegerKeys: Bool {
        typeByte == PageType.leafInteger.rawValue || typeByte == PageType.interiorInteger.rawValue
    }
    /// Whether this tree page is a leaf.
    @inline(__always)
    package var isLeaf: Bool { level == 0 }
    /// Bytes in the cell area that belong to no cell.
    @inline(__always)
    package var fragmentByteCount: Int { Int(u16(TreeLayout.fragmentByteCount)) }
    /// The byte count of the prefix that all keys share.
    @inline(__always)
    package var prefixByteCount: Int { Int(u16(TreeLayout.prefixByteCount)) }
    /// The byte count of the low fence, 0 if there is none.
    @inline(__always)
    package var lowFenceByteCount: Int { Int(u16(TreeLayout.lowFenceByteCount)) }
    /// The byte count of the high fence, 0 if there is none.
    @inline(__always)
    package var highFenceByteCount: Int { Int(u16(TreeLayout.highFenceByteCount)) }
    /// The child of the keys that are not below the last separator.
    @inline(__always)
    package var rightChild: PageNumber { u32(TreeLayout.rightChild) }
    /// The hash of the tree's name, in its root.
    package var rootTag: UInt32 { u32(TreeLayout.rootTag) }

    /// Bytes per slot of this page.
    @inline(__always)
    package var slotByteCount: Int {
        if hasIntegerKeys {
            return isLeaf ? TreeLayout.integerLeafSlotByteCount : TreeLayout.integerInteriorSlotByteCount
        }
        return TreeLayout.bytesSlotByteCount
    }
    /// The offset where the slots end.
    @inline(__always)
    package var slotsEnd: Int { TreeLayout.slots &+ cellCount &* slotByteCount }
    /// The offset where the cell area ends and the fences begin.
    @inline(__always)
    package var contentEnd: Int {
        hasIntegerKeys
            ? byteCount &- TreeLayout.integerFenceByteCount : byteCount &- lowFenceByteCount &- highFenceByteCount
    }
    /// The bytes that slots and cells use.
    package var usedByteCount: Int {
        contentEnd &- TreeLayout.slots &- (contentStart &- slotsEnd) &- fragmentByteCount
    }
    /// The bytes of the page without gap and fragments: the least page size for this content.
    package var occupiedByteCount: Int { byteCount &- (contentStart &- slotsEnd) &- fragmentByteCount }
    /// The bytes that slots and cells could use.
    package var capacity: Int { contentEnd &- TreeLayout.slots }

    // MARK: - Fences

    /// The low fence of a bytes page (empty if there is none, which is the least key).
    @inline(__always)
    package var lowFence: ByteString {
        bytes(byteCount &- highFenceByteCount &- lowFenceByteCount, lowFenceByteCount)
    }
    /// The high fence of a bytes page (empty if there is none).
    @inline(__always)
    package var highFence: ByteString { bytes(byteCount &- highFenceByteCount, highFenceByteCount) }
    /// The prefix of all keys of a bytes page.
    @inline(__always)
    package var prefix: ByteString {
        bytes(byteCount &- highFenceByteCount &- lowFenceByteCount, prefixByteCount)
    }
    /// The low fence of an integer page, 0 if there is none.
    @inline(__always)
    package var integerLowFence: UInt64 { u64(byteCount &- 16) }
    /// The high fence of an integer page; meaningless if there is none.
    @inline(__always)
    package var integerHighFence: UInt64 { u64(byteCount &- 8) }

    /// Whether `key` is within the fences of this page.
    package func fencesContain(_ key: TreeKey) -> Bool {
        assert(isTreePage, "page \(storedNumber) has no fences")
        if hasIntegerKeys {
            return key.integer >= integerLowFence && (highFenceByteCount == 0 || key.integer < integerHighFence)
        }
        return key.bytes.compare(lowFence) >= 0 && (highFenceByteCount == 0 || key.bytes.compare(highFence) < 0)
    }

    /// Whether this page begins exactly where `other` ends.
    package func follows(_ other: PageView) -> Bool {
        assert(level == other.level && hasIntegerKeys == other.hasIntegerKeys, "pages of two levels")
        guard other.highFenceByteCount > 0, lowFenceByteCount > 0 else { return false }
        if hasIntegerKeys { return integerLowFence == other.integerHighFence }
        return lowFence.equals(other.highFence)
    }

    /// The low fence as a key, `nil` if there is none.
    package var lowFenceKey: TreeKey? {
        guard lowFenceByteCount > 0 else { return nil }
        return hasIntegerKeys ? TreeKey(integerLowFence) : TreeKey(lowFence)
    }
    /// The high fence as a key, `nil` if there is none.
    package var highFenceKey: TreeKey? {
        guard highFenceByteCount > 0 else { return nil }
        return hasIntegerKeys ? TreeKey(integerHighFence) : TreeKey(highFence)
    }

    // MARK: - Slots and cells

    /// Key `index` of an integer page.
    @inline(__always)
    package func integerKey(_ index: Int) -> UInt64 { u64(TreeLayout.slots &+ 8 &* index) }

    /// The offset of cell `index` of a leaf or of a bytes page.
    @inline(__always)
    package func cellOffset(_ index: Int) -> Int {
        hasIntegerKeys ? Int(u16(TreeLayout.slots &+ 8 &* cellCount &+ 2 &* index)) : bytesCellOffset(index)
    }

    /// The offset of cell `index` of a bytes page.
    @inline(__always)
    package func bytesCellOffset(_ index: Int) -> Int { Int(u16(TreeLayout.slots &+ 8 &* index)) }

    /// The byte count of key `index` of a bytes page after the prefix.
    @inline(__always)
    package func suffixByteCount(_ index: Int) -> Int { Int(u16(TreeLayout.slots &+ 8 &* index &+ 2)) }

    /// The first four bytes of key `index` of a bytes page after the prefix, big-endian.
    @inline(__always)
    package func head(_ index: Int) -> UInt32 { u32(TreeLayout.slots &+ 8 &* index &+ 4) }

    /// Key `index` of a bytes page after the prefix.
    @inline(__always)
    package func suffix(_ index: Int) -> ByteString {
        let before = isLeaf ? TreeLayout.valueWordByteCount : TreeLayout.childByteCount
        return bytes(bytesCellOffset(index) &+ before, suffixByteCount(index))
    }

    /// The value of entry `index` of a leaf.
    @inline(__always)
    package func value(_ index: Int) -> StoredValue {
        assert(isLeaf && index >= 0 && index < cellCount, "value \(index) of \(cellCount)")
        let offset = cellOffset(index)
        let word = u16(offset)
        let start = offset &+ TreeLayout.valueWordByteCount &+ (hasIntegerKeys ? 0 : suffixByteCount(index))
        if word & TreeLayout.overflowFlag != 0 {
            return .overflow(first: u32(start &+ 8), byteCount: u64(start))
        }
        return .inline(bytes(start, Int(word)))
    }

    /// Child `index` of an interior page; `cellCount` stands for the right child.
    @inline(__always)
    package func child(_ index: Int) -> PageNumber {
        assert(!isLeaf && index >= 0 && index <= cellCount, "child \(index) of \(cellCount + 1)")
        return u32(childOffset(index))
    }

    /// Makes `page` child `index` of an interior page.
    package func setChild(_ index: Int, to page: PageNumber) {
        assert(!isLeaf && index >= 0 && index <= cellCount, "child \(index) of \(cellCount + 1)")
        set(page, at: childOffset(index))
    }

    @inline(__always)
    private func childOffset(_ index: Int) -> Int {
        if index == cellCount { return TreeLayout.rightChild }
        return hasIntegerKeys ? TreeLayout.slots &+ 8 &* cellCount &+ 4 &* index : bytesCellOffset(index)
    }

    /// The bytes of cell `index`, without its slot; 0 in interior integer pages, which have none.
    @inline(__always)
    package func cellByteCount(_ index: Int) -> Int {
        guard isLeaf else {
            return hasIntegerKeys ? 0 : TreeLayout.childByteCount &+ suffixByteCount(index)
        }
        let value = TreeLayout.valueWordByteCount &+ Int(u16(cellOffset(index)) & ~TreeLayout.overflowFlag)
        return hasIntegerKeys ? value : value &+ suffixByteCount(index)
    }

    /// A copy of key `index` of a bytes page, with the prefix.
    package func keyArray(_ index: Int) -> [UInt8] {
        assert(!hasIntegerKeys && index >= 0 && index < cellCount, "key \(index) of \(cellCount)")
        return prefix.array + suffix(index).array
    }
}

/// A key from a caller: an integer or bytes, depending on the tree.
///
/// A trivial value; the owner of the bytes outlives it.
package struct TreeKey {
    /// The key in an integer tree.
    package let integer: UInt64
    /// The key in a bytes tree.
    package let bytes: ByteString

    /// An integer key.
    @inline(__always)
    package init(_ integer: UInt64) {
        self.integer = integer
        // SAFETY: an empty string has no bytes whose owner could be destroyed.
        bytes = unsafe ByteString(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// A bytes key.
    @inline(__always)
    package init(_ bytes: ByteString) {
        integer = 0
        self.bytes = bytes
    }
}
