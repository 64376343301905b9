// The catalog: tree 1, rooted at a fixed page, maps the names of trees to their records.
//
// Invariants
//   1. Keys are names in UTF-8, 1 byte to `StoreGeometry.keyByteCountMax` long; values are 40-byte tree records.
//   2. The root of each tree contains a hash of its name, so that a lost catalog can be rebuilt.

/// The catalog of the trees of one source.
package struct Catalog<Source: PageSource> {
    private let tree: BTree<Source>
    private let record: TreeRecord

    /// Works on the catalog whose root is `root`.
    package init(_ source: Source, root: PageNumber = FixedPlace.catalogRoot) {
        assert(root != 0, "the catalog has no root")
        tree = BTree(source)
        record = TreeRecord(treeID: FixedPlace.catalogTreeID, root: root, kind: .bytes)
    }

    /// The tag in the root of a tree called `name`.
    package static func rootTag(of name: String) -> UInt32 {
        UInt32(truncatingIfNeeded: OwnedKey([UInt8](name.utf8)).checksum)
    }

    /// The record of the tree called `name`; `nil` if there is none.
    ///
    /// - Throws: `corruption(.catalogRecord)`, or what the source throws.
    package func find(_ name: String) throws(StorageError) -> TreeRecord? {
        let key = OwnedKey([UInt8](name.utf8))
        guard let bytes = try tree.value(of: key.key, in: record) else { return nil }
        return try decode(bytes)
    }

    /// All trees in the order of their names' bytes.
    ///
    /// - Throws: `corruption(.catalogRecord)`, or what the source throws.
    package func list() throws(StorageError) -> [(name: String, record: TreeRecord)] {
        var trees: [(name: String, record: TreeRecord)] = []
        let cursor = TreeCursor(tree.source, record)
        var isOnEntry = try cursor.first()
        while isOnEntry {
            let name = String(decoding: cursor.bytesKey, as: UTF8.self)
            let bytes = try cursor.withValue { $0.loadBytes(at: 0, count: $0.byteCount) }
            trees.append((name, try decode(bytes ?? [])))
            isOnEntry = try cursor.next()
        }
        return trees
    }

    private func decode(_ bytes: [UInt8]) throws(StorageError) -> TreeRecord {
        // SAFETY: the array outlives the span; `bytes` only drops the element type.
        guard let found = unsafe TreeRecord(decoding: bytes.span.bytes) else {
            throw .corrupt(.catalogRecord, page: record.root, tree: record.treeID)
        }
        return found
    }
}

extension Catalog where Source: WritablePageSource {
    /// Stores `tree` under `name`, new or changed.
    ///
    /// - Throws: `keyTooLong`, or what the source throws.
    package func store(_ tree: TreeRecord, as name: String) throws(StorageError) {
        assert(tree.treeID >= FixedPlace.firstTreeID, "tree \(tree.treeID) is not in the catalog")
        let key = OwnedKey([UInt8](name.utf8))
        let value = OwnedKey(tree.encoded())
        var catalog = record
        _ = try self.tree.insert(key.key, value.key.bytes, into: &catalog)
    }

    /// Removes the record of `name`; does not change the pages of the tree.
    ///
    /// - Returns: whether there was one.
    package func remove(_ name: String) throws(StorageError) -> Bool {
        let key = OwnedKey([UInt8](name.utf8))
        var catalog = record
        return try tree.remove(key.key, from: &catalog)
    }

    /// Formats the page in `view` as the root of an empty catalog.
    package static func formatRoot(_ view: PageView, number: PageNumber = FixedPlace.catalogRoot) {
        assert(number > FixedPlace.firstBitmap, "page \(number) has its own use")
        BTree<Source>.formatRoot(
            view, number: number, treeID: FixedPlace.catalogTreeID, kind: .bytes, rootTag: rootTag(of: ""))
    }
}
