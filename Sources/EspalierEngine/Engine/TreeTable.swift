// The trees that a transaction has looked up: maps a handle to the catalog's record without a descent for each
// operation. A writer inherits the table of the last writer that committed.
//
// Invariants
//   1. A record is that of this transaction's snapshot, with the changes of this transaction.
//   2. `stored` is the record in the catalog; records that differ from it are written to the catalog before a commit.
//   3. A handle is identified by its mark, so a handle of another store, or of a tree that had the number elsewhere,
//      is refused.
//   4. Each record has memory of its own, from the first lookup to the end of the table or of the tree: operations
//      change it in place, even if other trees are looked up meanwhile.

/// The trees that a transaction knows.
@safe
final class TreeTable {
    /// A tree that was looked up.
    @safe
    private struct Known {
        let tree: TreeHandle
        let record: UnsafeMutablePointer<TreeRecord>
        var stored: TreeRecord
    }

    /// A record by the mark of its tree.
    @safe
    private struct Recent {
        var mark: UInt64 = 0
        var record: UnsafeMutablePointer<TreeRecord>?
    }

    let storeMark: StoreMark
    private var known: [Known] = []
    private var indices: [UInt32: Int] = [:]
    /// The record used last for each remainder of tree indices modulo `recentCount`: few operations must search for
    /// theirs.
    private let recent: UnsafeMutablePointer<Recent>
    private static let recentCount = 16

    /// A table without trees of `store`.
    init(_ store: StoreMark) {
        storeMark = store
        // SAFETY: freed in `deinit`; places are masked.
        unsafe recent = .allocate(capacity: Self.recentCount)
        unsafe recent.initialize(repeating: Recent(), count: Self.recentCount)
    }

    deinit {
        // SAFETY: records and places are trivial, and nothing uses them any more.
        for entry in known { unsafe entry.record.deallocate() }
        unsafe recent.deallocate()
    }

    /// A copy of the table that has its own records.
    func copied() -> TreeTable {
        let copy = TreeTable(storeMark)
        for entry in known {
            // SAFETY: a record lives as long as the table that knows it.
            let number = copy.add(entry.tree, unsafe entry.record.pointee)
            copy.known[number].stored = entry.stored
        }
        assert(copy.known.count == known.count, "\(copy.known.count) of \(known.count) trees")
        return copy
    }

    /// The record of `tree`, looked up in the catalog if needed; its address is valid until the tree is removed.
    ///
    /// - Throws: `noSuchTree`, `treeOfAnotherStore`, or any error of reading.
    @inline(__always)
    func record<Source: PageSource>(
        of tree: TreeHandle, in source: Source
    ) throws(StorageError) -> UnsafeMutablePointer<TreeRecord> {
        // SAFETY: the place is masked; a record in it is there as long as its tree is known.
        let place = unsafe recent[Int(truncatingIfNeeded: tree.id) & (Self.recentCount - 1)]
        if place.mark == tree.mark, let record = unsafe place.record { return unsafe record }
        return unsafe try lookUp(tree, in: source)
    }

    @inline(never)
    private func lookUp<Source: PageSource>(
        _ tree: TreeHandle, in source: Source
    ) throws(StorageError) -> UnsafeMutablePointer<TreeRecord> {
        let number: Int
        if let place = indices[tree.id], known[place].tree.mark == tree.mark {
            number = place
        } else {
            guard tree.isHandle(of: storeMark) else { throw .argument(.treeOfAnotherStore(tree.id)) }
            guard let record = try Catalog(source).find(tree.name), record.treeID == tree.id, record.kind == tree.kind
            else {
                throw .argument(.noSuchTree(tree.id))
            }
            number = add(TreeHandle(name: tree.name, id: record.treeID, kind: record.kind, store: storeMark), record)
        }
        // SAFETY: kept, not used; the place is masked.
        let record = unsafe known[number].record
        unsafe recent[Int(truncatingIfNeeded: tree.id) & (Self.recentCount - 1)] =
            Recent(mark: tree.mark, record: record)
        return unsafe record
    }

    /// Adds a tree with its record in the catalog, unless it is known; returns its index in `known`.
    @discardableResult
    func add(_ tree: TreeHandle, _ record: TreeRecord) -> Int {
        if let number = indices[tree.id] { return number }
        assert(tree.id == record.treeID && tree.kind == record.kind, "the record of tree \(tree.id)")
        // SAFETY: freed in `deinit` or `remove`.
        let memory = UnsafeMutablePointer<TreeRecord>.allocate(capacity: 1)
        unsafe memory.initialize(to: record)
        unsafe known.append(Known(tree: tree, record: memory, stored: record))
        indices[tree.id] = known.count - 1
        return known.count - 1
    }

    /// Records that the root of a tree moved; the catalog has the new root already.
    func move(_ id: UInt32, to root: PageNumber) {
        assert(root > FixedPlace.catalogRoot, "page \(root) has its own use")
        guard let number = indices[id] else { return }
        // SAFETY: every known tree has a record.
        unsafe known[number].record.pointee.root = root
        known[number].stored.root = root
    }

    /// Forgets the leaves that were written to last, because pages have moved.
    func forgetHints() {
        // SAFETY: every known tree has a record.
        for entry in known { unsafe entry.record.pointee.hint = WriteHint() }
    }

    /// Forgets a tree that was dropped.
    func remove(_ tree: TreeHandle) {
        guard let number = indices[tree.id] else { return }
        // SAFETY: the places that name it are cleared; the place is masked.
        unsafe recent[Int(truncatingIfNeeded: tree.id) & (Self.recentCount - 1)] = Recent()
        unsafe known.remove(at: number).record.deallocate()
        indices.removeAll()
        for (number, entry) in known.enumerated() { indices[entry.tree.id] = number }
        assert(indices[tree.id] == nil, "tree \(tree.id) is known twice")
        assert(checkInvariants())
    }

    /// Writes the changed records to the catalog.
    func writeChangedRecords(to pages: WritePages) throws(StorageError) {
        for number in known.indices {
            // SAFETY: every known tree has a record.
            let record = unsafe known[number].record.pointee
            guard !record.isSame(as: known[number].stored) else { continue }
            try Catalog(pages).store(record, as: known[number].tree.name)
            known[number].stored = record
        }
        assert(checkInvariants())
    }

    /// Asserts invariants 3 and 4; to be called in `assert`.
    ///
    /// - Complexity: O(trees); of a large table about 256 are checked.
    private func checkInvariants() -> Bool {
        assert(indices.count == known.count, "\(indices.count) indices for \(known.count) trees")
        for number in stride(from: 0, to: known.count, by: max(1, known.count / 256)) {
            let entry = known[number]
            // SAFETY: read at once; every known tree has a record.
            let record = unsafe entry.record.pointee
            assert(indices[entry.tree.id] == number, "tree \(entry.tree.id) is not found by its number")
            assert(record.treeID == entry.tree.id && record.kind == entry.tree.kind, "the record of a tree")
        }
        for place in 0..<Self.recentCount {
            // SAFETY: read at once; within the places.
            let recent = unsafe recent[place]
            guard let record = unsafe recent.record else { continue }
            assert(recent.mark != 0, "invariant 3: place \(place) has a record and no mark")
            assert(unsafe Int(record.pointee.treeID) & (Self.recentCount - 1) == place, "place \(place)")
        }
        return true
    }
}

/// The pages of a transaction of either kind, as reading operations need them.
protocol TransactionSource: AnyObject, PageSource {
    var trees: TreeTable { get }
    func checkUsable() throws(StorageError)
}

extension ReadPages: TransactionSource {}
extension WritePages: TransactionSource {}

extension TransactionSource {
    /// The record of `tree`.
    @inline(__always)
    func record<Key>(of tree: Tree<Key>) throws(StorageError) -> TreeRecord {
        try checkUsable()
        // SAFETY: read at once.
        let record = unsafe try trees.record(of: tree.handle, in: self).pointee
        assert(record.kind == Key.keyKind, "tree \(tree.id) has other keys")
        return record
    }

    /// The tree called `name`, or `nil`.
    func tree(named name: String) throws(StorageError) -> TreeHandle? {
        try checkUsable()
        guard !name.isEmpty, let record = try Catalog(self).find(name) else { return nil }
        let tree = TreeHandle(name: name, id: record.treeID, kind: record.kind, store: trees.storeMark)
        trees.add(tree, record)
        return tree
    }

    /// All trees, in the order of their names' bytes.
    func listTrees() throws(StorageError) -> [TreeSummary] {
        try checkUsable()
        return try Catalog(self).list().map { TreeSummary($0.record, name: $0.name, store: trees.storeMark) }
    }

    func count(of tree: TreeHandle) throws(StorageError) -> UInt64 {
        try checkUsable()
        // SAFETY: read at once.
        return unsafe try trees.record(of: tree, in: self).pointee.entryCount
    }

    @inline(__always)
    func value(of key: UInt64, in tree: Tree<UInt64>) throws(StorageError) -> [UInt8]? {
        try BTree(self).value(of: TreeKey(key), in: try record(of: tree))
    }

    @inline(__always)
    func value(of key: RawSpan, in tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        let record = try record(of: tree)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).value(of: TreeKey(unsafe ByteString(bytes)), in: record)
        }
    }

    @inline(__always)
    func withValue<R>(of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        try BTree(self).withValue(of: TreeKey(key), in: try record(of: tree), body)
    }

    @inline(__always)
    func withValue<R>(of key: RawSpan, in tree: Tree<[UInt8]>, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        let record = try record(of: tree)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).withValue(of: TreeKey(unsafe ByteString(bytes)), in: record, body)
        }
    }
}

extension ReadPages {
    func forEachPart(
        ofValueOf key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        try BTree(self).forEachPart(ofValueOf: TreeKey(key), in: try record(of: tree), body)
    }

    func forEachPart(
        ofValueOf key: RawSpan, in tree: Tree<[UInt8]>, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        let record = try record(of: tree)
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try BTree(self).forEachPart(ofValueOf: TreeKey(unsafe ByteString(bytes)), in: record, body)
        }
    }
}

extension TreeSummary {
    /// Makes the summary of the tree called `name` from its record in the catalog.
    init(_ record: TreeRecord, name: String, store: StoreMark) {
        self.init(
            tree: AnyTree(TreeHandle(name: name, id: record.treeID, kind: record.kind, store: store)),
            entryCount: record.entryCount,
            height: record.height, leafPageCount: record.leafPageCount, root: record.root)
    }
}
