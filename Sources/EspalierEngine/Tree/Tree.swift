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
/// A handle: cheap to copy, valid in every transaction that can see the tree. Another store refuses it with
/// `treeOfAnotherStore`, also if it has a tree of this number.
public struct Tree: Sendable, Hashable {
    /// The tree's name, unique in its store.
    public let name: String
    /// The tree's number, never used again after it was dropped.
    public let id: UInt32
    /// What its keys are.
    public let kind: KeyKind

    /// Follows from the store, the name and the number: handles are told apart by one comparison.
    let mark: UInt64

    init(name: String, id: UInt32, kind: KeyKind, store: StoreMark) {
        self.name = name
        self.id = id
        self.kind = kind
        mark = store.mark(of: name, id)
    }

    /// A name and a number for a tree that no store has yet; every transaction refuses the handle.
    package init(unmade name: String, id: UInt32, kind: KeyKind) {
        (self.name, self.id, self.kind, mark) = (name, id, kind, 0)
    }

    /// Whether this is a handle of a tree of `store`.
    func isHandle(of store: StoreMark) -> Bool { mark == store.mark(of: name, id) }
}

/// What the handles of a store's trees have in common.
struct StoreMark: Sendable {
    private let seed: UInt64

    /// The mark of the store that `identifier` names.
    init(identifier: [UInt8]) { seed = Self.mix(identifier, into: 0xCBF2_9CE4_8422_2325) }

    /// The mark of the tree `id` called `name`.
    func mark(of name: String, _ id: UInt32) -> UInt64 {
        Self.mix(name.utf8, into: seed ^ (UInt64(id) &* 0x9E37_79B9_7F4A_7C15))
    }

    /// FNV-1a, 64 bits.
    private static func mix(_ bytes: some Sequence<UInt8>, into seed: UInt64) -> UInt64 {
        bytes.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
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
