// Saving to an application's data: the same steps as every store, on the rows that they need, and then one call of the
// source with everything that has changed.

internal import EspalierModel

extension IncrementalStore {
    /// Checks versions and constraints, carries out the rules of the model, and has the source write the result.
    ///
    /// - Complexity: that of the changes; O(rows) for deletions of rows to which a relationship without inverse may
    ///   lead, and for unique values by which the source does not filter.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try holdChanges(endsChanges: false) { () throws(StoreError) in try saveAlone(request) }
    }

    private func saveAlone(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        let snapshot = try incrementalSnapshot()
        guard !isReadOnly else { throw .readOnly(path: path) }
        var keys = try newKeys(for: request)
        try checkAreNew(keys, in: request)
        let save = try PreparedSave(request, schema: schema, storeTag: storeTag) { entity throws(StoreError) in
            guard let key = keys[entity.root]?.popLast() else {
                throw .invalidRequest(reason: "\(entity.name) is abstract and has no rows of its own")
            }
            return key
        }
        assert(keys.values.allSatisfy(\.isEmpty), "\(keys.values.joined().count) new keys have no rows")
        var state = IncrementalState(snapshot)
        var (result, inserted) = try apply(save, request.constraintActions, to: &state)
        var (changes, gone) = state.changes(inserted: inserted)
        changes.expectations = save.deletions + save.locks
        for update in save.updates {
            changes.expectations.append(.init(id: update.id, expectedVersion: update.expectedVersion))
        }
        let written = changes
        do throws(StoreError) { try ask { try source.save(written) } } catch { throw checks.checked(error) }
        result.generation = advance(writing: written.inserted + written.updated, deleting: gone)
        return result
    }

    /// New keys for the insertions with temporary IDs, by the root of the hierarchy, the first one last.
    private func newKeys(for request: SaveRequest) throws(StoreError) -> [ManagedObjectModel.EntityIndex: [UInt64]] {
        var counts: [ManagedObjectModel.EntityIndex: (entity: Entity, count: Int)] = [:]
        for insertion in request.insertions where insertion.id.isTemporary {
            guard let entity = schema.entity(of: insertion.id), !entity.isAbstract else { continue }
            counts[entity.root, default: (entity, 0)].count += 1
        }
        var keys: [ManagedObjectModel.EntityIndex: [UInt64]] = [:]
        for (root, (entity, count)) in counts { keys[root] = try newKeys(for: entity, count: count).reversed() }
        assert(keys.allSatisfy { schema.roots[$0.key] == $0.key }, "keys are for \(keys.keys), which are no roots")
        return keys
    }

    /// Requires that no new key is that of a row which the request names.
    private func checkAreNew(
        _ keys: [ManagedObjectModel.EntityIndex: [UInt64]], in request: SaveRequest
    ) throws(StoreError) {
        guard !keys.isEmpty else { return }
        let new = keys.mapValues { Set($0) }
        let named = request.updates.map(\.id) + request.deletions.map(\.id) + request.locks.map(\.id)
        for id in named where !id.isTemporary && id.storeTag == storeTag {
            guard let entity = schema.entity(of: id), new[entity.root]?.contains(id.key) == true else { continue }
            throw broken("the new reference of \(id) is that of another row")
        }
    }

    private func apply(
        _ save: PreparedSave, _ actions: [ConstraintName: ConstraintAction], to state: inout IncrementalState
    ) throws(StoreError) -> (result: SaveResult, inserted: [ObjectID]) {
        let deleted = try checkVersions(save, state)
        var save = save
        var rules = DeleteRules(save, schema: schema)
        if !deleted.isEmpty {
            try rules.delete(deleted, in: &state)
            save.apply(rules)
        }
        let merged = try MergedInsertions(save, actions, schema: schema, in: state)
        try save.apply(merged, in: state)
        var updated: [ObjectSnapshot] = []
        for row in try state.rows(save.updates.map(\.id)) { if let row { updated.append(row) } }
        assert(updated.count == save.updates.count, "\(updated.count) rows of \(save.updates.count) updates")
        let plan = try LinkPlan(
            save, schema: schema, updated: updated.enumerated().map { ($0.offset, $0.element) }, source: state)
        var rows = try newRows(save, state)
        for (update, old) in zip(save.updates, updated) {
            rows.append(try state.changed(old, attributes: update.values, destinations: update.destinations))
        }
        assert(
            rows.count == save.insertions.count + save.updates.count,
            "\(rows.count) rows for \(save.insertions.count) insertions and \(save.updates.count) updates")
        for row in rows { state.put(row) }
        let conflicts = try conflicts(of: rows, save.insertions.count, updated, in: state)
        guard conflicts.isEmpty else { throw .constraint(save.asRequested(conflicts)) }
        for (key, edit) in plan.allEdits() {
            let list = try state.destinations(of: key.owner, edit.relationship)
            state.setList(edit.applied(to: list), of: key.owner, edit.relationship)
        }
        var oneToOnes = OneToOneRule(
            save, schema: schema, updated: updated.enumerated().map { ($0.offset, $0.element) })
        try oneToOnes.carryOut(in: &state)
        let broken =
            try rules.conflicts(in: state) + oneToOnes.conflicts(in: state)
            + DestinationCheck(save, plan, schema: schema).conflicts(in: state)
        guard broken.isEmpty else { throw .references(save.asRequested(broken)) }
        var result = merged.answer(
            inserted: SnapshotList(rows.prefix(save.insertions.count)),
            updated: SnapshotList(rows.dropFirst(save.insertions.count)))
        result.deleted = rules.gone
        result.changed = rules.changed.union(oneToOnes.changed).union(merged.leftOwners)
        return (result, save.ids)
    }

    private func newRows(_ save: PreparedSave, _ state: IncrementalState) throws(StoreError) -> [ObjectSnapshot] {
        var rows: [ObjectSnapshot] = []
        let stored = try state.rows(save.ids)
        assert(stored.count == save.insertions.count, "\(stored.count) IDs of \(save.insertions.count) new rows")
        let taken = zip(save.ids, stored).enumerated().compactMap { position, row in
            save.isReserved(at: position) && row.1 != nil
                ? VersionConflict(id: row.0, expectedVersion: 0, stored: row.1) : nil
        }
        guard taken.isEmpty else { throw .conflict(taken) }
        for (position, (id, present)) in zip(save.ids, stored).enumerated() {
            guard present == nil else { throw broken("the new reference of \(id) is that of another row") }
            let entity = model.entities[schema.entityIndex(of: id)]
            let isReserved = save.isReserved(at: position)
            guard isReserved || !wasUsed(id) else {
                throw broken("the new reference of \(id) is that of a row which was deleted")
            }
            let version = try isReserved ? ObjectSnapshot.version(after: goneVersion(of: entity), of: id) : 1
            rows.append(
                ObjectSnapshot(
                    id: id, version: version, values: save.insertions[position].values,
                    destinations: entity.relationships.indices.map { save.destination(at: $0, ofInsertion: position) }))
        }
        return rows
    }

    /// The stored rows of deletions, if all rows of the request are at the expected versions.
    private func checkVersions(
        _ save: PreparedSave, _ state: IncrementalState
    ) throws(StoreError) -> [ObjectSnapshot] {
        let updates = save.updates.map { SaveRequest.Expectation(id: $0.id, expectedVersion: $0.expectedVersion) }
        let expectations = updates + save.deletions + save.locks
        let rows = try state.rows(expectations.map(\.id))
        assert(rows.count == expectations.count, "\(rows.count) rows for \(expectations.count) expectations")
        let conflicts = zip(expectations, rows).filter { $1?.version != $0.expectedVersion }.map {
            VersionConflict(id: $0.id, expectedVersion: $0.expectedVersion, stored: $1)
        }
        guard conflicts.isEmpty else { throw .conflict(conflicts) }
        return rows[updates.count..<updates.count + save.deletions.count].compactMap { $0 }
    }

    /// The unique values that several rows would have: those of new rows, then those of changed ones.
    private func conflicts(
        of rows: [ObjectSnapshot], _ newCount: Int, _ former: [ObjectSnapshot], in state: IncrementalState
    ) throws(StoreError) -> [ConstraintConflict] {
        assert(newCount + former.count == rows.count, "\(former.count) of \(rows.count) rows were stored before")
        var conflicts: [ConstraintConflict] = []
        let places = Dictionary(zip(rows.map(\.id), rows.indices), uniquingKeysWith: { first, _ in first })
        for (position, row) in rows.enumerated() {
            for group in state.constraints(of: row.id) {
                guard let values = state.key(row, group),
                    position < newCount || state.key(former[position - newCount], group) != values
                else { continue }
                let holders = try state.holders(of: values, inGroup: group)
                // Of rows that are saved together, the earlier ones have the values already.
                let others = holders.filter { id in
                    guard id != row.id, let place = places[id] else { return id != row.id }
                    let kept = place >= newCount && state.key(former[place - newCount], group) == values
                    return kept || place < position
                }
                guard let other = others.min(by: { $0.key < $1.key }) else { continue }
                let constraint = schema.groups[group]
                conflicts.append(
                    ConstraintConflict(
                        entityName: model.entities[constraint.entity].name, properties: constraint.properties,
                        values: values.map(\.value), object: row.id, other: other))
            }
        }
        return conflicts
    }
}
