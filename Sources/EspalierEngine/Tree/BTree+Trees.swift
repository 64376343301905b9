// Makes and renames trees.
//
// Not here: the catalog's record of a tree (`Catalog`), and the removal of a tree (+Remove).

extension BTree where Source: WritablePageSource {
    /// Creates an empty tree.
    ///
    /// - Parameter rootTag: `Catalog.rootTag(of:)` of its name.
    package func createTree(
        _ treeID: UInt32, kind: KeyKind, rootTag: UInt32, transaction: UInt64
    ) throws(StorageError) -> TreeRecord {
        assert(treeID != 0, "a tree has no number")
        let root = try source.allocate(near: FixedPlace.catalogRoot, count: 1).first
        let pin = try source.edit(root)
        Self.formatRoot(pin.view, number: root, treeID: treeID, kind: kind, rootTag: rootTag)
        assert(pin.view.isLeaf && pin.view.treeID == treeID, "page \(root) is not the root of tree \(treeID)")
        return TreeRecord(treeID: treeID, root: root, kind: kind, createdTransaction: transaction)
    }

    /// Writes the tag of a tree's new name into its root.
    package func renameTree(_ record: TreeRecord, rootTag: UInt32) throws(StorageError) {
        do {
            let pin = try source.pin(record.root)
            try check(pin.view, record.root, record, PageView.anyLevel)
        }
        try source.edit(record.root).view.set(rootTag, at: TreeLayout.rootTag)
    }

    /// Formats the page in `view` as the root of an empty tree.
    package static func formatRoot(
        _ view: PageView, number: PageNumber, treeID: UInt32, kind: KeyKind, rootTag: UInt32
    ) {
        assert(number != 0 && treeID != 0, "page \(number) of tree \(treeID)")
        let identity = TreePageIdentity(
            number: number, treeID: treeID, level: 0, isInteger: kind == .integer, rootTag: rootTag)
        TreePageBuilder(view, identity, count: 0, low: nil, high: nil).finish()
    }
}
