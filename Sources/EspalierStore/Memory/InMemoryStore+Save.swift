// Saving to an in-memory store: the same steps as every store, on dictionaries.

internal import EspalierModel

extension InMemoryStore {
    /// Checks versions and constraints, then makes all changes at once.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try withState { state throws(StoreError) in
            var newState = state
            let save = try PreparedSave(request, schema: schema, storeTag: storeTag) { entity throws(StoreError) in
                newState.lastKeys[entity.root] += 1
                return newState.lastKeys[entity.root]
            }
            let result = try apply(save, to: &newState)
            state = newState
            return result
        }
    }

    private func apply(_ save: PreparedSave, to state: inout MemoryState) throws(StoreError) -> SaveResult {
        let (updated, deleted) = try checkVersions(save, state)
        let plan = try LinkPlan(
            save, schema: schema, updated: updated.enumerated().map { ($0.offset, $0.element.snapshot) },
            deleted: deleted.map(\.snapshot), source: state)
        var inserted: [(new: MemoryState.Row, old: MemoryState.Row?)] = []
        for (position, id) in save.ids.enumerated() {
            let entity = model.entities[schema.entityIndex(of: id)]
            guard id.key <= state.lastKeys[entity.root], state.rows[entity.root][id.key] == nil
            else { throw .invalidRequest(reason: "\(id) was not reserved, or is taken") }
            let row = MemoryState.Row(
                id: id, entity: entity.index, version: 1, values: save.insertions[position].values,
                destinations: entity.relationships.indices.map { save.destination(at: $0, ofInsertion: position) })
            state.rows[entity.root][row.id.key] = row
            inserted.append((row, nil))
        }
        for (update, old) in zip(save.updates, updated) {
            let entity = model.entities[schema.entityIndex(of: update.id)]
            var row = old
            row.version += 1
            for (slot, value) in update.values { row.values[slot] = value }
            for (slot, destination) in update.destinations { row.destinations[slot] = destination }
            state.rows[entity.root][row.id.key] = row
            inserted.append((row, old))
        }
        for row in deleted { state.rows[model.entities[row.entity].root][row.id.key] = nil }
        let conflicts = updateGroups(inserted, deleted, &state)
        guard conflicts.isEmpty else { throw .constraint(save.asRequested(conflicts)) }
        apply(plan, to: &state)
        let rows = inserted.map(\.new.snapshot)
        return SaveResult(
            inserted: SnapshotList(rows.prefix(save.insertions.count)),
            updated: SnapshotList(rows.dropFirst(save.insertions.count)))
    }

    /// The stored rows of updates and deletions, if all rows of the request are at the expected versions.
    private func checkVersions(
        _ save: PreparedSave, _ state: MemoryState
    ) throws(StoreError) -> (updated: [MemoryState.Row], deleted: [MemoryState.Row]) {
        var conflicts: [VersionConflict] = []
        func current(_ id: ObjectID, at expectedVersion: UInt64) -> MemoryState.Row? {
            let row = state.row(id, schema)
            if let row, row.version == expectedVersion { return row }
            conflicts.append(VersionConflict(id: id, expectedVersion: expectedVersion, stored: row?.snapshot))
            return nil
        }
        let updated = save.updates.compactMap { current($0.id, at: $0.expectedVersion) }
        let deleted = save.deletions.compactMap { current($0.id, at: $0.expectedVersion) }
        for lock in save.locks { _ = current(lock.id, at: lock.expectedVersion) }
        guard conflicts.isEmpty else { throw .conflict(conflicts) }
        return (updated, deleted)
    }

    /// Takes old values out of the uniqueness constraints and puts new ones in; returns those that are taken.
    private func updateGroups(
        _ changed: [(new: MemoryState.Row, old: MemoryState.Row?)], _ deleted: [MemoryState.Row],
        _ state: inout MemoryState
    ) -> [ConstraintConflict] {
        for row in deleted {
            for group in constraints(of: row) { remove(row, from: group, &state) }
        }
        for (new, old) in changed {
            guard let old else { continue }
            for group in constraints(of: new) where key(old, group) != key(new, group) {
                remove(old, from: group, &state)
            }
        }
        var conflicts: [ConstraintConflict] = []
        for (new, old) in changed {
            for group in constraints(of: new) {
                guard let values = key(new, group), old.flatMap({ key($0, group) }) != values else { continue }
                let holders = state.groups[group][values] ?? []
                if let other = holders.min(by: { $0.key < $1.key }) {
                    let constraint = schema.groups[group]
                    conflicts.append(
                        ConstraintConflict(
                            entityName: model.entities[constraint.entity].name, properties: constraint.properties,
                            values: values, object: new.id, other: other))
                }
                state.groups[group][values, default: []].insert(new.id)
            }
        }
        return conflicts
    }

    private func constraints(of row: MemoryState.Row) -> [Int] {
        schema.groupsByEntity[row.entity].filter { schema.groups[$0].isUnique }
    }

    /// The values of a row in a group; `nil` if one of them is null.
    private func key(_ row: MemoryState.Row, _ group: Int) -> [AttributeValue]? {
        let values = schema.groups[group].elements.map { row.value(of: $0.property) }
        return values.contains(where: \.isNull) ? nil : values
    }

    private func remove(_ row: MemoryState.Row, from group: Int, _ state: inout MemoryState) {
        guard let values = key(row, group) else { return }
        state.groups[group][values]?.remove(row.id)
        if state.groups[group][values]?.isEmpty == true { state.groups[group][values] = nil }
    }

    private func apply(_ plan: LinkPlan, to state: inout MemoryState) {
        for (key, edit) in plan.allEdits() {
            let old = state.lists[key] ?? []
            let new = edit.applied(to: old)
            state.lists[key] = new.isEmpty ? nil : new
            guard edit.relationship.inverse == nil else { continue }
            let (before, after) = (Set(old), Set(new))
            for destination in before.subtracting(after) {
                state.owners[.init(relationship: key.relationship, owner: destination)]?.remove(key.owner)
            }
            for destination in after.subtracting(before) {
                state.owners[.init(relationship: key.relationship, owner: destination), default: []].insert(key.owner)
            }
        }
    }
}
