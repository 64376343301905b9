// Trees, as applications refer to them.

/// The kind of keys of a tree.
public enum KeyKind: UInt8, Sendable, CaseIterable {
    /// Unsigned 64-bit integers in numeric order.
    case integer = 1
    /// Byte strings in the order of their unsigned bytes (`memcmp`).
    case bytes = 2
}

/// A Swift type for the keys of a tree: `UInt64` or `[UInt8]`.
public protocol StoredKey: Sendable {
    /// The kind of keys that this type is in a store.
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
/// `treeOfAnotherStore`, even if it has a tree with this number.
public struct Tree<Key: StoredKey>: Sendable, Hashable {
    @usableFromInline let handle: TreeHandle

    /// The tree's name, unique in its store.
    public var name: String { handle.name }
    /// The tree's number, never used again after it was dropped.
    public var id: UInt32 { handle.id }

    /// The tree of `handle`.
    ///
    /// - Throws: `wrongKeyKind` if its keys are of another kind.
    init(_ handle: TreeHandle) throws(StorageError) {
        guard handle.kind == Key.keyKind else { throw .argument(.wrongKeyKind(tree: handle.id)) }
        self.handle = handle
    }

    /// The tree of `handle`, whose kind of keys the caller has checked.
    fileprivate init(checked handle: TreeHandle) {
        assert(handle.kind == Key.keyKind, "tree \(handle.id) has other keys")
        self.handle = handle
    }

}

/// A tree whose kind of keys is known only at run time.
public enum AnyTree: Sendable, Hashable {
    /// A tree of integer keys.
    case integers(Tree<UInt64>)
    /// A tree of bytes keys.
    case bytes(Tree<[UInt8]>)

    /// A handle for a tree that no store has yet; every transaction refuses it.
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
    /// The kind of its keys.
    public var kind: KeyKind { handle.kind }

    /// The tree with its type; `nil` if its keys are not of type `keys`.
    public func tree<Key>(keys: Key.Type) -> Tree<Key>? { kind == Key.keyKind ? Tree(checked: handle) : nil }

    var handle: TreeHandle {
        switch self {
        case .integers(let tree): tree.handle
        case .bytes(let tree): tree.handle
        }
    }
}

/// The content of a handle of a tree, for keys of any kind.
@usableFromInline
struct TreeHandle: Sendable, Hashable {
    let name: String
    let id: UInt32
    let kind: KeyKind
    /// A hash of the store, the name, the number and the kind: one comparison tells handles apart.
    let mark: UInt64

    init(name: String, id: UInt32, kind: KeyKind, store: StoreMark) {
        self.name = name
        self.id = id
        self.kind = kind
        assert(id != 0, "tree \"\(name)\" has no number")
        mark = store.mark(of: name, id, kind)
    }

    init(unmade name: String, id: UInt32, kind: KeyKind) {
        (self.name, self.id, self.kind, mark) = (name, id, kind, 0)
    }

    /// Whether this is a handle of a tree of `store`.
    func isHandle(of store: StoreMark) -> Bool { mark == store.mark(of: name, id, kind) }
}

/// Computes the marks of the handles of one store's trees.
struct StoreMark: Sendable {
    private let seed: UInt64

    /// The mark of the store that `identifier` names.
    init(identifier: [UInt8]) {
        assert(identifier.count == 16, "an identifier of \(identifier.count) bytes")
        seed = Self.mix(identifier, into: 0xCBF2_9CE4_8422_2325)
    }

    /// The mark of the tree `id` called `name`.
    func mark(of name: String, _ id: UInt32, _ kind: KeyKind) -> UInt64 {
        Self.mix(name.utf8, into: seed ^ ((UInt64(id) << 8 | UInt64(kind.rawValue)) &* 0x9E37_79B9_7F4A_7C15))
    }

    /// FNV-1a, 64 bits.
    private static func mix(_ bytes: some Sequence<UInt8>, into seed: UInt64) -> UInt64 {
        bytes.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

/// The catalog's record of a tree.
public struct TreeSummary: Sendable, Hashable {
    /// The tree.
    public let tree: AnyTree
    /// The number of its entries.
    public let entryCount: UInt64
    /// The number of its levels; 1 is a single leaf.
    public let height: Int
    /// The number of its leaf pages.
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
