// The coordinator as the source of contexts: each open store is a part.
//
// Invariants
//   1. No answer of a store that implements the contract itself reaches a context unchecked.
//   2. A closure that a store calls in a command cannot change this store: a store in a file is being written, and the
//      others refuse it too, so that a program does not depend on the kind of its store.

import EspalierModel
import EspalierStore

extension PersistentStoreCoordinator: ObjectSource {
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot {
        let (store, checks) = try storeAndChecks(of: part)
        let snapshot = try store.snapshot()
        return checks?.checked(snapshot) ?? snapshot
    }

    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID] {
        let (store, checks) = try storeAndChecks(of: part)
        try checkIsNotInCommand(part)
        let ids = try store.reserveIDs(for: entity, count: count)
        try checks?.check(reserved: ids, count: count, for: entity)
        return ids
    }

    func save(
        _ request: SaveRequest, from origin: SaveOrigin, in part: SourcePart
    ) throws(StoreError) -> SaveResult {
        let (store, checks) = try storeAndChecks(of: part)
        try checkIsNotInCommand(part)
        guard let checks else { return try store.save(request) }
        return try checks.save(request, to: store)
    }

    /// Has the store of a part carry out a command.
    func execute(_ command: StoreCommand, in part: SourcePart) throws(StoreError) -> CommandResult {
        let (store, checks) = try storeAndChecks(of: part)
        try checkIsNotInCommand(part)
        let running = beginCommand(in: part)
        defer { end(running) }
        guard let checks else { return try store.execute(command) }
        return try checks.execute(command, in: store)
    }
}
