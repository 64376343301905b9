// Writes a whole tree page, for splits, merges, shifts, spreads and bulk loads.
//
// Invariants
//   1. Fences are written first, because they determine the prefix; then `count` entries in ascending order, one by one
//      or all at once.
//   2. The caller has made sure that everything fits. A key that is shorter than the page's prefix is reported, not
//      written: only a damaged page can hold one.

/// The identity of a tree page, apart from its entries and fences.
package struct TreePageIdentity {
    package let number: PageNumber
    package let treeID: UInt32
    package let level: Int
    package let isInteger: Bool
    /// Set in the root: the hash of the tree's name.
    package let rootTag: UInt32?

    package init(number: PageNumber, treeID: UInt32, level: Int, isInteger: Bool, rootTag: UInt32? = nil) {
        self.number = number
        self.treeID = treeID
        self.level = level
        self.isInteger = isInteger
        self.rootTag = rootTag
        assert(number != 0 && level >= 0 && level < StoreGeometry.treeDepthMax, "page \(number) of level \(level)")
    }

    /// The identity of the page in `view`.
    package init(of view: PageView) {
        number = view.storedNumber
        assert(view.isTreePage, "page \(view.storedNumber) is of another type")
        treeID = view.treeID
        level = view.level
        isInteger = view.hasIntegerKeys
        rootTag = view.flags & PageFlags.root != 0 ? view.rootTag : nil
    }

    /// The page type for this level and kind of keys.
    package var type: PageType {
        if level == 0 { return isInteger ? .leafInteger : .leafBytes }
        return isInteger ? .interiorInteger : .interiorBytes
    }
}

/// Writes one tree page.
package struct TreePageBuilder {
    /// The page that is being written.
    ///
    /// Its bytes must not overlap a page from which entries are appended.
    package let view: PageView
    private let isInteger: Bool
    private let isLeaf: Bool
    private let count: Int
    private let prefixLength: Int
    private var index = 0
    private var offset: Int

    /// Begins a page with room for `count` entries.
    package init(
        _ view: PageView, _ identity: TreePageIdentity, count: Int, low: TreeKey?, high: TreeKey?,
        rightChild: PageNumber = 0
    ) {
        assert(count >= 0 && count <= view.byteCount, "\(count) entries")
        self.view = view
        self.count = count
        isInteger = identity.isInteger
        isLeaf = identity.level == 0
        view.formatHeader(
            number: identity.number, type: identity.type, level: identity.level, treeID: identity.treeID,
            flags: identity.rootTag == nil ? 0 : PageFlags.root)
        view.clear(PageLayout.headerByteCount..<TreeLayout.slots)
        view.set(rightChild, at: TreeLayout.rightChild)
        view.set(identity.rootTag ?? 0, at: TreeLayout.rootTag)
        if isInteger {
            prefixLength = 0
            view.set(UInt16(low == nil ? 0 : 8), at: TreeLayout.lowFenceByteCount)
            view.set(UInt16(high == nil ? 0 : 8), at: TreeLayout.highFenceByteCount)
            view.set(low?.integer ?? 0, at: view.byteCount - 16)
            view.set(high?.integer ?? 0, at: view.byteCount - 8)
        } else {
            let (lowBytes, highBytes) = (low?.bytes ?? TreeKey(0).bytes, high?.bytes ?? TreeKey(0).bytes)
            prefixLength = high == nil ? 0 : lowBytes.commonPrefix(with: highBytes)
            view.set(UInt16(truncatingIfNeeded: lowBytes.count), at: TreeLayout.lowFenceByteCount)
            view.set(UInt16(truncatingIfNeeded: highBytes.count), at: TreeLayout.highFenceByteCount)
            view.set(UInt16(truncatingIfNeeded: prefixLength), at: TreeLayout.prefixByteCount)
            view.copy(lowBytes, to: view.byteCount - highBytes.count - lowBytes.count)
            view.copy(highBytes, to: view.byteCount - highBytes.count)
        }
        view.setCellCount(count)
        offset = view.contentEnd
        view.setContentStart(offset)
        assert(view.slotsEnd <= offset, "\(count) slots have no room beside the fences")
    }

    /// Appends the entries `range` of the page `other`, which is of the same kind and on the same level.
    package mutating func append(from other: PageView, _ range: Range<Int>) throws(StorageError) {
        assert(range.lowerBound >= 0 && range.upperBound <= other.cellCount, "entries \(range) of \(other.cellCount)")
        assert(other.hasIntegerKeys == isInteger && other.isLeaf == isLeaf, "entries of a page of another kind")
        if isInteger {
            for source in range {
                let key = other.integerKey(source)
                if isLeaf { append(key, other.value(source)) } else { append(key, leftChild: other.child(source)) }
            }
            return
        }
        let oldPrefix = other.prefixByteCount
        // If the new prefix is shorter, a suffix regains bytes of the old prefix; if it is longer, a suffix loses some.
        let middle = prefixLength < oldPrefix ? other.prefix.dropping(prefixLength) : TreeKey(0).bytes
        let drop = max(0, prefixLength - oldPrefix)
        for source in range {
            let (suffixLength, start) = (other.suffixByteCount(source) &- drop, other.bytesCellOffset(source))
            guard suffixLength >= 0 else {
                throw .corrupt(.keyOutsideFences, page: other.storedNumber, tree: other.treeID)
            }
            // The bytes before each key, and those after it.
            let (wordLength, valueLength) =
                isLeaf
                ? (TreeLayout.valueWordByteCount, Int(other.u16(start) & ~TreeLayout.overflowFlag))
                : (TreeLayout.childByteCount, 0)
            let keyLength = middle.count &+ suffixLength
            take(wordLength &+ keyLength &+ valueLength)
            // Copies the rest of the key and the value at once; the bytes copied before them are overwritten next.
            view.copy(
                from: other, at: start &+ drop, to: offset &+ middle.count,
                count: wordLength &+ suffixLength &+ valueLength)
            if isLeaf { view.set(other.u16(start), at: offset) } else { view.set(other.u32(start), at: offset) }
            if middle.count > 0 { view.copy(middle, to: offset &+ wordLength) }
            view.storeBytesSlot(index, view.bytes(offset &+ wordLength, keyLength), offset)
            index &+= 1
        }
    }

    /// Appends `key` and `value` to a leaf.
    package mutating func append(_ key: TreeKey, _ value: StoredValue) throws(StorageError) {
        if isInteger { return append(key.integer, value) }
        append(try withoutPrefix(key.bytes), value)
    }

    /// Appends `key` and the child to its left to an interior page.
    package mutating func append(_ key: TreeKey, leftChild: PageNumber) throws(StorageError) {
        if isInteger { return append(key.integer, leftChild: leftChild) }
        append(try withoutPrefix(key.bytes), leftChild: leftChild)
    }

    /// Appends all entries of an integer leaf at once.
    ///
    /// - Parameters:
    ///   - keys: the keys, as the page has them.
    ///   - offsets: the offsets of the cells, as the page has them.
    ///   - cells: all cells, which end where the page's fences begin.
    package mutating func append(keys: ByteString, offsets: ByteString, cells: ByteString) {
        assert(isInteger && isLeaf && index == 0, "page \(view.storedNumber) has entries, or other keys")
        assert(keys.count == 8 * count && offsets.count == 2 * count, "\(keys.count) bytes of \(count) keys")
        let start = offset &- cells.count
        precondition(start >= view.slotsEnd, "\(cells.count) bytes of cells have no room")
        view.copy(keys, to: TreeLayout.slots)
        view.copy(offsets, to: TreeLayout.slots &+ keys.count)
        view.copy(cells, to: start)
        (index, offset) = (count, start)
    }

    /// Finishes the page; all entries must have been appended.
    package func finish() {
        precondition(index == count, "\(index) of \(count) entries were written")
        precondition(offset >= view.slotsEnd, "cells overlap slots: \(offset) < \(view.slotsEnd)")
        view.setContentStart(offset)
        assert(view.cellCount == count && view.fragmentByteCount == 0, "\(view.cellCount) of \(count) entries")
    }

    private func withoutPrefix(_ key: ByteString) throws(StorageError) -> ByteString {
        guard key.count >= prefixLength else {
            throw .corrupt(.keyOutsideFences, page: view.storedNumber, tree: view.treeID)
        }
        return key.dropping(prefixLength)
    }

    // MARK: - Cells

    private mutating func take(_ byteCount: Int) {
        assert(byteCount >= 0, "a cell of \(byteCount) bytes")
        offset &-= byteCount
        precondition(offset >= view.slotsEnd && index < count, "entry \(index) of \(count) does not fit")
    }

    private mutating func append(_ key: UInt64, _ value: StoredValue) {
        take(TreeLayout.valueWordByteCount &+ value.cellByteCount)
        view.set(key, at: TreeLayout.slots &+ 8 &* index)
        view.set(UInt16(truncatingIfNeeded: offset), at: TreeLayout.slots &+ 8 &* count &+ 2 &* index)
        view.storeLeafCell(at: offset, suffix: TreeKey(0).bytes, value: value)
        index &+= 1
    }

    private mutating func append(_ key: UInt64, leftChild: PageNumber) {
        take(0)
        view.set(key, at: TreeLayout.slots &+ 8 &* index)
        view.set(leftChild, at: TreeLayout.slots &+ 8 &* count &+ 4 &* index)
        index &+= 1
    }

    private mutating func append(_ suffix: ByteString, _ value: StoredValue) {
        take(TreeLayout.valueWordByteCount &+ suffix.count &+ value.cellByteCount)
        view.storeLeafCell(at: offset, suffix: suffix, value: value)
        view.storeBytesSlot(index, suffix, offset)
        index &+= 1
    }

    private mutating func append(_ suffix: ByteString, leftChild: PageNumber) {
        take(TreeLayout.childByteCount &+ suffix.count)
        view.set(leftChild, at: offset)
        view.copy(suffix, to: offset &+ TreeLayout.childByteCount)
        view.storeBytesSlot(index, suffix, offset)
        index &+= 1
    }
}
