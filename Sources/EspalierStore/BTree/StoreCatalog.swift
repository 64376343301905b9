// The trees of a store file, and the meaning of its numbers.
//
// Trees (on disk)
//   schema    bytes: "format" -> u16 version of this layer's format; "model" -> the whole model (ModelCoding);
//             "entity:<n>" -> name of entity number n; "layout:<n>" -> layout record n (RowLayout), n from 1 up.
//   counters  integers: kind << 32 | number -> u64. Kind 1: rows of entity number n; 2: last primary key allocated in
//             the hierarchy whose root is entity number n; 3: cut entries of the index tree with id n; 4: greatest
//             version at which a row of the hierarchy whose root is entity number n was deleted.
//   metadata  bytes: name -> tagged value. The application's.
//   rows:<root entity>           integers: primary key -> row (RowLayout)
//   index:<entity>.<index>       bytes: GroupKey; unique:<entity>.<a,b> the same for a uniqueness constraint
//   links:<entity>.<relationship>   bytes: LinkKey, one tree for each to-many relationship
//   owners:<entity>.<relationship>  bytes: LinkKey the other way, for to-many relationships without inverse
// Invariants
//   1. Immutable after opening; any thread may read it.
//   2. Every root entity has a tree of rows, every group and every to-many relationship a tree of its own, and every
//      to-many relationship without inverse also a tree that leads back.

internal import EspalierEngine
internal import EspalierModel

/// The trees and numbers of an open store file.
final class StoreCatalog: Sendable {
    let schema: StoreSchema
    let numbering: StoreNumbering
    /// By index of the root entity.
    let rowTrees: [Tree<UInt64>?]
    /// By position in `schema.groups`.
    let groupTrees: [Tree<[UInt8]>]
    /// By index of the entity that declares the relationship, then by slot.
    private let linkTrees: [[Tree<[UInt8]>?]]
    let ownerTrees: [RelationshipID: Tree<[UInt8]>]
    let counters: Tree<UInt64>
    let metadata: Tree<[UInt8]>

    init(
        schema: StoreSchema, numbering: StoreNumbering, rowTrees: [Tree<UInt64>?], groupTrees: [Tree<[UInt8]>],
        linkTrees: [RelationshipID: Tree<[UInt8]>], ownerTrees: [RelationshipID: Tree<[UInt8]>], counters: Tree<UInt64>,
        metadata: Tree<[UInt8]>
    ) {
        self.schema = schema
        self.numbering = numbering
        self.rowTrees = rowTrees
        self.groupTrees = groupTrees
        self.linkTrees = schema.model.entities.map { entity in
            entity.relationships.map { $0.declaredBy == entity.index ? linkTrees[RelationshipID($0)] : nil }
        }
        self.ownerTrees = ownerTrees
        self.counters = counters
        self.metadata = metadata
        assert(checkInvariants())
    }

    var model: ManagedObjectModel { schema.model }

    /// Whether new values of attributes only write over bytes of rows: no index entry, no length and no value of other
    /// rows changes.
    func isPatch(
        _ values: [(slot: Int, value: AttributeValue)], of entity: ManagedObjectModel.EntityIndex
    ) -> Bool {
        RowEncoder(numbering: numbering).canPatch(entity, values) && isConfined(values, of: entity)
    }

    /// Whether new values of attributes change nothing but their row: no index entry and no value of other rows.
    func isConfined(
        _ values: [(slot: Int, value: AttributeValue)], of entity: ManagedObjectModel.EntityIndex
    ) -> Bool {
        !schema.isIndexed(values, [], of: entity) && !schema.derivations.isWatched(values, of: entity)
    }

    /// The tree with the rows of `entity`'s hierarchy.
    func rowTree(of entity: Entity) -> Tree<UInt64> { rowTree(ofRoot: entity.root) }

    /// The tree with the rows of the hierarchy whose root has this index.
    func rowTree(ofRoot root: ManagedObjectModel.EntityIndex) -> Tree<UInt64> {
        guard let tree = rowTrees[root] else { preconditionFailure("a root entity has no tree") }
        return tree
    }

    /// The tree with the lists of a to-many relationship.
    func linkTree(of relationship: Relationship) -> Tree<[UInt8]> {
        guard let tree = linkTrees[relationship.declaredBy][relationship.slot] else {
            preconditionFailure("a to-many relationship has no tree")
        }
        return tree
    }

    /// Whether a relationship is to-many and of the store's model.
    func hasLinkTree(of relationship: Relationship) -> Bool {
        linkTrees.indices.contains(relationship.declaredBy)
            && linkTrees[relationship.declaredBy].indices.contains(relationship.slot)
            && linkTrees[relationship.declaredBy][relationship.slot] != nil
    }

    /// The tree that leads back from the destinations of a to-many relationship without inverse.
    func ownerTree(of relationship: Relationship) -> Tree<[UInt8]>? {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        return ownerTrees[RelationshipID(relationship)]
    }

    /// Whether another catalog of the same model has the same trees, and no other layouts of rows.
    func hasSameTrees(as other: StoreCatalog) -> Bool {
        assert(schema.groups.count == other.schema.groups.count, "catalogs of two models are compared")
        guard numbering.layouts.count == other.numbering.layouts.count,
            numbering.entityNumbers == other.numbering.entityNumbers
        else { return false }
        return treeIDs == other.treeIDs
    }

    /// The numbers of all trees; 0 where there is none.
    private var treeIDs: [UInt32] {
        var ids = [counters.id, metadata.id]
        for tree in rowTrees { ids.append(tree?.id ?? 0) }
        for tree in groupTrees { ids.append(tree.id) }
        for entity in model.entities {
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                ids.append(linkTrees[entity.index][relationship.slot]?.id ?? 0)
                ids.append(ownerTrees[RelationshipID(relationship)]?.id ?? 0)
            }
        }
        return ids
    }

    // MARK: Invariants

    /// Asserts that each part of the model has the trees that it needs, and no others; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(rowTrees.count == model.entities.count, "\(rowTrees.count) places for trees of rows")
        assert(groupTrees.count == schema.groups.count, "\(groupTrees.count) trees of \(schema.groups.count) groups")
        var ownerTreeCount = 0
        for entity in model.entities {
            let isRoot = entity.root == entity.index
            assert((rowTrees[entity.index] != nil) == isRoot, "the tree with the rows of \(entity.name)")
            for relationship in entity.relationships {
                let isListed = relationship.declaredBy == entity.index && relationship.isToMany
                let tree = linkTrees[entity.index][relationship.slot]
                assert((tree != nil) == isListed, "the tree with the lists of \(entity.name).\(relationship.name)")
                guard isListed, relationship.inverse == nil else { continue }
                assert(ownerTree(of: relationship) != nil, "no owner tree exists for \(relationship.name)")
                ownerTreeCount += 1
            }
        }
        assert(
            ownerTrees.count == ownerTreeCount, "\(ownerTrees.count) owner trees exist, \(ownerTreeCount) are needed")
        return true
    }
}

extension StoreTransaction where Base: ~Copyable {
    /// The value of a counter; 0 if it was never written.
    func counter(_ key: UInt64, _ catalog: StoreCatalog) throws(StoreError) -> UInt64 {
        guard let bytes = try get(key, from: catalog.counters), bytes.count == 8 else { return 0 }
        return bytes.number(at: 0)
    }
}

extension Int {
    /// Adds a number that a file states, which may be any; the sum is at most `Int.max`.
    mutating func add(clamping count: UInt64) {
        assert(self >= 0, "a count of \(self)")
        let (sum, overflows) = addingReportingOverflow(Int(clamping: count))
        self = overflows ? .max : sum
    }
}

extension StoreCatalog {
    /// Requires that `count` keys can follow the last allocated key of a hierarchy.
    func checkKeys(after last: UInt64, count: Int, of root: Entity) throws(StoreError) {
        assert(count >= 0, "\(count) keys")
        guard last.addingReportingOverflow(UInt64(count)).overflow else { return }
        throw .damagedContent(
            path: nil, entity: root.name, key: last,
            reason: "the last allocated key is stated to be \(last), after which there are no more; rebuild the store")
    }
}

extension StoreTransaction where Base == WriteTransaction {
    mutating func setCounter(_ key: UInt64, to value: UInt64, _ catalog: StoreCatalog) throws(StoreError) {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: value)
        try put(bytes, for: key, in: catalog.counters)
    }
}
