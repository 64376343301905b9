// Reads any number of lists of one link tree with one lookup of the engine.
//
// Invariants
//   1. Reading a list reveals the entry after it: the owner of that entry needs no new descent, and an owner between
//      the two has no entries. Most members of a cohort are read in this order.
//   2. The tree does not change while a cursor is in use.

internal import EspalierEngine
internal import EspalierModel

struct LinkCursor: ~Copyable {
    private var entries: Lookup<[UInt8]>
    /// Owners that have no entries: those between the owner read last and the next one with entries.
    private var gap: Range<UInt64> = 0..<0
    private let tree: Tree<[UInt8]>
    private let keyByteCount: Int
    private let declaredBy: Int
    private let catalog: StoreCatalog

    /// Reads `tree`, whose keys have `keyByteCount` bytes, through `entries`, a lookup in this tree.
    init(
        _ entries: consuming Lookup<[UInt8]>, of tree: Tree<[UInt8]>, keyByteCount: Int,
        of relationship: Relationship, _ catalog: StoreCatalog
    ) {
        assert(keyByteCount == 16 || keyByteCount == 24, "keys of links have \(keyByteCount) bytes")
        self.entries = entries
        self.tree = tree
        self.keyByteCount = keyByteCount
        declaredBy = relationship.declaredBy
        self.catalog = catalog
    }

    /// Calls `body` with each entry of the list of `owner`, in order.
    mutating func forEachLink(
        of owner: UInt64, _ body: (_ key: RawSpan, _ id: ObjectID) -> Void
    ) throws(StoreError) {
        if gap.contains(owner) { return }
        gap = 0..<0
        var (next, isDamaged) = (UInt64.max, false)
        try entries.forEach(fromBigEndian: owner) { [catalog, keyByteCount] key, value throws(StoreError) in
            isDamaged = key.byteCount < 8
            guard !isDamaged else { return false }
            let found = key.bigEndianKey(at: 0)
            guard found == owner else {
                next = found
                return false
            }
            guard key.byteCount == keyByteCount, value.byteCount == 2,
                let id = catalog.numbering.id(
                    entityNumber: value.number(at: 0), key: key.bigEndianKey(at: keyByteCount - 8))
            else {
                isDamaged = true
                return false
            }
            body(key, id)
            return true
        }
        if isDamaged { throw damaged(owner) }
        if owner < next { gap = owner + 1..<next }
    }

    private func damaged(_ owner: UInt64) -> StoreError {
        .damaged(
            entity: catalog.model.entities[declaredBy].name, key: owner,
            reason: "an entry of tree \"\(tree.name)\" is not a link")
    }
}
