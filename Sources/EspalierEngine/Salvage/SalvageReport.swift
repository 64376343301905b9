// The options and the report of a salvage.

/// The parts of a damaged store that a salvage uses.
public struct SalvageOptions: Sendable {
    /// Whether to also use pages whose checksum is wrong, or cannot be verified because the hash seed is lost, if their
    /// structure is sound.
    ///
    /// Their rows may hold wrong bytes.
    public var acceptsDamaged = false
    /// Whether to also use rows of free pages, which get trees of their own: `lost+found/deleted/<number>`.
    public var includesDeleted = false
    /// Whether to also use page versions that no commit in the log covers.
    public var includesUncommitted = false
    /// Names that trees may have had: a tree whose name is lost gets it back if its root carries the name's hash.
    public var nameCandidates: [String] = []
    /// The application's file type of the new store; `nil` uses that of the damaged one, or 0 if it is lost.
    public var applicationID: UInt32?
    /// The application's schema version of the new store; `nil` uses that of the damaged one, or 0 if it is lost.
    public var applicationVersion: UInt32?

    /// The defaults: only what is proven to be whole.
    public init() {}
}

/// The source of the page size and the hash seed.
public enum SalvageKey: UInt8, Sendable {
    /// The superblock.
    case superblock
    /// The copy of the superblock.
    case copy
    /// The log: its header or its segments.
    case log
    /// No source: the page size was guessed and no checksum can be verified.
    case guess
}

/// The result of a salvage.
public struct SalvageReport: Sendable {
    /// The result for one tree.
    public struct SalvagedTree: Sendable {
        /// The tree in the new store.
        public let tree: AnyTree
        /// Whether its name is its original name.
        public let isNameKnown: Bool
        /// The hash of its name that its root carries; `nil` if the root is lost.
        public let rootTag: UInt32?
        /// Pages that say they belong to it, of all kinds.
        public internal(set) var pageCount: UInt64 = 0
        /// Pages that say so and are damaged.
        public internal(set) var damagedPageCount: UInt64 = 0
        /// Rows in the new store.
        public internal(set) var rowCount: UInt64 = 0
        /// Rows that were found but whose value in overflow pages is damaged: they are not in the new store.
        public internal(set) var lostValueCount: UInt64 = 0
        /// The number of rows that the catalog states; `nil` if the tree's record is lost.
        public let expectedRowCount: UInt64?
    }

    /// The source of the page size and the hash seed.
    public internal(set) var key = SalvageKey.superblock
    /// Bytes per page.
    public internal(set) var pageSize = 0
    /// Pages that the file has room for.
    public internal(set) var pageCount: UInt64 = 0
    /// Pages that are damaged.
    public internal(set) var damagedPageCount: UInt64 = 0
    /// Damaged pages that were used nevertheless (`acceptsDamaged`).
    public internal(set) var acceptedPageCount: UInt64 = 0
    /// Pages that are free; they are used only with `includesDeleted`.
    public internal(set) var freePageCount: UInt64 = 0
    /// Pages whose newest version was in the log.
    public internal(set) var loggedPageCount: UInt64 = 0
    /// The trees of the new store, in the order of their numbers.
    public internal(set) var trees: [SalvagedTree] = []

    /// Rows in the new store.
    public var rowCount: UInt64 { trees.reduce(0) { $0 + $1.rowCount } }
    /// Rows that are known to be missing, by the catalog's counts, which may be any: at most `UInt64.max`.
    public var lostRowCount: UInt64 {
        trees.reduce(0) { sum, tree in
            let expected = tree.expectedRowCount ?? 0
            let (lost, overflows) = sum.addingReportingOverflow(expected - min(expected, tree.rowCount))
            return overflows ? .max : lost
        }
    }
}
