// A whole graph from any store, and a whole graph into any empty store (PS-03).
//
// Invariants
//   1. A row keeps its key wherever the target can have it: B-tree files, files that are saved as a whole, and stores
//      in memory have every key from 1 to 2⁶³ - 1; in an XML store no two rows have the same one.
//   2. The UUID is the target's: two open stores never have the same IDs.

internal import EspalierModel
internal import FoundationEssentials

extension StoredGraph {
    /// Everything that a store holds at the moment of a snapshot.
    ///
    /// - Throws: the errors of reading; `.brokenContract` for a row or a list that a store of an application may not
    ///   have.
    /// - Complexity: O(n) in rows and destinations, all of which are in memory.
    public init(_ snapshot: any StoreSnapshot, of store: any PersistentStore) throws(StoreError) {
        self.init(identifier: store.identifier)
        metadata = try store.metadata()
        let model = store.model
        let snapshot = ContractChecks(of: store, model: model)?.checked(snapshot) ?? snapshot
        for root in model.entities where root.root == root.index {
            for row in try snapshot.fetch(StoreFetch(entity: root)) {
                guard let entity = model.entity(named: row.id.entityName) else { continue }
                rows.append(
                    ObjectSnapshot(
                        id: row.id, version: row.version, values: entity.attributes.map { row.value(at: $0.slot) },
                        destinations: entity.relationships.map { $0.isToMany ? nil : row.destination(at: $0.slot) }))
            }
        }
        for entity in model.entities {
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                guard relationship.isToMany else { continue }
                let owners = try snapshot.fetchIDs(StoreFetch(entity: entity))
                for (owner, list) in zip(owners, try snapshot.destinations(of: relationship, for: owners)) {
                    if !list.isEmpty { lists.append(List(owner, relationship, list)) }
                }
            }
        }
    }

    /// The same graph with the IDs of another store.
    ///
    /// - Parameter hasSharedKeys: whether no two rows may have the same key.
    /// - Returns: the graph, and the new IDs of rows that could not keep their keys.
    func moved(
        to store: any PersistentStore, hasSharedKeys: Bool
    ) -> (graph: StoredGraph, changed: ObjectIDTable<ObjectID>) {
        let tag = Interned.stores.tag(of: store.identifier)
        var taken: [ManagedObjectModel.EntityIndex: Set<UInt64>] = [:]
        var changed = ObjectIDTable<ObjectID>()
        var homeless: [(id: ObjectID, place: ManagedObjectModel.EntityIndex)] = []
        for row in rows {
            guard let entity = store.model.entity(named: row.id.entityName) else { continue }
            let place = hasSharedKeys ? 0 : entity.root
            if row.id.key >= 1 << 63 || !taken[place, default: []].insert(row.id.key).inserted {
                homeless.append((row.id, place))
            }
        }
        var last = taken.mapValues { $0.max() ?? 0 }
        for (id, place) in homeless {
            last[place, default: 0] += 1
            changed.set(
                ObjectID(storeTag: tag, entityTag: id.entityTag, key: last[place, default: 1]), for: id)
        }
        func new(_ id: ObjectID) -> ObjectID {
            changed[id] ?? ObjectID(storeTag: tag, entityTag: id.entityTag, key: id.key)
        }
        var graph = StoredGraph(identifier: store.identifier)
        graph.metadata = metadata
        graph.rows = rows.map { row in
            let counts = row.slotCounts ?? (0, 0)
            return ObjectSnapshot(
                id: new(row.id), version: row.version, values: (0..<counts.values).map { row.value(at: $0) },
                destinations: (0..<counts.destinations).map { row.destination(at: $0).map(new) })
        }
        graph.lists = lists.map { List(new($0.owner), $0.relationship, $0.destinations.map(new)) }
        return (graph, changed)
    }

    /// The request that inserts everything into an empty store of this model.
    func request(_ model: ManagedObjectModel) -> SaveRequest {
        var request = SaveRequest()
        for row in rows {
            let counts = row.slotCounts ?? (0, 0)
            request.insertions.append(
                .init(
                    id: row.id, values: (0..<counts.values).map { row.value(at: $0) },
                    destinations: (0..<counts.destinations).map { row.destination(at: $0) }))
        }
        for list in lists {
            let (relationship, inverse) = (list.relationship, model.inverse(of: list.relationship))
            if relationship.isOrdered {
                request.links.append(.init(owner: list.owner, slot: relationship.slot, order: list.destinations))
            } else if inverse?.isToMany != false {
                // Both ends of a pair may send it.
                request.links.append(.init(owner: list.owner, slot: relationship.slot, added: list.destinations))
            }
        }
        return request
    }
}
