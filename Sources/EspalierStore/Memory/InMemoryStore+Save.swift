// Saving to an in-memory store: the same steps as every store, on tables.

internal import EspalierModel

extension InMemoryStore {
    /// Checks versions and constraints, then makes all changes at once.
    ///
    /// - Complexity: O(log n) for each changed row among n, O(destinations) for each changed list, whether or not
    ///   snapshots exist; O(n) to delete rows to which a to-one relationship without inverse may lead.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try change { state throws(StoreError) in try carryOut(request, on: &state) }
    }

    /// Makes all changes of `request`; an error leaves `state` as it was.
    func carryOut(_ request: SaveRequest, on state: inout MemoryState) throws(StoreError) -> SaveResult {
        var newState = state
        let save = try PreparedSave(request, schema: schema, storeTag: storeTag) { entity throws(StoreError) in
            try newKeys(for: entity, count: 1, &newState).lowerBound
        }
        var result = try apply(save, request.constraintActions, to: &newState)
        newState.generation += 1
        result.generation = newState.generation
        assert(newState.checkInvariants())
        assert(zip(state.lastKeys, newState.lastKeys).allSatisfy { $0 <= $1 }, "a primary key is allocated again")
        state = newState
        return result
    }

    private func apply(
        _ save: PreparedSave, _ actions: [ConstraintName: ConstraintAction], to state: inout MemoryState
    ) throws(StoreError) -> SaveResult {
        let deleted = try checkVersions(save, state)
        var save = save
        var rules = DeleteRules(save, schema: schema)
        if !deleted.isEmpty {
            try rules.delete(deleted, in: &state)
            save.apply(rules)
        }
        let merged = try MergedInsertions(save, actions, schema: schema, in: state)
        try save.apply(merged, in: state)
        let updated = save.updates.compactMap { state.row($0.id) }
        let plan = try LinkPlan(
            save, schema: schema, updated: updated.enumerated().map { ($0.offset, $0.element.snapshot) },
            source: state)
        assert(updated.count == save.updates.count, "\(updated.count) rows of \(save.updates.count) updates")
        var inserted: [(new: MemoryState.Row, old: MemoryState.Row?)] = []
        for (position, id) in save.ids.enumerated() {
            let entity = model.entities[schema.entityIndex(of: id)]
            guard id.key <= state.lastKeys[entity.root], state.rows[entity.root][id.key] == nil
            else { throw .invalidRequest(reason: "\(id) was not reserved, or a row has it already") }
            let version =
                try save.isReserved(at: position)
                ? ObjectSnapshot.version(after: state.goneVersions[entity.root], of: id) : 1
            let row = MemoryState.Row(
                id: id, entity: entity.index, version: version, values: save.insertions[position].values,
                destinations: entity.relationships.indices.map { save.destination(at: $0, ofInsertion: position) })
            assert(row.values.count == entity.attributes.count, "values of another entity")
            assert(!entity.isAbstract && row.version > 0, "a row of \(entity.name) at version \(row.version)")
            state.rows[entity.root][row.id.key] = row
            if schema.derivations.isNoted[entity.index] { state.derivedChanges.note(new: id) }
            inserted.append((row, nil))
        }
        for (update, old) in zip(save.updates, updated) {
            let entity = model.entities[schema.entityIndex(of: update.id)]
            assert(old.id == update.id && old.version >= update.expectedVersion, "\(old.id) is updated as \(update.id)")
            state.noteForDerivation(old)
            var row = old
            row.version = try ObjectSnapshot.version(after: old.version, of: old.id)
            for (slot, value) in update.values { row.values[slot] = value }
            for (slot, destination) in update.destinations { row.destinations[slot] = destination }
            state.rows[entity.root][row.id.key] = row
            inserted.append((row, old))
        }
        let conflicts = updateGroups(inserted, &state)
        guard conflicts.isEmpty else { throw .constraint(save.asRequested(conflicts)) }
        apply(plan, to: &state)
        var oneToOnes = OneToOneRule(
            save, schema: schema, updated: updated.enumerated().map { ($0.offset, $0.element.snapshot) })
        try oneToOnes.carryOut(in: &state)
        let broken =
            try rules.conflicts(in: state) + oneToOnes.conflicts(in: state)
            + DestinationCheck(save, plan, schema: schema).conflicts(in: state)
        guard broken.isEmpty else { throw .references(save.asRequested(broken)) }
        var derived = DerivedValues(schema, at: save.moment)
        try derived.carryOut(in: &state)
        let late = state.deferredConflicts()
        guard late.isEmpty else { throw .constraint(save.asRequested(late)) }
        state.derivedChanges = DerivedChanges()
        let rows = inserted.map { (derived.changed.contains($0.new.id) ? state.row($0.new.id) : nil) ?? $0.new }
            .map(\.snapshot)
        var result = merged.answer(
            inserted: SnapshotList(rows.prefix(save.insertions.count)),
            updated: SnapshotList(rows.dropFirst(save.insertions.count)))
        result.deleted = rules.gone
        result.changed = rules.changed.union(oneToOnes.changed).union(merged.leftOwners).union(derived.changed)
        return result
    }

    /// The stored rows of deletions, if all rows of the request are at the expected versions.
    private func checkVersions(_ save: PreparedSave, _ state: MemoryState) throws(StoreError) -> [ObjectSnapshot] {
        var conflicts: [VersionConflict] = []
        func current(_ id: ObjectID, at expectedVersion: UInt64) -> ObjectSnapshot? {
            let row = state.row(id)
            if let row, row.version == expectedVersion { return row.snapshot }
            conflicts.append(VersionConflict(id: id, expectedVersion: expectedVersion, stored: row?.snapshot))
            return nil
        }
        for update in save.updates { _ = current(update.id, at: update.expectedVersion) }
        let deleted = save.deletions.compactMap { current($0.id, at: $0.expectedVersion) }
        for lock in save.locks { _ = current(lock.id, at: lock.expectedVersion) }
        for position in save.ids.indices where save.isReserved(at: position) {
            guard let row = state.row(save.ids[position]) else { continue }
            conflicts.append(VersionConflict(id: row.id, expectedVersion: 0, stored: row.snapshot))
        }
        guard conflicts.isEmpty else { throw .conflict(conflicts) }
        assert(deleted.count == save.deletions.count, "\(deleted.count) rows of \(save.deletions.count) deletions")
        return deleted
    }

    /// Removes old values from the uniqueness constraints and adds new ones; returns conflicts for those that are
    /// taken.
    private func updateGroups(
        _ changed: [(new: MemoryState.Row, old: MemoryState.Row?)], _ state: inout MemoryState
    ) -> [ConstraintConflict] {
        for (new, old) in changed {
            guard let old else { continue }
            for group in state.constraints(of: new) where state.key(old, group) != state.key(new, group) {
                state.remove(old, from: group)
            }
        }
        var conflicts: [ConstraintConflict] = []
        for (new, old) in changed {
            for group in state.constraints(of: new) {
                guard let values = state.key(new, group), old.flatMap({ state.key($0, group) }) != values else {
                    continue
                }
                if state.deferred.defers(group) {
                    state.deferred.add(new.id, in: group)
                } else if let other = state.groups[group][values]?.min(by: { $0.key < $1.key }) {
                    conflicts.append(state.conflict(of: new.id, with: other, values, inGroup: group))
                }
                state.insert(new.id, having: values, inGroup: group)
            }
        }
        return conflicts
    }

    private func apply(_ plan: LinkPlan, to state: inout MemoryState) {
        for (key, edit) in plan.allEdits() {
            let old = state.lists[key] ?? []
            let new = edit.applied(to: old)
            assert(edit.relationship.isOrdered || new.isEmpty || new[0].key <= new[new.count - 1].key, "invariant 1")
            state.lists[key] = new.isEmpty ? nil : new
            let isWatched = schema.derivations.isWatched(edit.relationship)
            guard edit.relationship.inverse == nil || isWatched else { continue }
            let (come, gone) = difference(edit, old, new)
            if isWatched {
                for id in come { state.derivedChanges.noteLink(of: key.owner, to: id, edit.relationship, 1) }
                for id in gone { state.derivedChanges.noteLink(of: key.owner, to: id, edit.relationship, -1) }
            }
            guard edit.relationship.inverse == nil else { continue }
            for destination in gone { state.remove(owner: key.owner, leadingTo: destination, edit.relationship) }
            for destination in come { state.insert(owner: key.owner, leadingTo: destination, edit.relationship) }
        }
    }

    /// The destinations that an edit adds to a list, and those that it removes.
    private func difference(
        _ edit: ListEdit, _ old: [ObjectID], _ new: [ObjectID]
    ) -> (come: Set<ObjectID>, gone: Set<ObjectID>) {
        if let edits = edit.edits(of: old) { return (Set(edits.added), Set(edits.removed)) }
        let (before, after) = (Set(old), Set(new))
        return (after.subtracting(before), before.subtracting(after))
    }
}
