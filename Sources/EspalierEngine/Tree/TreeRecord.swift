// The catalog's record of a tree, and the hint that its writer keeps from one insertion to the next.
//
// Invariants
//   1. The tree's number never changes, and a dropped tree's number is never used again. The root's page changes only
//      when a shrink moves it.
//   2. `entryCount`, `leafPageCount` and `height` are exact after each operation.
//   3. The hint is never stored and never trusted: it names a leaf to try first, whose fences must contain the key.

/// The catalog's record of a tree, with the writer's hint.
///
/// A trivial value.
package struct TreeRecord: Sendable {
    /// The tree's number.
    package let treeID: UInt32
    /// The page of its root.
    package var root: PageNumber
    /// The kind of its keys.
    package let kind: KeyKind
    /// The number of its levels; 1 is a single leaf.
    package var height: Int
    /// The number of its entries.
    package var entryCount: UInt64
    /// The number of its leaf pages.
    package var leafPageCount: UInt64
    /// The transaction that created it.
    package let createdTransaction: UInt64
    /// The places of the last insertions and removals.
    package var hint = WriteHint()

    package init(
        treeID: UInt32, root: PageNumber, kind: KeyKind, height: Int = 1, entryCount: UInt64 = 0,
        leafPageCount: UInt64 = 1, createdTransaction: UInt64 = 0
    ) {
        self.treeID = treeID
        self.root = root
        self.kind = kind
        self.height = height
        self.entryCount = entryCount
        self.leafPageCount = leafPageCount
        self.createdTransaction = createdTransaction
    }

    /// Whether the stored fields are equal; the hint is not compared.
    package func isSame(as other: TreeRecord) -> Bool {
        (treeID, root, kind) == (other.treeID, other.root, other.kind)
            && (height, entryCount, leafPageCount) == (other.height, other.entryCount, other.leafPageCount)
            && createdTransaction == other.createdTransaction
    }
}

/// Offsets of the fields of a catalog record (on disk: never renumber).
package enum TreeRecordLayout {
    package static let treeID = 0  // u32
    package static let root = 4  // u32
    package static let kind = 8  // u8: 1 integer, 2 bytes
    package static let flags = 9  // u8, zero
    package static let height = 10  // u16
    package static let reserved = 12  // u32, zero
    package static let entryCount = 16  // u64
    package static let leafPageCount = 24  // u64
    package static let createdTransaction = 32  // u64
    package static let byteCount = 40
}

extension TreeRecord {
    /// The 40 bytes of the record.
    package func encoded() -> [UInt8] {
        assert(treeID != 0 && height >= 1, "tree \(treeID) of height \(height)")
        var record = RecordBytes(byteCount: TreeRecordLayout.byteCount)
        record.store(treeID, at: TreeRecordLayout.treeID)
        record.store(root, at: TreeRecordLayout.root)
        record.store(kind.rawValue, at: TreeRecordLayout.kind)
        record.store(UInt16(height), at: TreeRecordLayout.height)
        record.store(entryCount, at: TreeRecordLayout.entryCount)
        record.store(leafPageCount, at: TreeRecordLayout.leafPageCount)
        record.store(createdTransaction, at: TreeRecordLayout.createdTransaction)
        return record.bytes
    }

    /// Reads a record; `nil` if it is not valid (rule 79).
    package init?(decoding bytes: RawSpan) {
        guard bytes.byteCount == TreeRecordLayout.byteCount,
            let kind = KeyKind(rawValue: bytes.loadUInt8(at: TreeRecordLayout.kind)),
            bytes.loadUInt8(at: TreeRecordLayout.flags) == 0,
            bytes.loadUInt32(at: TreeRecordLayout.reserved) == 0
        else { return nil }
        self.init(
            treeID: bytes.loadUInt32(at: TreeRecordLayout.treeID),
            root: bytes.loadUInt32(at: TreeRecordLayout.root),
            kind: kind,
            height: Int(bytes.loadUInt16(at: TreeRecordLayout.height)),
            entryCount: bytes.loadUInt64(at: TreeRecordLayout.entryCount),
            leafPageCount: bytes.loadUInt64(at: TreeRecordLayout.leafPageCount),
            createdTransaction: bytes.loadUInt64(at: TreeRecordLayout.createdTransaction))
        guard treeID >= FixedPlace.firstTreeID, root > FixedPlace.catalogRoot,
            height >= 1, height <= StoreGeometry.treeDepthMax, leafPageCount >= 1
        else { return nil }
    }
}

/// The places of the last insertions, changes and removals of a tree.
///
/// With the hint a run of neighbors skips the descent, and a split knows that it is within such a run.
package struct WriteHint: Sendable {
    /// The leaf of the last insertion, 0 if there was none.
    package private(set) var leaf: PageNumber = 0
    /// The index of the last insertion in that leaf.
    private var index = 0
    /// The number of insertions in a row that were each just after, or just before, the previous one; at most 8.
    package private(set) var ascending = 0
    package private(set) var descending = 0
    /// The leaf of the last removal, 0 if there was none.
    package private(set) var removalLeaf: PageNumber = 0
    /// Whether the removal before it was in the same leaf.
    package private(set) var removesInRun = false

    /// A hint that names no leaf.
    package init() {}

    /// Whether to try `leaf` first: the last insertions were neighbors.
    package var isInRun: Bool { ascending > 0 || descending > 0 }

    /// The index in `leaf` where the next entry of a run belongs.
    package var next: Int { ascending > 0 ? index + 1 : index }

    /// Remembers an insertion of entry `index` into `page`.
    ///
    /// An insertion after all entries of the last leaf (`isAppend`) begins a run at once.
    package mutating func note(_ page: PageNumber, _ index: Int, isAppend: Bool) {
        assert(page != 0 && index >= 0, "entry \(index) of page \(page)")
        let isSameLeaf = page == leaf
        ascending = isAppend || isSameLeaf && index == self.index + 1 ? min(ascending + 1, 8) : 0
        descending = isSameLeaf && index == self.index ? min(descending + 1, 8) : 0
        (leaf, self.index) = (page, index)
    }

    /// Remembers a removal from `page`.
    package mutating func noteRemoval(_ page: PageNumber) {
        assert(page != 0, "a leaf has no number")
        (removesInRun, removalLeaf) = (page == removalLeaf, page)
    }

    /// Names `child` in place of `root`, whose entries are now in the leaf `child`.
    package mutating func leaveRoot(_ root: PageNumber, for child: PageNumber) {
        assert(child != 0 && child != root, "page \(child) does not take what was in the root")
        if leaf == root { leaf = child }
        if removalLeaf == root { removalLeaf = child }
    }

    /// Names `page` as the leaf in which the run continues, and `index` if that changed too.
    package mutating func follow(to page: PageNumber, index: Int? = nil) {
        assert(page != 0 && index ?? 0 >= 0, "entry \(index ?? 0) of page \(page)")
        leaf = page
        if let index { self.index = index }
    }
}
