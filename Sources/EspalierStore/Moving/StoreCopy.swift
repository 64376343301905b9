// Copying everything from one store to another one of any kind (PS-03).
//
// Invariants
//   1. No change of a store of this package is lost: none is made between the test that the snapshot is the newest one
//      and the end of the copy. A store that was moved accepts no changes any more.
//   2. A target that is left with rows has everything: rows are written together with metadata, or after them.
//   3. Rows that must not move are looked for when no more of them can come.

public import EspalierModel
internal import FoundationEssentials

/// The IDs of rows in the copy of a store.
public struct StoreCopy: Sendable {
    private let source: UUID
    private let target: UInt32
    private let changed: ObjectIDTable<ObjectID>

    init(from source: UUID, to target: UUID, changed: ObjectIDTable<ObjectID>) {
        (self.source, self.target, self.changed) = (source, Interned.stores.tag(of: target), changed)
    }

    /// The number of rows that could not keep their keys.
    public var changedKeyCount: Int { changed.count }

    /// The ID in the copy of a row of the original; `nil` for an ID of another store.
    ///
    /// - Complexity: O(1).
    public func id(of original: ObjectID) -> ObjectID? {
        guard original.storeIdentifier == source else { return nil }
        return changed[original]
            ?? ObjectID(storeTag: target, entityTag: original.entityTag, key: original.key)
    }
}

extension PersistentStore {
    /// Copies all rows, lists and metadata to an empty store with the same model, of any kind.
    ///
    /// Keys stay the same where the target can have them. Stores that keep versions as values, in memory and in files
    /// that are saved as a whole, take over the versions of rows; others begin anew.
    ///
    /// Others can save until the target is written; then they wait. If this is a store of an application's own, they
    /// must not save in that time.
    ///
    /// - Throws: `.invalidRequest` if `target` is this store, or has rows or another model, or if other contexts have
    ///   saved meanwhile; the errors of reading and saving. The target has no more rows than before.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory.
    @discardableResult
    public func copy(to target: any PersistentStore) throws(StoreError) -> StoreCopy {
        try copy(to: target, endsChanges: false, refusing: [])
    }

    /// Copies everything as `copy(to:)` does, after which this store saves nothing any more: it can only be closed.
    ///
    /// A save that waits for the end of the copy throws `.closed`, and so do later ones. If the copy fails, they go on.
    ///
    /// - Parameter refused: the topmost entities whose rows must not move.
    /// - Throws: as `copy(to:)`; `.invalidRequest` if there are such rows.
    package func move(
        to target: any PersistentStore, refusing refused: Set<ManagedObjectModel.EntityIndex> = []
    ) throws(StoreError) -> StoreCopy {
        try copy(to: target, endsChanges: true, refusing: refused)
    }

    private func copy(
        to target: any PersistentStore, endsChanges: Bool, refusing refused: Set<ManagedObjectModel.EntityIndex>
    ) throws(StoreError) -> StoreCopy {
        guard target !== self else { throw .invalidRequest(reason: "a store is copied to another one") }
        guard target.model === model else {
            throw .invalidRequest(reason: "a store is copied to one with the same model; open the target with it")
        }
        for root in model.entities where root.root == root.index {
            guard try target.count(StoreFetch(entity: root, limit: 1)) == 0 else {
                throw .invalidRequest(
                    reason: "the target has objects of \(root.name); a store is copied to an empty one")
            }
        }
        let present = try snapshot()
        let graph = try StoredGraph(present, of: self)
        let hasSharedKeys = (target as? WholeGraphStore)?.source.hasSharedKeys == true
        let (moved, changed) = graph.moved(to: target, hasSharedKeys: hasSharedKeys)
        guard let source = self as? any BuiltInStore else {
            return try write(graph, moved, changed, of: present, to: target, refusing: refused)
        }
        return try source.holdChanges(endsChanges: endsChanges) { () throws(StoreError) in
            try write(graph, moved, changed, of: present, to: target, refusing: refused)
        }
    }

    /// Writes a copy, unless the store has changed since the snapshot from which it was made.
    ///
    /// - Parameters:
    ///   - graph: everything in the snapshot but metadata, which no snapshot has: they are read here.
    ///   - moved: the same with the IDs of the target.
    ///   - refused: the topmost entities of which the graph may have no rows.
    private func write(
        _ graph: StoredGraph, _ moved: StoredGraph, _ changed: ObjectIDTable<ObjectID>,
        of snapshot: any StoreSnapshot, to target: any PersistentStore,
        refusing refused: Set<ManagedObjectModel.EntityIndex>
    ) throws(StoreError) -> StoreCopy {
        guard snapshot.isNewest else {
            throw .invalidRequest(reason: "the store has changed while it was copied; copy it again")
        }
        if !refused.isEmpty { try check(graph, hasNoneOf: refused) }
        var (graph, moved) = (graph, moved)
        graph.metadata = try metadata()
        moved.metadata = graph.metadata
        switch target {
        case let whole as WholeGraphStore: try whole.replaceContent(by: moved)
        case let memory as InMemoryStore: try memory.replaceContent(by: moved)
        case let tree as BTreeStore: try fill(tree, with: moved)
        default: return try insert(graph, into: target)
        }
        return StoreCopy(from: identifier, to: target.identifier, changed: changed)
    }

    private func check(
        _ graph: StoredGraph, hasNoneOf refused: Set<ManagedObjectModel.EntityIndex>
    ) throws(StoreError) {
        assert(refused.allSatisfy { model.entities[$0].root == $0 }, "entities \(refused) are not all topmost ones")
        for row in graph.rows {
            guard let entity = model.entity(named: row.id.entityName), refused.contains(entity.root) else { continue }
            let name = model.entities[entity.root].name
            throw .invalidRequest(reason: "the store has objects of \(name), which its new place does not accept")
        }
    }

    private func fill(_ tree: BTreeStore, with graph: StoredGraph) throws(StoreError) {
        var last: [ManagedObjectModel.EntityIndex: UInt64] = [:]
        for row in graph.rows {
            guard let entity = model.entity(named: row.id.entityName) else { continue }
            last[entity.root] = max(last[entity.root] ?? 0, row.id.key)
        }
        try tree.fill(
            graph.request(model), lastKeys: last.map { (root: model.entities[$0.key], key: $0.value) },
            metadata: graph.metadata)
    }

    /// Inserts everything under new IDs, which the target gives.
    private func insert(_ graph: StoredGraph, into target: any PersistentStore) throws(StoreError) -> StoreCopy {
        var (ids, changed) = (ObjectIDTable<ObjectID>(), ObjectIDTable<ObjectID>())
        for row in graph.rows { ids.set(ObjectID(temporaryFor: row.id.entityName), for: row.id) }
        func new(_ id: ObjectID) -> ObjectID { ids[id] ?? id }
        var request = graph.request(model)
        for position in request.insertions.indices {
            let row = request.insertions[position]
            request.insertions[position] = .init(
                id: new(row.id), values: row.values, destinations: row.destinations.map { $0.map(new) })
        }
        for position in request.links.indices {
            let link = request.links[position]
            request.links[position] = .init(
                owner: new(link.owner), slot: link.slot, added: link.added.map(new), order: link.order?.map(new))
        }
        // First, because rows are what a later copy would find: the contract has no call that writes both.
        if !graph.metadata.isEmpty { try target.setMetadata(graph.metadata) }
        let result: SaveResult
        if let checks = ContractChecks(of: target, model: model) {
            result = try checks.save(request, to: target)
        } else {
            result = try target.save(request)
        }
        for (row, id) in zip(graph.rows, result.inserted.ids) { changed.set(id, for: row.id) }
        return StoreCopy(from: identifier, to: target.identifier, changed: changed)
    }
}
