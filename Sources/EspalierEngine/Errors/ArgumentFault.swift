// The faults of an operation's arguments: a key, value, tree or cursor position that the operation cannot use.
//
// Invariants
//   1. Each fault is found before anything changes, and the transaction stays usable.

/// A fault of a key, a value, a tree or a cursor position.
public enum ArgumentFault: Hashable, Sendable {
    /// The key is longer than the tree's limit.
    case keyTooLong(byteCount: UInt32, maximum: UInt32)
    /// The value is longer than the format can hold.
    case valueTooLarge(byteCount: UInt64)
    /// An integer key was used on a tree of bytes keys or the other way round.
    case wrongKeyKind(tree: UInt32)
    /// The tree does not exist in this snapshot: it was never created, or it was dropped.
    case noSuchTree(UInt32)
    /// The handle with this number names a tree of another store.
    case treeOfAnotherStore(UInt32)
    /// A tree must have a name.
    case emptyName
    /// A tree of that name exists already, with this id.
    case treeExists(UInt32)
    /// Only an empty tree can be loaded, and this one has entries.
    case treeNotEmpty(UInt32)
    /// The keys of entries to be loaded do not ascend; nothing was loaded.
    case keysNotAscending
    /// The cursor is on no entry, or on an entry that its transaction has removed since.
    case noEntry
}

extension ArgumentFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .keyTooLong(let byteCount, let maximum):
            "The key, or the name of the tree, has \(byteCount) bytes; this store allows at most \(maximum)."
        case .valueTooLarge(let byteCount):
            "The value has \(byteCount) bytes; a value can have at most \(UInt32.max)."
        case .wrongKeyKind(let tree):
            "Tree \(tree) has keys of the other kind; use UInt64 keys for an integer tree and [UInt8] keys for a "
                + "bytes tree."
        case .noSuchTree(let tree): "Tree \(tree) does not exist in this snapshot."
        case .treeOfAnotherStore(let tree):
            "The handle of tree \(tree) belongs to another store; look the tree up in this store by its name."
        case .emptyName: "A tree needs a name of at least one byte."
        case .treeExists(let tree):
            "A tree with that name exists already (id \(tree)); choose another name, or use that tree."
        case .treeNotEmpty(let tree): "Tree \(tree) has entries; only an empty tree can be loaded."
        case .keysNotAscending: "The keys of the entries do not ascend; sort the entries, and remove duplicate keys."
        case .noEntry: "The cursor is not on an entry; move it to one first."
        }
    }
}
