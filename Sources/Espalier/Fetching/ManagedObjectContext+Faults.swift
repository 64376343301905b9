// Loads rows and lists of faults, each together with those of its cohort, at most `Cohort.tripSizeMax` in one call to
// the store (F-2).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The object for `id`, to which `source` refers across `relationship`.
    func object(for id: ObjectID, from source: ManagedObject, across relationship: Relationship) -> ManagedObject {
        object(for: id, memory.registry[id], from: source, across: relationship)
    }

    /// The object for `id`, to which `source` refers across `relationship`; `known` is that object, if it is in memory.
    func object(
        for id: ObjectID, _ known: ManagedObject?, from source: ManagedObject, across relationship: Relationship
    ) -> ManagedObject {
        if let known {
            if known.wantsCohort { known.cohort = step(from: source, across: relationship).object }
            return known
        }
        return makeFault(id, cohort: step(from: source, across: relationship).object)
    }

    /// The objects for `ids`, to which `source` refers across `relationship`.
    func objects(
        for ids: [ObjectID], from source: ManagedObject, across relationship: Relationship
    ) -> [ManagedObject] {
        guard let first = ids.first else { return [] }
        if ids.count == 1 { return [object(for: first, from: source, across: relationship)] }
        var objects: [ManagedObject] = []
        objects.reserveCapacity(ids.count)
        // The step is computed for the first object that needs it, and reused: it is the same for all.
        var maker: (objects: RowObjectMaker, cohort: Cohort?)?
        for id in ids {
            let known = memory.registry[id]
            if let known, !known.wantsCohort {
                objects.append(known)
                continue
            }
            if maker == nil {
                let cohort = step(from: source, across: relationship).object
                maker = (RowObjectMaker(self, cohort: cohort, first: first), cohort)
            }
            if let known {
                known.cohort = maker?.cohort
                objects.append(known)
            } else if let made = maker?.objects.makeFault(id) {
                objects.append(made)
            }
        }
        return objects
    }

    /// Loads the row of a fault, and the rows of its cohort; `row` stays `nil` if the store has none.
    func loadRow(of object: ManagedObject) throws(ContextError) {
        let id = object.storedID
        guard !id.isTemporary, !object.isInserted else { return }
        if let row = cache.row(of: id) {
            object.row = row
            return
        }
        let cohort = object.cohort
        let wanted =
            cohort?.members(around: id, for: .rows) { member in
                member.storeTag == id.storeTag && memory.registry.withObject(member, \.needsRow) != false
                    && cache.row(of: member) == nil
            } ?? [id]
        memory.faultTrips += 1
        noteTrip(.rows, of: id, objectCount: wanted.count)
        var found = try storedRows(of: wanted)
        assert(found.count == wanted.count && wanted.first == id, "\(found.count) rows of \(wanted.count)")
        cohort?.noteRowsToForget(of: wanted)
        // Steps that were computed earlier know only the destinations of the rows that were in memory then.
        let leadsOn = cohort?.hasStepAcrossRows == true
        var rowCount = 0
        // Each row is moved out of the array: a copy increments a reference count, and freeing a full array decrements
        // each.
        while let next = found.popLast() {
            guard let row = next else { continue }
            rowCount += 1
            if leadsOn { cohort?.addDestinations(of: row) { canHave($0, row.id) } }
            memory.registry.withObject(row.id) { member in
                guard member.needsRow else { return }
                member.setRow(row.content, row.place)
                // The object was marked inaccessible in an older generation, which did not have the row.
                member.state.remove(.inaccessible)
            }
            if cohort != nil { cache.add(row) }
        }
        memory.rowsFetched += rowCount
        if !object.hasRow, hasLeftGenerations, let row = leftRow(of: id) {
            object.row = row
            generation.noteOlderRows()
        }
    }

    /// The destinations that the store holds for a to-many relationship of an object; loads the lists of the whole
    /// cohort.
    func storedDestinations(
        of relationship: Relationship, for object: ManagedObject
    ) throws(ContextError) -> [ObjectID] {
        let (id, slot) = (object.storedID, relationship.slot)
        if let list = cache.list(of: id, at: slot) { return list }
        if let list = leftDestinations(of: relationship, for: id) { return list }
        let cohort = cohort(of: object)
        let owners = cohort.members(around: id, for: .lists) { member in
            member.storeTag == id.storeTag && isNotNew(member) && canHave(relationship, member)
                && cache.list(of: member, at: slot) == nil
        }
        memory.faultTrips += 1
        noteTrip(.destinations(relationship: relationship.name), of: id, objectCount: owners.count)
        let lists = try read(holding: id, owners) { snapshot, owners throws(StoreError) in
            try snapshot.destinations(of: relationship, for: owners)
        }
        assert(lists.count == owners.count && owners.first == id, "\(lists.count) lists of \(owners.count)")
        cohort.keep(lists, of: owners, at: slot)
        cohort.step(across: relationship).withObject { $0.add(lists.joined()) }
        return lists.first ?? []
    }

    /// Whether a store may hold a row with this ID.
    ///
    /// A permanent ID is not enough: a new object may have one before it is saved (MC-37).
    func isNotNew(_ id: ObjectID) -> Bool { !id.isTemporary && memory.registry.withObject(id, \.isInserted) != true }

    /// Whether the entity of `id` has `relationship`, declared by itself or by an entity it inherits from.
    private func canHave(_ relationship: Relationship, _ id: ObjectID) -> Bool {
        canHave(relationship.declaredBy, id)
    }

    /// Whether the entity of `id` is the entity at `index` or inherits from it.
    private func canHave(_ index: ManagedObjectModel.EntityIndex, _ id: ObjectID) -> Bool {
        shape(ofTag: id.entityTag).withObject { $0.entity.isKind(of: model.entities[index]) } == true
    }

    func cohort(of object: ManagedObject) -> Cohort {
        if let cohort = object.cohort { return cohort }
        let cohort = Cohort([object.storedID], cache: cache)
        object.cohort = cohort
        return cohort
    }

    /// The cohort of all destinations of the cohort of `source` across `relationship`; the cohort of `source` retains
    /// it.
    @inline(__always)
    private func step(from source: ManagedObject, across relationship: Relationship) -> Unretained<Cohort> {
        guard !source.isInserted else { return Unretained(nil) }
        if let step = source.withCohort({ $0.step(across: relationship) }), !step.isNil { return step }
        return newStep(from: source, across: relationship)
    }

    @inline(never)
    private func newStep(from source: ManagedObject, across relationship: Relationship) -> Unretained<Cohort> {
        let cohort = cohort(of: source)
        let destinations =
            relationship.isToMany
            ? listedDestinations(of: cohort.members, across: relationship)
            : rowDestinations(of: cohort, across: relationship)
        return cohort.addStep(across: relationship, to: destinations)
    }

    /// The destinations in all loaded lists of a to-many relationship.
    private func listedDestinations(of owners: [ObjectID], across relationship: Relationship) -> [ObjectID] {
        if owners.count == 1 { return cache.list(of: owners[0], at: relationship.slot) ?? [] }
        var found: [ObjectID] = []
        for owner in owners {
            guard let list = cache.list(of: owner, at: relationship.slot) else { continue }
            if found.isEmpty { found = list } else { found += list }
        }
        // If each destination has at most one owner, no two lists share a destination.
        return model.inverse(of: relationship)?.isToMany == false ? found : ObjectIDSet(found).ids
    }

    /// The destinations of a to-one relationship in all rows that are in memory.
    private func rowDestinations(of cohort: Cohort, across relationship: Relationship) -> [ObjectID] {
        let members = cohort.members
        var reader = DestinationReader(slot: relationship.slot)
        if members.count == 1, cohort.fetchedRows == nil {
            guard canHave(relationship, members[0]) else { return [] }
            return loadedDestination(of: members[0], &reader).map { [$0] } ?? []
        }
        var found = ObjectIDSet()
        if let rows = cohort.fetchedRows {
            // The context loads rows that have changed since the fetch when it reads them.
            for row in rows where canHave(relationship, row.id) {
                if let id = reader.destination(in: row.content, at: row.place) { found.insert(id) }
            }
            return found.ids
        }
        found.reserveCapacity(min(members.count, 64))
        var (tag, isOwner) = (UInt32.max, false)
        for member in members {
            if member.entityTag != tag { (tag, isOwner) = (member.entityTag, canHave(relationship, member)) }
            guard isOwner else { continue }
            if let id = loadedDestination(of: member, &reader) { found.insert(id) }
        }
        return found.ids
    }

    /// The destination of a to-one relationship in the row of `id`, if the row is in memory.
    @inline(__always)
    private func loadedDestination(of id: ObjectID, _ reader: inout DestinationReader) -> ObjectID? {
        let known = memory.registry.withObject(id) { object in
            object.withRow { reader.destination(in: $0, at: $1) } ?? nil
        }
        return known ?? cache.destination(of: id, at: reader.slot)
    }
}

extension ManagedObject {
    /// Whether a store may hold its row and its lists: it is in a context, it is not new, and the store did not lack
    /// its row.
    ///
    /// A permanent ID is not enough: a new object may have one before it is saved (MC-37).
    final var mayBeStored: Bool {
        !storedID.isTemporary && state.isDisjoint(with: [.inserted, .inaccessible])
    }

    /// Whether a store may hold its row, and the row is not in memory.
    final var needsRow: Bool { !hasRow && !isInserted }

    /// Whether it is a fault that has neither a row nor a cohort.
    final var wantsCohort: Bool { cohort == nil && !hasRow && isFault }
}
