// Reads the lists of one link tree, as many as are asked for, with one cursor of the engine.
//
// Invariants
//   1. What the cursor stands on is known from the list before: an owner whose list comes next needs no descent, and
//      one that lies in between has no entries. The members of a cohort mostly come so.
//   2. The tree does not change while one of these is in use.

internal import EspalierEngine
internal import EspalierModel

struct LinkCursor: ~Copyable {
    /// What is known of where the cursor stands, if the owner before was `after`.
    private enum Place {
        case unknown
        /// On the first entry of `owner`; those between have none.
        case atOwner(UInt64, after: UInt64)
        /// Behind the last entry.
        case atEnd(after: UInt64)
    }

    private var cursor: StoreCursor
    private var place = Place.unknown
    private let tree: Tree
    private let keyByteCount: Int
    private let declaredBy: Int
    private let catalog: StoreCatalog
    private let path: String?

    /// Reads `tree`, whose keys have `keyByteCount` bytes; `cursor` is over it.
    init(
        _ cursor: consuming StoreCursor, over tree: Tree, keyByteCount: Int, of relationship: Relationship,
        _ catalog: StoreCatalog, path: String?
    ) {
        self.cursor = cursor
        self.tree = tree
        self.keyByteCount = keyByteCount
        declaredBy = relationship.declaredBy
        self.catalog = catalog
        self.path = path
    }

    /// Calls `body` with each entry of the list that `owner` has, in order.
    mutating func forEachLink(
        of owner: UInt64, _ body: (_ key: RawSpan, _ id: ObjectID) -> Void
    ) throws(StoreError) {
        guard try move(to: owner) else { return }
        place = .unknown
        var (next, isDamaged) = (owner, false)
        try cursor.forEachEntry { [catalog, keyByteCount] key, value throws(StoreError) in
            isDamaged = key.byteCount < 8
            guard !isDamaged else { return false }
            next = key.bigEndianKey(at: 0)
            guard next == owner else { return false }
            guard key.byteCount == keyByteCount, value.byteCount == 2,
                let id = catalog.context.id(
                    entityNumber: value.number(at: 0), key: key.bigEndianKey(at: keyByteCount - 8))
            else {
                isDamaged = true
                return false
            }
            body(key, id)
            return true
        }
        if isDamaged { throw damaged(owner) }
        place = next == owner ? .atEnd(after: owner) : .atOwner(next, after: owner)
    }

    /// Moves to the first entry of `owner` or one behind it; returns whether there may be one of its own.
    private mutating func move(to owner: UInt64) throws(StoreError) -> Bool {
        switch place {
        case .atOwner(owner, after: _): return true
        case .atOwner(let next, let last) where last < owner && owner < next: return false
        case .atEnd(let last) where last < owner: return false
        default:
            place = .unknown
            if try cursor.seek(bigEndian: owner) { return true }
            place = .atEnd(after: owner)
            return false
        }
    }

    private func damaged(_ owner: UInt64) -> StoreError {
        .damagedContent(
            path: path, entity: catalog.model.entities[declaredBy].name, key: owner,
            reason: "an entry of tree \"\(tree.name)\" is no link")
    }
}
