// Moving an open store to another file, or to another kind of store (PS-03).

import EspalierModel
public import EspalierStore

extension PersistentStoreCoordinator {
    /// A store that was moved.
    public struct MovedStore: Sendable {
        /// The store that has everything now.
        public let store: any PersistentStore
        /// The IDs of its rows by the former ones.
        public let copy: StoreCopy
        /// The error with which the former store was closed; `nil` if there was none.
        ///
        /// The move stands nevertheless: the former store has nothing that the new one does not have.
        public let closingError: ContextError?
    }

    /// Copies everything to a new store, of any kind, and puts that in the place of the former one, which is closed
    /// (PS-03).
    ///
    /// The new store has the place of the former one in the order of stores; and its name and its entities, where the
    /// description has none.
    ///
    /// The former file stays. IDs of objects have the UUID of the new store, and keep their keys where its kind can
    /// have them: contexts must let go of the former objects, and save before the call. While the new store is written,
    /// saves of others wait; then they throw `StoreError.closed`, so that no save is lost. A store of the application's
    /// own cannot be held: nothing may save to it during the call.
    ///
    /// If the former store cannot be closed, it is removed nevertheless, and the result has the error
    /// (`MovedStore.closingError`).
    ///
    /// - Parameter description: a store that does not exist yet, or is empty.
    /// - Throws: `ContextError.store` if the former store is not open here, or has objects of an entity that the
    ///   description does not accept; if the new store has objects, or cannot be opened or written, or if a context has
    ///   saved meanwhile. The former store is open as it was. A file that the call has made stays, and is empty.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory.
    public func migratePersistentStore(
        _ store: any PersistentStore, to description: PersistentStoreDescription
    ) throws(ContextError) -> MovedStore {
        guard let part = part(of: store) else {
            throw ContextError(StoreError.invalidRequest(reason: "the store that is to be moved is not open here"))
        }
        let description = completed(description, inPlaceOf: store)
        let entityNames = try entityNames(of: description)
        let scratch = PersistentStoreCoordinator(managedObjectModel: managedObjectModel)
        let target = try scratch.addPersistentStore(description)
        let copy: StoreCopy
        let running = beginCommand(in: part)
        defer { end(running) }
        do { copy = try store.move(to: target, refusing: entitiesToRefuse(entityNames, part)) } catch {
            try? scratch.remove(target)
            throw ContextError(error)
        }
        let closingError = replace(store, by: target, description, entityNames: entityNames)
        return MovedStore(store: target, copy: copy, closingError: closingError)
    }

    /// The topmost entities whose objects an open store may have, although a store with these entities would not: they
    /// could not be found after a move.
    private func entitiesToRefuse(
        _ names: Set<String>?, _ part: SourcePart
    ) -> Set<ManagedObjectModel.EntityIndex> {
        guard let names else { return [] }
        let accepted = Set(names.compactMap { managedObjectModel.entity(named: $0)?.root })
        let roots = managedObjectModel.entities.filter { $0.root == $0.index && part.takes($0) }
        return Set(roots.map(\.index)).subtracting(accepted)
    }
}
