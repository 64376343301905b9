// The coordinator as the source of contexts: each open store is a part.
//
// Invariants
//   1. No answer of a store that implements the contract itself reaches a context unchecked.

import EspalierModel
import EspalierStore

extension PersistentStoreCoordinator: ObjectSource {
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot {
        let (store, checks) = try storeAndChecks(of: part)
        let snapshot = try store.snapshot()
        guard let checks, !snapshot.isBuiltIn else { return snapshot }
        return CheckedSnapshot(snapshot, checks, model: managedObjectModel)
    }

    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID] {
        let (store, checks) = try storeAndChecks(of: part)
        let ids = try store.reserveIDs(for: entity, count: count)
        try checks?.check(reserved: ids, count: count, for: entity)
        return ids
    }

    func save(
        _ request: SaveRequest, from origin: SaveOrigin, in part: SourcePart
    ) throws(StoreError) -> SaveResult {
        let (store, checks) = try storeAndChecks(of: part)
        let result = try store.save(request)
        try checks?.check(result, of: request)
        return result
    }
}

extension PersistentStore {
    /// Whether the store is one of this package, which keeps the contract or checks the source that it asks.
    var isBuiltIn: Bool {
        self is BTreeStore || self is InMemoryStore || self is WholeGraphStore || self is IncrementalStore
    }
}

extension StoreSnapshot {
    /// Whether the snapshot is that of a built-in store, to which a store of an application passes questions on.
    fileprivate var isBuiltIn: Bool {
        self is BTreeSnapshot || self is InMemorySnapshot || self is IncrementalSnapshot
    }
}
