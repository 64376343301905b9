// A save request that is safe to execute: every ID permanent, every slot and type checked against the model.
//
// Invariants
//   1. Every ID is this store's, every entity is the model's and concrete; `ids`, `destination(at:ofInsertion:)` and
//      updates name no temporary ID.
//   2. No row is inserted, updated or deleted twice. A row may be updated and deleted: its update then only tells
//      delete rules its new destinations.
//   3. Every value fits its attribute; transient attributes are null; to-many slots have no inline destination.
//   4. Rows remain in the memory of the request, unless a part of them is replaced.
// Not here: versions, uniqueness, existence of rows (each store checks its own rows); IDs that the request has named
// before they were given out (+EarlyNames).

internal import EspalierModel
internal import FoundationEssentials

struct PreparedSave {
    struct ListChange {
        let owner: ObjectID
        let relationship: Relationship
        let added: [ObjectID]
        let removed: [ObjectID]
        var order: SentOrder?
        let orderBase: [ObjectID]?

        /// The destinations that only `order` has, and those that only `base` has.
        static func differences(
            from base: [ObjectID], to order: [ObjectID]
        ) -> (added: [ObjectID], removed: [ObjectID]) {
            let (before, after) = (Set(base), Set(order))
            return (order.filter { !before.contains($0) }, base.filter { !after.contains($0) })
        }
    }

    /// The request as it was sent.
    let request: SaveRequest
    /// The new rows as requested: their IDs are in `ids`, and their destinations may be temporary.
    private(set) var insertions: [SaveRequest.Insertion]
    /// The permanent IDs of the new rows.
    private(set) var ids: [ObjectID] = []
    private(set) var updates: [SaveRequest.Update]
    let deletions: [SaveRequest.Expectation]
    let locks: [SaveRequest.Expectation]
    private(set) var listChanges: [ListChange] = []
    /// By the row into which insertions were merged: the IDs of that row in the request, first its own if the request
    /// names it, then those of the insertions.
    private var mergedIDs: [ObjectID: [ObjectID]] = [:]
    /// The permanent IDs by the temporary ones.
    var permanentIDs: PermanentIDs { checks.permanentIDs }
    /// Whether some of the new rows have reserved IDs.
    private var hasReservedIDs = false

    private var checks: SaveChecks
    /// The time of the save.
    let moment = Date()

    /// Checks `request` and assigns permanent IDs to its insertions.
    ///
    /// - Parameter newKey: returns a primary key that was never allocated before, in the hierarchy of an entity.
    /// - Throws: `StoreError.invalidRequest` for the first part that does not fit, or the errors of `newKey`.
    init(
        _ request: SaveRequest, schema: StoreSchema, storeTag: UInt32,
        newKey: (Entity) throws(StoreError) -> UInt64
    ) throws(StoreError) {
        (self.request, insertions, updates) = (request, request.insertions, request.updates)
        (deletions, locks) = (request.deletions, request.locks)
        let assigned: IDAssignment
        (ids, assigned, hasReservedIDs) = try Self.assignIDs(to: insertions, schema, storeTag, newKey)
        let checks = SaveChecks(schema: schema, storeTag: storeTag, permanentIDs: PermanentIDs(assigned))
        self.checks = checks
        try prepareInsertions(checks)
        try prepareUpdates(checks)
        for deletion in deletions { _ = try checks.entity(of: checks.permanent(deletion.id)) }
        for lock in locks { _ = try checks.entity(of: checks.permanent(lock.id)) }
        for link in request.links { listChanges.append(try checks.prepare(link)) }
        try refuseDuplicates()
        distrustUncheckedOrders()
        completeDerivedValues()
        assert(checkInvariants())
    }

    /// The store's number in object IDs.
    var storeTag: UInt32 { checks.storeTag }

    /// The orders that are sent as edits.
    var editedLists: [ListID: OrderedIDs] {
        let lists = listChanges.lazy.compactMap { change in
            change.order?.edits.map {
                (ListID(change.relationship, of: change.owner), $0.list)
            }
        }
        return Dictionary(lists, uniquingKeysWith: { first, _ in first })
    }

    /// Whether the new row at `position` has a reserved ID.
    func isReserved(at position: Int) -> Bool { hasReservedIDs && !insertions[position].id.isTemporary }

    /// The source of the values of the new row at `position`.
    func source(ofInsertion position: Int) -> ValueSource { .new(insertions[position].row, permanentIDs) }

    /// The destination of the to-one relationship in `slot` of the new row at `position`.
    func destination(at slot: Int, ofInsertion position: Int) -> ObjectID? {
        let destination = insertions[position].row.destination(at: slot).map(permanentIDs.permanent)
        assert(destination?.isTemporary != true, "invariant 1: a new row leads to a temporary ID")
        return destination
    }

    /// `conflicts` with the IDs of the request: a row that is not inserted keeps its temporary one.
    func asRequested(_ conflicts: [ConstraintConflict]) -> [ConstraintConflict] {
        let requested = requestedIDs
        return conflicts.map { conflict in
            ConstraintConflict(
                entityName: conflict.entityName, properties: conflict.properties, values: conflict.values,
                object: mergedIDs[conflict.object]?.first ?? requested[conflict.object] ?? conflict.object,
                other: requested[conflict.other] ?? conflict.other)
        }
    }

    /// `conflicts` with the IDs of the request.
    func asRequested(_ conflicts: [ReferenceConflict]) -> [ReferenceConflict] {
        let requested = requestedIDs
        return conflicts.flatMap { conflict in
            (mergedIDs[conflict.owner] ?? [requested[conflict.owner] ?? conflict.owner]).map { owner in
                ReferenceConflict(
                    conflict.kind, owner: owner, relationship: conflict.relationship,
                    destinations: conflict.destinations.map { requested[$0] ?? $0 })
            }
        }
    }

    private var requestedIDs: [ObjectID: ObjectID] {
        Dictionary(zip(ids, insertions.lazy.map(\.id)), uniquingKeysWith: { first, _ in first })
    }

    /// Applies the results of delete rules to the request: deleted rows are no longer changed or related, and values
    /// that led to them are emptied.
    mutating func apply(_ rules: borrowing DeleteRules) {
        for (position, slot) in rules.cleared { updates[position].destinations.append((slot, nil)) }
        let gone = rules.gone
        updates.removeAll { gone.contains($0.id) }
        listChanges = listChanges.compactMap { change in
            guard !gone.contains(change.owner) else { return nil }
            let order = change.order?.without(gone)
            // Edits have their base, which is not read.
            let base = order?.edits == nil ? change.orderBase?.filter { !gone.contains($0) } : change.orderBase
            return ListChange(
                owner: change.owner, relationship: change.relationship,
                added: change.added.filter { !gone.contains($0) }, removed: change.removed, order: order,
                orderBase: base)
        }
        assert(checkInvariants())
        assert(updates.allSatisfy { !gone.contains($0.id) }, "a row is both deleted and updated")
    }

    /// Applies the merging of insertions, which create no rows: stored rows change instead, and values lead to these.
    mutating func apply<Source: ListSource & ~Copyable>(
        _ merged: MergedInsertions, in source: borrowing Source
    ) throws(StoreError) {
        guard !merged.isEmpty else { return }
        for (position, row) in merged.newRows { insertions[position] = .init(id: insertions[position].id, row) }
        var replacesReserved = false
        var replacements: [(permanent: ObjectID, temporary: ObjectID)] = []
        for (position, target) in merged.targets {
            let id = insertions[position].id
            if id.isTemporary { replacements.append((target, id)) } else { replacesReserved = true }
        }
        checks.permanentIDs = permanentIDs.replacing(replacements)
        let (requested, named) = (requestedIDs, Set(ids + updates.map(\.id) + listChanges.map(\.owner)))
        listChanges = try merged.united(listChanges, in: source)
        replaceDestinations(by: merged.replacements, inInsertions: replacesReserved)
        let changed = Dictionary(merged.changes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var added = changed
        for position in updates.indices {
            guard let change = changed[updates[position].id] else { continue }
            added[change.id] = nil
            updates[position].values.removeAll { old in change.values.contains { $0.slot == old.slot } }
            updates[position].values += change.values
            updates[position].destinations.removeAll { old in change.destinations.contains { $0.slot == old.slot } }
            updates[position].destinations += change.destinations
        }
        for (position, target) in merged.targets.sorted(by: { $0.key < $1.key }) {
            if mergedIDs[target] == nil {
                mergedIDs[target] = named.contains(target) ? [requested[target] ?? target] : []
            }
            mergedIDs[target]?.append(insertions[position].id)
        }
        updates += merged.changes.filter { added[$0.id] != nil }
        let kept = insertions.indices.filter { merged.targets[$0] == nil }
        assert(kept.count + merged.targets.count == insertions.count, "\(kept.count) insertions create rows")
        (insertions, ids) = (kept.map { insertions[$0] }, kept.map { ids[$0] })
        completeDerivedValues()
        assert(checkInvariants())
    }

    /// Sets the derived values that follow from each row alone; those that the request has are ignored (MD-27).
    private mutating func completeDerivedValues() {
        let plan = checks.schema.derivations
        guard !plan.isEmpty else { return }
        for position in insertions.indices {
            let entity = checks.schema.entityIndex(of: ids[position])
            let row = plan.completed(insertions[position].row, of: entity, at: moment)
            insertions[position] = .init(id: insertions[position].id, row, naming: insertions[position].named)
        }
        for position in updates.indices {
            let entity = checks.schema.entityIndex(of: updates[position].id)
            updates[position].values = plan.completed(updates[position].values, of: entity, at: moment)
        }
    }

    /// Asserts invariant 1; to be called in `assert`.
    ///
    /// O(rows of the request).
    private func checkInvariants() -> Bool {
        assert(ids.count == insertions.count, "\(ids.count) IDs for \(insertions.count) new rows")
        func assertStored(_ id: ObjectID) {
            assert(!id.isTemporary && id.storeTag == storeTag, "invariant 1: \(id) is not an ID of this store")
        }
        for id in ids { assertStored(id) }
        for update in updates {
            assertStored(update.id)
            for case let destination? in update.destinations.map(\.destination) { assertStored(destination) }
        }
        for change in listChanges {
            assertStored(change.owner)
            for id in change.added + change.removed { assertStored(id) }
        }
        return true
    }

    /// Replaces destinations of to-one relationships.
    private mutating func replaceDestinations(by replacements: [ObjectID: ObjectID], inInsertions: Bool) {
        for position in updates.indices {
            for place in updates[position].destinations.indices {
                guard let id = updates[position].destinations[place].destination, let other = replacements[id] else {
                    continue
                }
                setDestination(other, at: place, ofUpdate: position)
            }
        }
        // The temporary IDs in new rows are resolved when they are read.
        for position in inInsertions ? insertions.indices : 0..<0 {
            let row = insertions[position].row
            for slot in 0..<row.relationshipCount {
                guard let id = row.destination(at: slot), let other = replacements[id] else { continue }
                insertions[position].destinations[slot] = other
            }
        }
    }

    private static func assignIDs(
        to insertions: [SaveRequest.Insertion], _ schema: StoreSchema, _ storeTag: UInt32,
        _ newKey: (Entity) throws(StoreError) -> UInt64
    ) throws(StoreError) -> (ids: [ObjectID], assigned: IDAssignment, hasReserved: Bool) {
        var (ids, hasReserved, assigned) = ([ObjectID](), false, IDAssignment(for: insertions.lazy.map(\.id)))
        ids.reserveCapacity(insertions.count)
        var known: Entity?
        for position in insertions.indices {
            let requested = insertions[position].id
            guard requested.isTemporary else {
                hasReserved = true
                ids.append(requested)
                continue
            }
            if known?.tag != requested.entityTag { known = schema.entity(of: requested) }
            guard let known else {
                throw .invalidRequest(reason: "the store's model has no entity \(requested.entityName)")
            }
            let id = ObjectID(storeTag: storeTag, entityTag: requested.entityTag, key: try newKey(known))
            guard assigned.set(id, for: requested) else {
                throw .invalidRequest(reason: "\(requested) is inserted twice")
            }
            assert(assigned[requested] == id, "the ID that \(requested) got is not found")
            ids.append(id)
        }
        assert(ids.count == insertions.count, "\(ids.count) IDs for \(insertions.count) new rows")
        return (ids, assigned, hasReserved)
    }

    // The next methods get `checks` as an argument: as a part of `self`, whose rows they change, it would be copied for
    // each call.

    private mutating func prepareInsertions(_ checks: SaveChecks) throws(StoreError) {
        guard let first = ids.first else { return }
        var entity = try checks.entity(of: first)
        let schema = checks.schema
        var (types, destinationTags) = (schema.plainTypes[entity.index], schema.plainDestinations[entity.index])
        for position in insertions.indices {
            let id = ids[position]
            if entity.tag != id.entityTag || id.storeTag != checks.storeTag {
                entity = try checks.entity(of: id)
                (types, destinationTags) = (schema.plainTypes[entity.index], schema.plainDestinations[entity.index])
            }
            guard !entity.isAbstract else {
                throw .invalidRequest(reason: "entity \(entity.name) is abstract and has no rows of its own")
            }
            let row = insertions[position].row
            guard row.attributeCount == types.count, row.relationshipCount == destinationTags.count else {
                throw .invalidRequest(
                    reason:
                        "\(entity.name) has \(types.count) attributes and \(destinationTags.count) relationships, but "
                        + "the insertion of \(insertions[position].id) has \(row.attributeCount) and "
                        + "\(row.relationshipCount)")
            }
            for slot in types.indices where !row.isPlain(at: slot, types[slot]) {
                if try !checks.isStored(row.attribute(at: slot), in: entity.attributes[slot], of: entity) {
                    clearValue(slot, ofInsertion: position)
                }
            }
            for slot in destinationTags.indices {
                guard let destination = row.destination(at: slot) else { continue }
                let id = checks.permanentIDs.permanent(destination)
                if id.storeTag == checks.storeTag, id.entityTag == destinationTags[slot] { continue }
                _ = try checks.checked(destination, for: entity.relationships[slot], inline: true)
            }
        }
    }

    // Rows are changed in methods of their own: within the loops the arrays would be copied before the first row,
    // because the check whether they are shared is moved out of a loop.

    @inline(never)
    private mutating func clearValue(_ slot: Int, ofInsertion position: Int) {
        insertions[position].values[slot] = .null
    }

    @inline(never)
    private mutating func clearValue(at place: Int, ofUpdate position: Int) {
        updates[position].values[place].value = .null
    }

    @inline(never)
    private mutating func setDestination(_ id: ObjectID, at place: Int, ofUpdate position: Int) {
        assert(!id.isTemporary, "invariant 1: an update leads to a temporary ID")
        updates[position].destinations[place].destination = id
    }

    private mutating func prepareUpdates(_ checks: SaveChecks) throws(StoreError) {
        guard let first = updates.first else { return }
        var entity = try checks.entity(of: checks.permanent(first.id))
        for position in updates.indices {
            let id = try checks.permanent(updates[position].id)
            if entity.tag != id.entityTag || id.storeTag != checks.storeTag { entity = try checks.entity(of: id) }
            // Written only where something differs, so that most updates share their arrays with the request.
            for place in updates[position].values.indices {
                let slot = updates[position].values[place].slot
                guard entity.attributes.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no attribute slot \(slot)")
                }
                if let type = checks.schema.plainTypes[entity.index][slot],
                    type.accepts(updates[position].values[place].value)
                {
                    continue
                }
                let value = updates[position].values[place].value
                if value.isNull { continue }
                if try !checks.isStored(value, in: entity.attributes[slot], of: entity) {
                    clearValue(at: place, ofUpdate: position)
                }
            }
            for place in updates[position].destinations.indices {
                let (slot, destination) = updates[position].destinations[place]
                guard entity.relationships.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no relationship slot \(slot)")
                }
                guard let destination else { continue }
                let permanent = try checks.checked(destination, for: entity.relationships[slot], inline: true)
                if permanent != destination { setDestination(permanent, at: place, ofUpdate: position) }
            }
        }
    }

    /// Replaces edits of orders by the whole orders, if the request does not check the version of the owner's row.
    private mutating func distrustUncheckedOrders() {
        guard listChanges.contains(where: { $0.order?.edits != nil }) else { return }
        let checked = Set(updates.lazy.map(\.id))
        for position in listChanges.indices where !checked.contains(listChanges[position].owner) {
            listChanges[position].order = listChanges[position].order?.asWhole
        }
    }

    private func refuseDuplicates() throws(StoreError) {
        // Each new ID is assigned once.
        guard hasReservedIDs || !updates.isEmpty || !deletions.isEmpty else { return }
        var changed = ids
        changed.reserveCapacity(ids.count + updates.count)
        for position in updates.indices { changed.append(try checks.permanent(updates[position].id)) }
        try refuseDuplicates(in: changed)
        var deleted = ids
        deleted.reserveCapacity(ids.count + deletions.count)
        for deletion in deletions { deleted.append(try checks.permanent(deletion.id)) }
        try refuseDuplicates(in: deleted)
    }

    private func refuseDuplicates(in ids: [ObjectID]) throws(StoreError) {
        // Sorting is cheaper than a set: requests are in the order of their keys.
        var ids = ids
        ids.sort { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) }
        for position in ids.indices.dropLast() where ids[position] == ids[position + 1] {
            throw .invalidRequest(reason: "\(ids[position]) is inserted, updated or deleted more than once")
        }
    }
}

extension RowValues {
    /// Whether the type of an attribute alone shows that the attribute accepts its value.
    @inline(__always)
    fileprivate func isPlain(at slot: Int, _ type: AttributeType?) -> Bool {
        // SAFETY: read in place; the pointer does not leave the closure.
        unsafe withAttribute(at: slot) { value in
            // These tests are first, because touching the whole value would copy it.
            if case .null = unsafe value.pointee { return true }
            if case .string = unsafe value.pointee { return type == .string }
            if case .integer = unsafe value.pointee, type == .integer64 { return true }
            return type?.accepts(unsafe value.pointee) == true
        }
    }
}
