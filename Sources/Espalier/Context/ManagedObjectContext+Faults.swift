// How faults get their contents: one trip to the store for the whole cohort (F-2).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The object for `id`, which `source` refers to across `relationship`.
    func object(for id: ObjectID, from source: ManagedObject, across relationship: Relationship) -> ManagedObject {
        if let object = registry[id] {
            if object.wantsCohort { object.cohort = step(from: source, across: relationship) }
            return object
        }
        return makeFault(id, row: cache.row(of: id), cohort: step(from: source, across: relationship))
    }

    /// The objects for `ids`, which `source` refers to across `relationship`.
    func objects(
        for ids: [ObjectID], from source: ManagedObject, across relationship: Relationship
    ) -> [ManagedObject] {
        // Taken when the first object asks for it, and not asked for again: it is the same for all.
        lazy var step = self.step(from: source, across: relationship)
        return ids.map { id in
            guard let object = registry[id] else { return makeFault(id, row: cache.row(of: id), cohort: step) }
            if object.wantsCohort { object.cohort = step }
            return object
        }
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
                !member.isTemporary && member.storeTag == id.storeTag && registry.withObject(member, \.hasRow) != true
                    && cache.row(of: member) == nil
            } ?? [id]
        faultTrips += 1
        let found = try persistentStoreCoordinator.snapshots(of: wanted)
        cohort?.keep(found, of: wanted)
        var rowCount = 0
        for case let row? in found {
            rowCount += 1
            if let member = registry[row.id], !member.hasRow, !member.isInserted { member.row = row }
        }
        rowsFetched += rowCount
    }

    /// What the store holds for a to-many relationship of an object; loads it for the whole cohort.
    func storedDestinations(
        of relationship: Relationship, for object: ManagedObject
    ) throws(ContextError) -> [ObjectID] {
        let (id, slot) = (object.storedID, relationship.slot)
        if let list = cache.list(of: id, at: slot) { return list }
        let cohort = cohort(of: object)
        let owners = cohort.members(around: id) { member in
            !member.isTemporary && member.storeTag == id.storeTag && canHave(relationship, member)
                && cache.list(of: member, at: slot) == nil
        }
        faultTrips += 1
        let lists = try persistentStoreCoordinator.destinations(of: relationship, for: owners)
        cohort.keep(lists, of: owners, at: slot)
        return lists.first ?? []
    }

    /// Whether the entity of `id` has `relationship`, itself or from an entity it inherits from.
    private func canHave(_ relationship: Relationship, _ id: ObjectID) -> Bool {
        shape(ofTag: id.entityTag)?.entity.isKind(of: model.entities[relationship.declaredBy]) == true
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
        let cohort = cohort(of: source)
        if let step = cohort.step(across: relationship) { return step }
        let destinations =
            relationship.isToMany
            ? listedDestinations(of: cohort.members, across: relationship)
            : rowDestinations(of: cohort, across: relationship)
        return cohort.addStep(across: relationship, to: destinations)
    }

    /// The destinations in all lists of a to-many relationship that were loaded.
    private func listedDestinations(of owners: [ObjectID], across relationship: Relationship) -> [ObjectID] {
        if owners.count == 1 { return cache.list(of: owners[0], at: relationship.slot) ?? [] }
        let lists = owners.lazy.compactMap { self.cache.list(of: $0, at: relationship.slot) }
        // Where each destination has one owner, no two lists have the same.
        if model.inverse(of: relationship)?.isToMany == false { return lists.flatMap(\.self) }
        return ObjectIDSet(lists.joined()).ids
    }

    /// The destinations of a to-one relationship in all rows that are in memory.
    private func rowDestinations(of cohort: Cohort, across relationship: Relationship) -> [ObjectID] {
        let members = cohort.members
        var found = ObjectIDSet()
        found.reserveCapacity(min(members.count, 64))
        var (tag, isOwner) = (UInt32.max, false)
        if let rows = cohort.fetchedRows {
            // What has changed since then is loaded when somebody asks for it.
            for row in rows where canHave(relationship, row.id) {
                if let id = row.destination(at: relationship.slot) { found.insert(id) }
            }
            return found.ids
        }
        let registry = registry
        for member in members {
            if member.entityTag != tag { (tag, isOwner) = (member.entityTag, canHave(relationship, member)) }
            guard isOwner else { continue }
            let known = registry.withObject(member) { $0.storedDestinationID(at: relationship.slot) } ?? nil
            if let id = known ?? cache.row(of: member)?.destination(at: relationship.slot) { found.insert(id) }
        }
        return found.ids
    }
}

extension ManagedObject {
    /// Whether it is a fault without a row and came alone.
    final var wantsCohort: Bool { cohort == nil && !hasRow && isFault }
}
