// Trees as applications name them.

/// What the keys of a tree are.
public enum KeyKind: UInt8, Sendable, CaseIterable {
    /// Unsigned 64-bit integers in numeric order.
    case integer = 1
    /// Byte strings in the order of their unsigned bytes (`memcmp`).
    case bytes = 2
}

/// A named, ordered map inside a store.
///
/// A handle: cheap to copy, valid in every transaction that can see the tree.
public struct Tree: Sendable, Hashable {
    /// The tree's name, unique in its store.
    public let name: String
    /// The tree's number, never used again after it was dropped.
    public let id: UInt32
    /// What its keys are.
    public let kind: KeyKind

    package init(name: String, id: UInt32, kind: KeyKind) {
        self.name = name
        self.id = id
        self.kind = kind
    }
}

/// What the catalog says about a tree.
public struct TreeSummary: Sendable, Hashable {
    /// The tree.
    public let tree: Tree
    /// How many entries it has.
    public let entryCount: UInt64
    /// How many levels it has; 1 is a single leaf.
    public let height: Int
    /// How many leaf pages it has.
    public let leafPageCount: UInt64
    /// The page of its root, which only a shrink changes.
    public let root: PageNumber

    package init(tree: Tree, entryCount: UInt64, height: Int, leafPageCount: UInt64, root: PageNumber) {
        self.tree = tree
        self.entryCount = entryCount
        self.height = height
        self.leafPageCount = leafPageCount
        self.root = root
    }
}
