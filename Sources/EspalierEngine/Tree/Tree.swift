// Trees as applications name them.

/// What the keys of a tree are.
public enum KeyKind: UInt8, Sendable, CaseIterable {
    /// Unsigned 64-bit integers in numeric order.
    case integer = 1
    /// Byte strings in the order of their unsigned bytes (`memcmp`).
    case bytes = 2
}

/// What the keys of a tree can be in a program: `UInt64`, or `[UInt8]`.
public protocol StoredKey: Sendable {
    /// What such keys are in a store.
    static var keyKind: KeyKind { get }
}

extension UInt64: StoredKey {
    /// Integers, in numeric order.
    public static var keyKind: KeyKind { .integer }
}

extension [UInt8]: StoredKey {
    /// Byte strings, in the order of `memcmp`.
    public static var keyKind: KeyKind { .bytes }
}

/// A named, ordered map inside a store.
///
/// A handle: cheap to copy, valid in every transaction that can see the tree. Another store refuses it with
/// `treeOfAnotherStore`, also if it has a tree of this number.
public struct Tree<Key: StoredKey>: Sendable, Hashable {
    @usableFromInline let handle: TreeHandle

    /// The tree's name, unique in its store.
    public var name: String { handle.name }
    /// The tree's number, never used again after it was dropped.
    public var id: UInt32 { handle.id }

    /// The tree of `handle`.
    ///
    /// - Throws: `wrongKeyKind` if it has other keys.
    init(_ handle: TreeHandle) throws(StorageError) {
        guard handle.kind == Key.keyKind else { throw .argument(.wrongKeyKind(tree: handle.id)) }
        self.handle = handle
    }

    /// The tree of `handle`, which has such keys.
    fileprivate init(checked handle: TreeHandle) {
        assert(handle.kind == Key.keyKind, "tree \(handle.id) has other keys")
        self.handle = handle
    }

}

/// A tree of which only the store knows what its keys are.
public enum AnyTree: Sendable, Hashable {
    /// A tree of integer keys.
    case integers(Tree<UInt64>)
    /// A tree of bytes keys.
    case bytes(Tree<[UInt8]>)

    /// A name and a number for a tree that no store has yet; every transaction refuses the handle.
    package init(unmade name: String, id: UInt32, kind: KeyKind) {
        self.init(TreeHandle(unmade: name, id: id, kind: kind))
    }

    init(_ handle: TreeHandle) {
        self =
            switch handle.kind {
            case .integer: .integers(Tree(checked: handle))
            case .bytes: .bytes(Tree(checked: handle))
            }
    }

    /// The tree's name, unique in its store.
    public var name: String { handle.name }
    /// The tree's number, never used again after it was dropped.
    public var id: UInt32 { handle.id }
    /// What its keys are.
    public var kind: KeyKind { handle.kind }

    /// The tree, if its keys are `keys`.
    public func tree<Key>(keys: Key.Type) -> Tree<Key>? { kind == Key.keyKind ? Tree(checked: handle) : nil }

    var handle: TreeHandle {
        switch self {
        case .integers(let tree): tree.handle
        case .bytes(let tree): tree.handle
        }
    }
}

/// What a handle of a tree is, whatever the keys are.
@usableFromInline
struct TreeHandle: Sendable, Hashable {
    let name: String
    let id: UInt32
    let kind: KeyKind
    /// Follows from the store, the name, the number and the kind: handles are told apart by one comparison.
    let mark: UInt64

    init(name: String, id: UInt32, kind: KeyKind, store: StoreMark) {
        self.name = name
        self.id = id
        self.kind = kind
        mark = store.mark(of: name, id, kind)
    }

    init(unmade name: String, id: UInt32, kind: KeyKind) {
        (self.name, self.id, self.kind, mark) = (name, id, kind, 0)
    }

    /// Whether this is a handle of a tree of `store`.
    func isHandle(of store: StoreMark) -> Bool { mark == store.mark(of: name, id, kind) }
}

/// What the handles of a store's trees have in common.
struct StoreMark: Sendable {
    private let seed: UInt64

    /// The mark of the store that `identifier` names.
    init(identifier: [UInt8]) { seed = Self.mix(identifier, into: 0xCBF2_9CE4_8422_2325) }

    /// The mark of the tree `id` called `name`.
    func mark(of name: String, _ id: UInt32, _ kind: KeyKind) -> UInt64 {
        Self.mix(name.utf8, into: seed ^ ((UInt64(id) << 8 | UInt64(kind.rawValue)) &* 0x9E37_79B9_7F4A_7C15))
    }

    /// FNV-1a, 64 bits.
    private static func mix(_ bytes: some Sequence<UInt8>, into seed: UInt64) -> UInt64 {
        bytes.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

/// What the catalog says about a tree.
public struct TreeSummary: Sendable, Hashable {
    /// The tree.
    public let tree: AnyTree
    /// How many entries it has.
    public let entryCount: UInt64
    /// How many levels it has; 1 is a single leaf.
    public let height: Int
    /// How many leaf pages it has.
    public let leafPageCount: UInt64
    /// The page of its root, which only a shrink changes.
    public let root: PageNumber

    package init(tree: AnyTree, entryCount: UInt64, height: Int, leafPageCount: UInt64, root: PageNumber) {
        self.tree = tree
        self.entryCount = entryCount
        self.height = height
        self.leafPageCount = leafPageCount
        self.root = root
    }
}
