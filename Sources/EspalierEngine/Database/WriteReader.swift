// The reading half of the write transaction, for readers that do not own it.
//
// Invariants
//   1. It sees what the transaction has written at the moment of each call, and throws `transaction(.ended)` after the
//      transaction's end.
//   2. It changes nothing, and its end does not end the transaction.

/// Reads what the write transaction has written so far.
///
/// Use it on the thread that uses the transaction, or under the same lock.
package struct WriteReader: ~Copyable {
    private let pages: WritePages

    fileprivate init(_ pages: WritePages) { self.pages = pages }

    /// The tree called `name`, or `nil`.
    package func tree(named name: String) throws(StorageError) -> AnyTree? {
        try pages.checkUsable()
        return try pages.tree(named: name).map(AnyTree.init)
    }

    /// The tree called `name`, or `nil`.
    ///
    /// - Throws: `wrongKeyKind` if its keys are of another kind than `keys`.
    package func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>? {
        try pages.checkUsable()
        guard let handle = try pages.tree(named: name) else { return nil }
        return try Tree(handle)
    }

    /// All trees, in the order of their names' UTF-8 bytes; their counts may lag behind.
    package func trees() throws(StorageError) -> [TreeSummary] {
        try pages.checkUsable()
        return try pages.listTrees()
    }

    /// How many entries `tree` has.
    package func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64 {
        try pages.checkUsable()
        return try pages.count(of: tree.handle)
    }

    /// How many entries `tree` has.
    package func count(of tree: AnyTree) throws(StorageError) -> UInt64 {
        try pages.checkUsable()
        return try pages.count(of: tree.handle)
    }

    /// The value of `key`, or `nil`.
    package func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]? {
        try pages.checkUsable()
        return try pages.value(of: key, in: tree)
    }

    /// The value of `key`, or `nil`.
    package func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        try pages.checkUsable()
        // SAFETY: the array outlives the call.
        return unsafe try pages.value(of: key.span.bytes, in: tree)
    }

    /// A cursor before the first entry of `tree`.
    package func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key> {
        try pages.checkUsable()
        // SAFETY: read at once.
        let record = unsafe try pages.trees.record(of: tree.handle, in: pages).pointee
        return Cursor(AnyCursor(over: .writing(pages), tree.handle, record))
    }

    /// Makes a lookup of several keys of `tree`.
    package func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key> {
        try pages.checkUsable()
        return Lookup(AnyLookup(over: .writing(pages), tree.handle))
    }
}

extension WriteReader: ValueReading {
    @usableFromInline
    package func visitValue(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> Void
    ) throws(StorageError) {
        try pages.checkUsable()
        _ = try pages.withValue(of: key, in: tree, body)
    }
}

extension WriteTransaction {
    /// A reader of this transaction.
    package var reader: WriteReader { WriteReader(pages) }
}
