// Changes of many entries at once: removing intervals of keys, and filling an empty tree.

extension WriteTransaction {
    // MARK: Removing

    /// Removes the entries whose keys are in `keys`; returns how many there were.
    ///
    /// - Complexity: O(log n) for each leaf page that is touched.
    @discardableResult
    public mutating func removeAll(_ keys: KeyRange<UInt64>, from tree: Tree<UInt64>) throws(StorageError) -> UInt64 {
        try change(tree) { operations, record throws(StorageError) in
            guard let (low, end) = keys.limits else { return 0 }
            assert(end.map { low < $0 } ?? true, "an empty range")
            return try operations.removeRange(from: TreeKey(low), to: end.map { TreeKey($0) }, in: &record)
        }
    }

    /// Removes the entries whose keys are in `keys`; returns how many there were.
    ///
    /// - Complexity: O(log n) for each leaf page that is touched.
    @discardableResult
    public mutating func removeAll(_ keys: Range<UInt64>, from tree: Tree<UInt64>) throws(StorageError) -> UInt64 {
        try removeAll(KeyRange(keys), from: tree)
    }

    /// Removes the entries whose keys are in `keys`; returns how many there were.
    ///
    /// - Complexity: O(log n) for each leaf page that is touched.
    @discardableResult
    public mutating func removeAll(_ keys: ClosedRange<UInt64>, from tree: Tree<UInt64>) throws(StorageError) -> UInt64
    {
        try removeAll(KeyRange(keys), from: tree)
    }

    /// Removes the entries whose keys are in `keys`; returns how many there were.
    ///
    /// - Complexity: O(log n) for each leaf page that is touched.
    @discardableResult
    public mutating func removeAll(_ keys: KeyRange<[UInt8]>, from tree: Tree<[UInt8]>) throws(StorageError) -> UInt64 {
        try change(tree) { operations, record throws(StorageError) in
            guard let (low, end) = keys.limits else { return 0 }
            let lowKey = OwnedKey(low)
            assert(end.map { low.lexicographicallyPrecedes($0) } ?? true, "an empty range")
            guard let end else { return try operations.removeRange(from: lowKey.key, to: nil, in: &record) }
            let endKey = OwnedKey(end)
            return try operations.removeRange(from: lowKey.key, to: endKey.key, in: &record)
        }
    }

    /// Removes all entries of `tree` and keeps the tree; returns how many entries there were.
    ///
    /// - Complexity: O(pages of the tree).
    @discardableResult
    public mutating func removeAll<Key>(from tree: Tree<Key>) throws(StorageError) -> UInt64 {
        try change(tree) { operations, record throws(StorageError) in
            try operations.removeAll(from: &record)
        }
    }

    /// Removes all entries of `tree` and keeps the tree; returns how many entries there were.
    ///
    /// - Complexity: O(pages of the tree).
    @discardableResult
    public mutating func removeAll(from tree: AnyTree) throws(StorageError) -> UInt64 {
        switch tree {
        case .integers(let tree): try removeAll(from: tree)
        case .bytes(let tree): try removeAll(from: tree)
        }
    }

    // MARK: Loading

    /// Fills an empty tree with entries whose keys ascend; returns how many there were.
    ///
    /// Writes each page once, and full: the fastest way to insert many entries, and the most compact. The entries are
    /// read one by one, so a lazy sequence need not fit into memory. After an error the tree is empty, and the
    /// transaction is as it was before and stays usable.
    ///
    /// - Throws: `treeNotEmpty`; `keysNotAscending` if a key is not above the one before it;
    ///   `valueTooLarge`; any error of writing.
    /// - Complexity: O(entries).
    @inlinable
    @discardableResult
    public mutating func load<Entries: Sequence>(
        _ entries: Entries, into tree: Tree<UInt64>
    ) throws(StorageError) -> UInt64 where Entries.Element == (UInt64, [UInt8]) {
        var iterator = entries.makeIterator()
        return try loadIntegers(into: tree) { iterator.next() }
    }

    /// Fills an empty tree with entries whose keys ascend; returns how many there were.
    ///
    /// Writes each page once, and full: the fastest way to insert many entries, and the most compact. The entries are
    /// read one by one, so a lazy sequence need not fit into memory. After an error the tree is empty, and the
    /// transaction is as it was before and stays usable.
    ///
    /// - Throws: `treeNotEmpty`; `keysNotAscending` if a key is not above the one before it;
    ///   `keyTooLong`, `valueTooLarge`; any error of writing.
    /// - Complexity: O(entries).
    @inlinable
    @discardableResult
    public mutating func load<Entries: Sequence>(
        _ entries: Entries, into tree: Tree<[UInt8]>
    ) throws(StorageError) -> UInt64 where Entries.Element == ([UInt8], [UInt8]) {
        var iterator = entries.makeIterator()
        return try loadBytes(into: tree) { iterator.next() }
    }

    /// `load` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    mutating func loadIntegers(
        into tree: Tree<UInt64>, _ next: () -> (UInt64, [UInt8])?
    ) throws(StorageError) -> UInt64 {
        try loading(tree) { load throws(StorageError) in
            guard let (key, value) = next() else { return false }
            // SAFETY: the array outlives the closure.
            return unsafe try value.span.bytes.withUnsafeBytes { bytes throws(StorageError) in
                guard try load.append(TreeKey(key), unsafe ByteString(bytes)) else {
                    throw .argument(.keysNotAscending)
                }
                return true
            }
        }
    }

    /// `load` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    mutating func loadBytes(
        into tree: Tree<[UInt8]>, _ next: () -> ([UInt8], [UInt8])?
    ) throws(StorageError) -> UInt64 {
        try loading(tree) { load throws(StorageError) in
            guard let (key, value) = next() else { return false }
            // SAFETY: the arrays outlive the closures.
            return unsafe try key.span.bytes.withUnsafeBytes { key throws(StorageError) in
                unsafe try value.span.bytes.withUnsafeBytes { value throws(StorageError) in
                    guard try load.append(TreeKey(unsafe ByteString(key)), unsafe ByteString(value)) else {
                        throw .argument(.keysNotAscending)
                    }
                    return true
                }
            }
        }
    }

    /// Loads the entries that `step` appends, until it returns `false`; changes nothing if `step` throws.
    private mutating func loading<Key>(
        _ tree: Tree<Key>,
        _ step: (inout BulkLoad<WritePages>) throws(StorageError) -> Bool
    ) throws(StorageError) -> UInt64 {
        try nested { transaction throws(StorageError) in
            try transaction.change(tree) { operations, record throws(StorageError) in
                guard record.entryCount == 0 else { throw .argument(.treeNotEmpty(tree.id)) }
                // Entries that were removed may have left empty pages.
                if record.height > 1 { _ = try operations.removeAll(from: &record) }
                var load = BulkLoad(operations.source, record, name: tree.name)
                while try step(&load) {}
                record = try load.finish()
                assert(record.treeID == tree.id && record.height > 0, "the record of tree \(tree.id)")
                return record.entryCount
            }
        }
    }
}
