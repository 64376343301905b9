// How faults get their contents: one trip to the store for the whole cohort (F-2).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The object for `id`, which `source` refers to across `relationship`.
    func object(for id: ObjectID, from source: ManagedObject, across relationship: Relationship) -> ManagedObject {
        if let object = registry[id] {
            if object.cohort == nil, object.row == nil, object.isFault {
                object.cohort = step(from: source, across: relationship)
            }
            return object
        }
        return makeFault(id, row: cache.row(of: id), cohort: step(from: source, across: relationship))
    }

    /// Brings the row of a fault into memory, with those of its cohort; `row` stays `nil` if the store has none.
    func loadRow(of object: ManagedObject) throws(ContextError) {
        let id = object.storedID
        guard !id.isTemporary else { return }
        if let row = cache.row(of: id) {
            object.row = row
            return
        }
        let cohort = object.cohort
        let wanted =
            cohort?.members(around: id) { member in
                !member.isTemporary && member.storeTag == id.storeTag && registry[member]?.row == nil
                    && cache.row(of: member) == nil
            } ?? [id]
        faultTrips += 1
        for row in try persistentStoreCoordinator.snapshots(of: wanted) {
            guard let row else { continue }
            rowsFetched += 1
            cohort?.keep(row)
            if let member = registry[row.id], member.row == nil, !member.isInserted { member.row = row }
        }
    }

    /// What the store holds for a to-many relationship of an object; loads it for the whole cohort.
    func storedDestinations(
        of relationship: Relationship, for object: ManagedObject
    ) throws(ContextError) -> [ObjectID] {
        let key = RowCache.ListKey(owner: object.storedID, slot: relationship.slot)
        if let list = cache.list(key) { return list }
        let cohort = cohort(of: object)
        let declaring = model.entities[relationship.declaredBy]
        let owners = cohort.members(around: object.storedID) { member in
            !member.isTemporary && member.storeTag == object.storedID.storeTag
                && shape(ofTag: member.entityTag)?.entity.isKind(of: declaring) == true
                && cache.list(RowCache.ListKey(owner: member, slot: relationship.slot)) == nil
        }
        faultTrips += 1
        let lists = try persistentStoreCoordinator.destinations(of: relationship, for: owners)
        for (owner, list) in zip(owners, lists) {
            cohort.keep(list, for: RowCache.ListKey(owner: owner, slot: relationship.slot))
        }
        return lists.first ?? []
    }

    private func cohort(of object: ManagedObject) -> Cohort {
        if let cohort = object.cohort { return cohort }
        let cohort = Cohort([object.storedID], cache: cache)
        object.cohort = cohort
        return cohort
    }

    /// The cohort of everything that the cohort of `source` refers to across `relationship`.
    private func step(from source: ManagedObject, across relationship: Relationship) -> Cohort? {
        guard !source.isInserted else { return nil }
        return cohort(of: source).step(across: relationship) { members in
            var found: [ObjectID] = []
            for member in members {
                if relationship.isToMany {
                    found += cache.list(RowCache.ListKey(owner: member, slot: relationship.slot)) ?? []
                } else if shape(ofTag: member.entityTag)?.entity.relationships.count ?? 0 > relationship.slot,
                    let row = registry[member]?.row ?? cache.row(of: member),
                    let id = row.destination(at: relationship.slot)
                {
                    found.append(id)
                }
            }
            return found
        }
    }
}
