// A cursor: a position in a tree that moves in both directions, and survives changes of its own transaction.
//
//                     next                  next, at the last one
//     before first ------------> on an entry -----------------------> after the last
//                  <------------     |   ^   <-----------------------
//          previous, at the first    |   |          previous
//                                    |   | next, previous: found again by the saved key
//      a page of the source changed  v   |
//                               outdated entry
//
//   From every state, `first`, `last` and `seek` lead to an entry, or to an end if there is none; a move that throws
//   leaves the cursor before the first entry.
//
// Invariants
//   1. An entry is current while the source's change count is the one seen at the last move: `leaf` is pinned, and
//      `index` is the entry's index. An outdated entry, which may have been removed, is found again by the saved key.
//   2. Over a source that can change, the key of the entry is saved at each move.
//   3. When the cursor crosses to another leaf, the fences must meet; so even in a damaged tree keys ascend, and every
//      walk ends.
//   4. `path` leads from the root to the parent of the leaf.

/// A position in a tree: before the first entry, on an entry, after the last, or at the place of a removed entry.
///
/// A class and not a noncopyable struct: see Decisions, "Layers of a cursor".
package final class TreeCursor<Source: PageSource> {
    private let source: Source
    private var record: TreeRecord
    /// The kind of keys of the tree.
    package let kind: KeyKind
    // Debug builds check that no access to these two overlaps another one; release builds trust that.
    #if DEBUG
        private var path = TreePath()
        private var leaf: PagePin?
    #else
        private var path: TreePath {
            // SAFETY: no access overlaps another one: the entries are plain numbers.
            _read { yield unsafe storedPath }
            _modify { yield &(unsafe storedPath) }
        }
        private var leaf: PagePin? {
            // SAFETY: no access overlaps another one: the release of a pin calls no code of a cursor.
            _read { yield unsafe storedLeaf }
            _modify { yield &(unsafe storedLeaf) }
        }
        // SAFETY: only the two properties above access these, and no access overlaps another one.
        @exclusivity(unchecked) private var storedPath = TreePath()
        @exclusivity(unchecked) private var storedLeaf: PagePin?
    #endif
    /// The view of `leaf`, stored so that no access has to unwrap `leaf`.
    private var view: PageView
    private var index = 0
    private var place = Place.beforeFirst
    /// The leaves that the cursor has crossed to since the last search, in one direction; negative: backward.
    private var crossed = 0
    private var changeCount: UInt64
    /// Whether the source can change.
    private let savesKeys: Bool
    /// The key of the entry, over a source that can change.
    private var savedInteger: UInt64 = 0
    private var savedBytes: [UInt8] = []
    /// Whether the last `seek` found exactly its key.
    package private(set) var isExact = false

    private enum Place {
        case beforeFirst, onEntry, afterLast
    }

    /// A cursor before the first entry of `record`'s tree.
    package init(_ source: Source, _ record: TreeRecord) {
        self.source = source
        self.record = record
        kind = record.kind
        view = ScratchView.none
        changeCount = source.changeCount
        savesKeys = source.canChange
    }

    /// Unpins first: the cursor may have the last reference to the source, whose pages must outlive the pin.
    deinit { leaf = nil }

    /// Whether the cursor is on an entry (which the transaction may have removed since).
    package var isOnEntry: Bool { place == .onEntry }

    /// Uses the root in `record` from the next search on.
    package func updateRecord(_ record: TreeRecord) { self.record = record }

    /// The operations on the tree; not stored, because destroying a stored one would need the metadata of its generic
    /// type.
    @inline(__always)
    private var operations: BTree<Source> { BTree(source) }

    /// Whether `leaf` and `index` are still valid.
    ///
    /// Asks the source only if it can change, because each access to it costs a retain and a release.
    @inline(__always)
    private var isCurrent: Bool { !savesKeys || changeCount == source.changeCount }

    // MARK: - Moving

    /// Moves to the first entry; returns whether there is one.
    package func first() throws(StorageError) -> Bool {
        isExact = false
        crossed = 0
        try descend(from: record.root, expectedLevel: PageView.anyLevel, toLast: false)
        return try settleForward(at: 0)
    }

    /// Moves to the last entry; returns whether there is one.
    package func last() throws(StorageError) -> Bool {
        isExact = false
        crossed = 0
        try descend(from: record.root, expectedLevel: PageView.anyLevel, toLast: true)
        return try settleBackward(at: view.cellCount - 1)
    }

    /// Moves to the first entry whose key is not below `key`; returns whether there is one.
    package func seek(_ key: TreeKey) throws(StorageError) -> Bool {
        let position: SlotPosition
        if let near = positionInLeaf(of: key) {
            position = near
        } else {
            crossed = 0
            position = try descend(to: key)
        }
        let isOnEntry = try settleForward(at: position.index)
        isExact = position.isExact
        return isOnEntry
    }

    /// The position of `key` in the leaf of the entry; `nil` if its fences do not contain `key`.
    ///
    /// Consecutive seeks are often for keys near each other. `nil` over a source that can change, because the page of
    /// the leaf may have been reused.
    @inline(__always)
    private func positionInLeaf(of key: TreeKey) -> SlotPosition? {
        guard place == .onEntry, !savesKeys else { return nil }
        if kind == .integer, index &+ 1 < view.cellCount, view.integerKey(index &+ 1) == key.integer {
            return SlotPosition(index: index &+ 1, isExact: true)
        }
        guard view.fencesContain(key) else { return nil }
        return kind == .integer ? view.position(ofInteger: key.integer) : view.position(ofBytes: key.bytes)
    }

    /// Moves to the next entry; returns whether there is one.
    @inline(__always)
    package func next() throws(StorageError) -> Bool {
        if place == .onEntry, isCurrent, index &+ 1 < view.cellCount {
            index &+= 1
            if savesKeys { saveKey() }
            assert(checkInvariants())
            return true
        }
        return try nextSlowly()
    }

    /// Moves to the previous entry; returns whether there is one.
    @inline(__always)
    package func previous() throws(StorageError) -> Bool {
        if place == .onEntry, isCurrent, index > 0 {
            index &-= 1
            if savesKeys { saveKey() }
            assert(checkInvariants())
            return true
        }
        return try previousSlowly()
    }

    @inline(never)
    private func nextSlowly() throws(StorageError) -> Bool {
        switch place {
        case .beforeFirst: return try first()
        case .afterLast: return false
        case .onEntry:
            if !isCurrent {
                let position = try relocate()
                return try settleForward(at: position.isExact ? position.index + 1 : position.index)
            }
            return try settleForward(at: index + 1)
        }
    }

    @inline(never)
    private func previousSlowly() throws(StorageError) -> Bool {
        switch place {
        case .beforeFirst: return false
        case .afterLast: return try last()
        case .onEntry:
            if !isCurrent {
                let position = try relocate()
                return try settleBackward(at: position.index - 1)
            }
            return try settleBackward(at: index - 1)
        }
    }

    // MARK: - The entry

    /// The key of the entry of an integer tree.
    ///
    /// The cursor must be on an entry.
    @inline(__always)
    package var integerKey: UInt64 {
        precondition(place == .onEntry && kind == .integer, "the cursor is not on an entry of an integer tree")
        return savesKeys ? savedInteger : view.integerKey(index)
    }

    /// A copy of the key of the entry of a bytes tree.
    ///
    /// The cursor must be on an entry.
    package var bytesKey: [UInt8] {
        precondition(place == .onEntry && kind == .bytes, "the cursor is not on an entry of a bytes tree")
        return savesKeys ? savedBytes : view.keyArray(index)
    }

    /// Calls `body` with the bytes of the key (integer keys: 8 bytes, big-endian).
    ///
    /// The cursor must be on an entry. Allocates nothing, unless the key has more than 1,024 bytes.
    @inline(__always)
    package func withKey<R>(_ body: (RawSpan) -> R) -> R {
        guard kind == .bytes else {
            var bigEndian = integerKey.bigEndian
            // SAFETY: the integer outlives the call.
            return unsafe withUnsafeBytes(of: &bigEndian) { unsafe body($0.bytes) }
        }
        precondition(place == .onEntry, "the cursor is not on an entry")
        // SAFETY: the array outlives the call.
        if savesKeys { return unsafe savedBytes.withUnsafeBytes { unsafe body($0.bytes) } }
        return view.withKey(index, body)
    }

    /// Calls `body` with the bytes of the entry's value, in place if they are in a leaf.
    ///
    /// The cursor must be on an entry. `nil` if the transaction has removed it since.
    @inline(__always)
    package func withValue<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R? {
        precondition(place == .onEntry, "the cursor is not on an entry")
        if isCurrent { return try operations.withBytes(of: view.value(index), treeID: record.treeID, body) }
        if kind == .integer { return try operations.withValue(of: TreeKey(savedInteger), in: record, body) }
        let position = try locateSavedBytes()
        guard position.isExact else { return nil }
        return try operations.withBytes(of: position.pin.view.value(position.index), treeID: record.treeID, body)
    }

    /// Calls `body` with the bytes of the entry's value that are in one page, and with the byte count of the value.
    ///
    /// The cursor must be on an entry. `nil` if the transaction has removed it since.
    package func withBeginning<R>(
        _ body: (_ beginning: RawSpan, _ byteCount: Int) -> R
    ) throws(StorageError) -> R? {
        precondition(place == .onEntry, "the cursor is not on an entry")
        guard isCurrent else { return try withValue { body($0, $0.byteCount) } }
        return try operations.withBeginning(of: view.value(index), treeID: record.treeID, body)
    }

    /// The cells of the leaf from the entry on, of an integer tree; `nil` over a source that can change.
    ///
    /// The cursor must be on an entry, and not move to another leaf while they are in use.
    @inline(__always)
    var cellsFromEntry: LeafCells? {
        precondition(place == .onEntry && kind == .integer, "the cursor is not on an entry of an integer tree")
        return savesKeys ? nil : LeafCells(view, index..<view.cellCount)
    }

    /// Moves to the entry at `index` of the leaf, over a source that cannot change.
    @inline(__always)
    func moveInLeaf(to index: Int) {
        precondition(
            place == .onEntry && !savesKeys && index >= 0 && index < view.cellCount, "entry \(index) is not in the leaf"
        )
        self.index = index
        assert(checkInvariants())
    }

    private func locateSavedBytes() throws(StorageError) -> LeafPosition {
        let key = OwnedKey(savedBytes)
        return try operations.locate(key.key, in: record)
    }

    // MARK: - Places

    private func saveKey() {
        assert(place == .onEntry && isCurrent, "invariant 2: the cursor is not on the entry whose key is saved")
        if kind == .integer {
            savedInteger = view.integerKey(index)
        } else {
            savedBytes.removeAll(keepingCapacity: true)
            savedBytes.append(view.prefix)
            savedBytes.append(view.suffix(index))
        }
    }

    /// Finds the saved key again after changes.
    private func relocate() throws(StorageError) -> SlotPosition {
        assert(savesKeys && place == .onEntry, "an entry over a source that cannot change is outdated")
        if kind == .integer { return try descend(to: TreeKey(savedInteger)) }
        let key = OwnedKey(savedBytes)
        return try descend(to: key.key)
    }

    /// Moves to entry `start` of the leaf, or to the first entry of a later leaf; returns whether there is one.
    private func settleForward(at start: Int) throws(StorageError) -> Bool {
        assert(start >= 0 && start <= view.cellCount, "entry \(start) of \(view.cellCount)")
        index = start
        while index >= view.cellCount {
            guard try crossToNextLeaf() else {
                place = .afterLast
                return false
            }
        }
        return finishOnEntry()
    }

    /// Moves to entry `start` of the leaf, or to the last entry of an earlier leaf; returns whether there is one.
    private func settleBackward(at start: Int) throws(StorageError) -> Bool {
        assert(start >= -1 && start < view.cellCount, "entry \(start) of \(view.cellCount)")
        index = start
        while index < 0 {
            guard try crossToPreviousLeaf() else {
                place = .beforeFirst
                return false
            }
        }
        return finishOnEntry()
    }

    private func finishOnEntry() -> Bool {
        place = .onEntry
        if savesKeys { saveKey() }
        assert(checkInvariants())
        return true
    }

    // MARK: - Pages

    private func hold(_ pin: consuming PagePin) {
        assert(pin.view.isLeaf && pin.view.treeID == record.treeID, "page \(pin.number) is not a leaf of the tree")
        assert(!path.contains(pin.number), "invariant 4: page \(pin.number) is on the path to itself")
        view = pin.view
        leaf = consume pin
        if savesKeys { changeCount = source.changeCount }
    }

    /// Descends to the leaf of `key`; returns its position there.
    private func descend(to key: TreeKey) throws(StorageError) -> SlotPosition {
        place = .beforeFirst  // in case a page is damaged
        path.removeAll()
        let operations = operations
        let end = try operations.descend(from: record.root, in: record) { page, view in
            let index = operations.position(of: key, in: view, record).childIndex
            path.push(page, index)
            return index
        }
        hold(try operations.pinLeaf(end, in: record))
        return operations.position(of: key, in: view, record)
    }

    /// Descends from `start`, the root or a child of the last page of `path`, along its first or last children.
    private func descend(
        from start: PageNumber, expectedLevel startLevel: Int, toLast: Bool
    ) throws(StorageError) {
        place = .beforeFirst  // in case a page is damaged
        assert(startLevel >= 0 || start == record.root, "a descent begins neither at the root nor below the last page")
        if startLevel == PageView.anyLevel { path.removeAll() }
        let operations = operations
        let end = try operations.descend(from: start, expectedLevel: startLevel, in: record) { page, view in
            let index = toLast ? view.cellCount : 0
            path.push(page, index)
            return index
        }
        hold(try operations.pinLeaf(end, in: record) { leavesAhead($0) })
    }

    private func crossToNextLeaf() throws(StorageError) -> Bool {
        guard let (child, level) = try stepAcross(by: 1) else { return false }
        crossed = max(crossed, 0) + 1
        let old = leaf.take()
        let oldView = view
        try descend(from: child, expectedLevel: level, toLast: false)
        guard view.follows(oldView) else { throw brokenFences() }
        _ = consume old
        index = 0
        return true
    }

    private func crossToPreviousLeaf() throws(StorageError) -> Bool {
        guard let (child, level) = try stepAcross(by: -1) else { return false }
        crossed = min(crossed, 0) - 1
        let old = leaf.take()
        let oldView = view
        try descend(from: child, expectedLevel: level, toLast: true)
        guard oldView.follows(view) else { throw brokenFences() }
        _ = consume old
        index = view.cellCount - 1
        return true
    }

    /// The leaves that the walk will cross to after the one at the end of `path`, as the page above them lists them.
    ///
    /// At most as many as it has crossed to, so that a short walk reads few pages in vain.
    private func leavesAhead(_ countMax: Int) -> [PageNumber] {
        let count = min(countMax, abs(crossed))
        guard count > 0, path.count > 0 else { return [] }
        do throws(StorageError) {
            // The pin keeps the page in its frame while its children are read.
            let pin = try source.pin(path.page(path.count - 1))
            let parent = pin.view
            let index = path.index(path.count - 1)
            let indices = crossed > 0 ? index + 1..<index + 1 + count : index - count..<index
            return indices.clamped(to: 0..<parent.cellCount + 1).map { parent.child($0) }
        } catch {
            return []
        }
    }

    private func brokenFences() -> StorageError {
        .corrupt(.fencesOfChild, page: view.storedNumber, tree: record.treeID)
    }

    /// Ascends to the lowest page of the path that has a child beside the one followed, and follows that child.
    private func stepAcross(by step: Int) throws(StorageError) -> (child: PageNumber, level: Int)? {
        assert(step == 1 || step == -1, "\(step) children on")
        place = .beforeFirst  // in case a page is damaged
        while path.count > 0 {
            let depth = path.count - 1
            let index = path.index(depth) + step
            let pin = try source.pin(path.page(depth))
            if index >= 0, index <= pin.view.cellCount {
                path.setIndex(depth, index)
                return (pin.view.child(index), pin.view.level - 1)
            }
            path.pop()
        }
        return nil
    }

    // MARK: - Invariants

    /// Asserts invariants 1, 2 and 4 of a cursor that has just moved to an entry; to be called in `assert`.
    ///
    /// O(1).
    private func checkInvariants() -> Bool {
        assert(place == .onEntry && isCurrent, "invariant 1: the entry is not current")
        assert(savesKeys == source.canChange, "invariant 2: keys are saved: \(savesKeys)")
        let isPinned = leaf != nil
        assert(isPinned, "invariant 1: the leaf is not pinned")
        assert(index >= 0 && index < view.cellCount, "invariant 1: entry \(index) of \(view.cellCount)")
        assert(path.count == 0 || path.page(0) == record.root, "invariant 4: the path does not begin at the root")
        guard savesKeys else { return true }
        switch kind {
        case .integer: assert(savedInteger == view.integerKey(index), "invariant 2: the saved key is not the entry's")
        case .bytes:
            let (prefix, suffix) = (view.prefixByteCount, view.suffixByteCount(index))
            assert(savedBytes.count == prefix + suffix, "invariant 2: the saved key is not the entry's")
        }
        return true
    }
}

private enum ScratchView {
    /// A page view that nothing is read from.
    static var none: PageView {
        // SAFETY: never read: a cursor reads its view only while it is on an entry of a pinned leaf.
        unsafe PageView(base: UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped, byteCount: 0)
    }
}

extension [UInt8] {
    /// Appends a copy of `bytes`.
    @inline(__always)
    mutating func append(_ bytes: ByteString) {
        // SAFETY: the bytes outlive this call by the promise of their owner.
        unsafe append(contentsOf: UnsafeRawBufferPointer(start: bytes.base, count: bytes.count))
    }
}
