// Copying everything from one store to another one of any kind (PS-03).

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
    /// - Throws: `.invalidRequest` if `target` has rows or another model, or if other contexts have saved meanwhile;
    ///   the errors of reading and saving. The target is as it was.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory.
    @discardableResult
    public func copy(to target: any PersistentStore) throws(StoreError) -> StoreCopy {
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
        let whole = target as? WholeGraphStore
        let (moved, changed) = graph.moved(to: target, hasSharedKeys: whole?.source.hasSharedKeys == true)
        guard present.isNewest else {
            throw .invalidRequest(reason: "the store has changed while it was copied; copy it again")
        }
        let copy = StoreCopy(from: identifier, to: target.identifier, changed: changed)
        if let whole {
            try whole.replaceContent(by: moved)
        } else if let memory = target as? InMemoryStore {
            try memory.replaceContent(by: moved)
        } else if let tree = target as? BTreeStore {
            var last: [ManagedObjectModel.EntityIndex: UInt64] = [:]
            for row in moved.rows {
                guard let entity = model.entity(named: row.id.entityName) else { continue }
                last[entity.root] = max(last[entity.root] ?? 0, row.id.key)
            }
            for (root, key) in last { try tree.reserveKeys(upTo: key, for: model.entities[root]) }
            _ = try tree.save(moved.request(model))
            if !moved.metadata.isEmpty { try tree.setMetadata(moved.metadata) }
        } else {
            return try insert(graph, into: target)
        }
        return copy
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
        let result: SaveResult
        if let checks = ContractChecks(of: target, model: model) {
            result = try checks.save(request, to: target)
        } else {
            result = try target.save(request)
        }
        for (row, id) in zip(graph.rows, result.inserted.ids) { changed.set(id, for: row.id) }
        if !graph.metadata.isEmpty { try target.setMetadata(graph.metadata) }
        return StoreCopy(from: identifier, to: target.identifier, changed: changed)
    }
}
