// Looking up keys of one tree, one after the other.
//
// Invariants
//   1. The leaf of the last key stays pinned; the next key is sought there first, as keys that are asked for together are
//      often neighbours. It is not trusted any more when the transaction has changed a page since.

/// A way to look up keys of a tree of integer keys that are wanted together.
///
/// Costs nothing to make, unlike a cursor, and knows no order: it has no place from which to move on. Those of a write
/// transaction go on working after its changes.
public struct Lookup: ~Copyable {
    private let pages: CursorPages
    private let tree: Tree
    private var leaf: PagePin?
    /// The view of `leaf`.
    private var view: PageView?
    /// The change count of the pages when the leaf was pinned.
    private var changeCount: UInt64 = 0

    init(over pages: CursorPages, _ tree: Tree) {
        (self.pages, self.tree) = (pages, tree)
        pages.countCursor(by: 1)
    }

    deinit { pages.countCursor(by: -1) }

    /// Calls `body` with the bytes of the value of `key` where they lie; returns whether the key exists.
    ///
    /// - Throws: `wrongKeyKind` for a tree of bytes keys; what reading throws.
    public mutating func withValue(of key: UInt64, _ body: (RawSpan) -> Void) throws(StorageError) -> Bool {
        let record = try pages.record(of: tree, .integer)
        let operations = BTree(pages)
        let position: SlotPosition
        if let near = positionInLeaf(of: key) {
            position = near
        } else {
            leaf = nil
            view = nil
            let found = try operations.locate(TreeKey(key), in: record)
            position = found.position
            view = found.pin.view
            let pin = found.pin
            leaf = consume pin
            changeCount = pages.changeCount
        }
        guard position.isExact, let view else { return false }
        try operations.withBytes(of: view.value(position.index), treeID: record.treeID, body)
        return true
    }

    @inline(__always)
    private func positionInLeaf(of key: UInt64) -> SlotPosition? {
        guard let view, changeCount == pages.changeCount, view.fencesContain(TreeKey(key)) else {
            return nil
        }
        return view.position(ofInteger: key)
    }
}

extension CursorPages {
    /// The record of `tree`, whose keys must be of `kind`.
    @inline(__always)
    fileprivate func record(of tree: Tree, _ kind: KeyKind) throws(StorageError) -> TreeRecord {
        switch self {
        case .reading(let pages): try pages.record(of: tree, kind)
        case .writing(let pages): try pages.record(of: tree, kind)
        }
    }
}
