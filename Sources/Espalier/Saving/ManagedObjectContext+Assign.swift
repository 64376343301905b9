// The choice of a store for new objects (MC-09).
//
// Invariants
//   1. A chosen store is part of an object's permanent ID, which a child context and its parents keep: no other place
//      has to remember the choice.

import EspalierModel
public import EspalierStore

extension ManagedObjectContext {
    /// Chooses the store to which the next save writes new objects (MC-09).
    ///
    /// Without a choice, an object is saved in the first writable store that accepts its entity. The objects get
    /// permanent IDs of the store at once, and stay inserted. In a child context the choice is that of the store to
    /// which the root saves in the end. All objects that are related to one another must be in one store.
    ///
    /// - Parameters:
    ///   - objects: new objects of this context. To assign an object twice to one store changes nothing.
    ///   - store: an open store of the coordinator.
    /// - Throws: `ContextError.objectOfOtherContext`; `.storeIsChosen` for an object with a permanent ID of another
    ///   store; `.noStore` if the store is not open here; `.storeRefusesEntity`; `.readOnlyStore`; `.alreadySaving` in
    ///   a hook that runs while rows are written; `.objectNotFound` as `obtainPermanentIDs(for:)` throws it; or the
    ///   store's error. Then no object is changed.
    /// - Complexity: O(`objects` and the objects related to them); O(all unsaved objects) if a relationship without
    ///   inverse refers to their entities. All objects of one entity take one transaction of the store.
    public func assign(_ objects: [ManagedObject], to store: any PersistentStore) throws(ContextError) {
        try checkIsNotStoring()
        let coordinator = persistentStoreCoordinator
        let isOpen = coordinator.persistentStores.contains { $0 === store }
        let tag = Interned.stores.tag(of: store.identifier)
        let chosen = isOpen ? coordinator.parts.first { $0.storeTag == tag } : nil
        var byEntity: [ManagedObjectModel.EntityIndex: [ManagedObject]] = [:]
        var seen = Set<ManagedObject>()
        for object in objects where seen.insert(object).inserted {
            guard object.managedObjectContext === self else { throw .objectOfOtherContext(object.storedID) }
            guard let part = chosen else { throw .noStore(entity: object.entity.name) }
            if object.isInserted && object.storedID.storeTag == tag { continue }
            guard object.isInserted, object.storedID.isTemporary else { throw .storeIsChosen(object.storedID) }
            guard part.takes(object.entity) else { throw .storeRefusesEntity(object.entity.name, path: part.path) }
            guard !part.isReadOnly else { throw .readOnlyStore(path: part.path) }
            byEntity[object.entity.index, default: []].append(object)
        }
        var permanentIDs: [ObjectID: ObjectID] = [:]
        for (_, group) in byEntity.sorted(by: { $0.key < $1.key }) {
            guard let part = chosen else { throw .noStore(entity: group[0].entity.name) }
            let entity = group[0].entity
            let ids: [ObjectID]
            do {
                ids = try reservation(of: group.count, for: entity) { () throws(StoreError) in
                    try coordinator.reserveIDs(for: entity, count: group.count, in: part)
                }
            } catch {
                throw ContextError(error)
            }
            try requireFree(ids, in: part)
            for (object, id) in zip(group, ids) { permanentIDs[object.storedID] = id }
        }
        rename(byEntity.values.flatMap(\.self), permanentIDs)
    }

    /// Chooses the store to which the next save writes a new object (MC-09).
    ///
    /// - Throws: as for several objects.
    /// - Complexity: one transaction of the store; to assign many objects, pass them together.
    public func assign(_ object: ManagedObject, to store: any PersistentStore) throws(ContextError) {
        try assign([object], to: store)
    }
}
