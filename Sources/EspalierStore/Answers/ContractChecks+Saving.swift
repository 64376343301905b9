// The checks of what a save or a command returns, and of the conflicts by which a store refuses one: contexts adopt the
// rows of both.

internal import EspalierModel

extension ContractChecks {
    /// Saves to a store, and requires that its answer, or its refusal, can be used.
    package func save(_ request: SaveRequest, to store: any PersistentStore) throws(StoreError) -> SaveResult {
        let result: SaveResult
        do throws(StoreError) { result = try store.save(request) } catch { throw checked(error) }
        try check(result, of: request)
        return result
    }

    /// Has a store carry out a command, and requires that its answer can be used.
    package func execute(
        _ command: StoreCommand, in store: any PersistentStore
    ) throws(StoreError) -> CommandResult {
        let result: CommandResult
        do throws(StoreError) { result = try store.execute(command) } catch { throw checked(error) }
        guard result.count >= 0 else { throw broken("a command has changed \(result.count) rows") }
        guard !command.returnsIDs || result.ids.count == result.count else {
            throw broken("a command has changed \(result.count) rows, and returned \(result.ids.count) IDs")
        }
        for id in result.ids { _ = try entity(of: id) }
        for rows in [result.inserted, result.updated, result.deleted] { try check(rows) }
        return result
    }

    // MARK: Results

    /// Requires that a save returns a row for each insertion, and no row that was not to be written.
    private func check(_ result: SaveResult, of request: SaveRequest) throws(StoreError) {
        guard result.inserted.count == request.insertions.count else {
            throw broken(
                "\(request.insertions.count) rows were inserted, and it has returned \(result.inserted.count) rows")
        }
        guard zip(result.merged, result.merged.dropFirst()).allSatisfy({ $0 < $1 }),
            result.merged.allSatisfy({ result.inserted.indices.contains($0) })
        else { throw broken("\(result.merged) are no ascending positions of inserted rows that were merged") }
        try check(result.inserted)
        try check(result.updated)
        try checkInsertions(result, of: request)
        try checkUpdates(result.updated.ids, of: request)
        try check(result.deleted)
        try check(result.changed)
    }

    /// Requires that each insertion has a row of its own, under an ID that no other row of the save has, or was merged
    /// into a row that fits.
    private func checkInsertions(_ result: SaveResult, of request: SaveRequest) throws(StoreError) {
        let merged = Set(result.merged)
        // A row that the request names by its ID is no new one.
        var taken = Set(request.updates.map(\.id) + request.deletions.map(\.id) + request.locks.map(\.id))
        for (position, insertion) in request.insertions.enumerated() {
            let id = result.inserted.ids[position]
            if merged.contains(position) {
                guard let wanted = model.entity(named: insertion.id.entityName), try entity(of: id).isKind(of: wanted)
                else { throw broken("\(id) is not of the entity of \(insertion.id), which was merged into it") }
                continue
            }
            guard insertion.id.isTemporary ? id.entityTag == insertion.id.entityTag : id == insertion.id else {
                throw broken("\(id) is not the ID of the row that was inserted as \(insertion.id)")
            }
            guard taken.insert(id).inserted, !result.deleted.contains(id) else {
                throw broken("\(id) is the ID of a new row, and of another row of the same save")
            }
        }
    }

    /// Requires that the updated rows are rows of the request's updates, in the order of these.
    private func checkUpdates(_ ids: [ObjectID], of request: SaveRequest) throws(StoreError) {
        var updates = request.updates[...]
        for id in ids {
            // A temporary ID stands for a row that the same save has inserted.
            updates = updates.drop { $0.id != id && !$0.id.isTemporary }
            guard updates.popFirst() != nil else {
                throw broken("\(id) is no updated row, or is not in the order of the updates")
            }
        }
    }

    /// Requires that the rows that a save has changed or deleted can be rows of this store.
    private func check(_ rows: RowSet) throws(StoreError) {
        for id in rows { _ = try entity(of: id) }
    }

    // MARK: Refusals

    /// The error of a save; if it names rows that are none, the error that says so.
    func checked(_ error: StoreError) -> StoreError {
        do throws(StoreError) {
            switch error {
            case .conflict(let conflicts): try check(conflicts)
            case .constraint(let conflicts): try check(conflicts)
            case .references(let conflicts): try check(conflicts)
            default: break
            }
            return error
        } catch { return error }
    }

    private func check(_ conflicts: [VersionConflict]) throws(StoreError) {
        guard !conflicts.isEmpty else { throw broken("it has refused a save for conflicts, and named none") }
        for conflict in conflicts {
            _ = try entity(of: conflict.id)
            guard let row = conflict.stored else { continue }
            guard row.id == conflict.id else {
                throw broken("the row in conflict about \(conflict.id) is \(row.id)")
            }
            try check(row)
        }
    }

    private func check(_ conflicts: [ConstraintConflict]) throws(StoreError) {
        guard !conflicts.isEmpty else { throw broken("it has refused a save for unique values, and named none") }
        for conflict in conflicts {
            let declared = model.entity(named: conflict.entityName)?.uniquenessConstraints ?? []
            guard declared.contains(conflict.properties), conflict.values.count == conflict.properties.count else {
                throw broken("\(conflict.entityName) has no constraint \(conflict.properties) of as many values")
            }
            for id in [conflict.object, conflict.other] { try checkNamed(id) }
        }
    }

    private func check(_ conflicts: [ReferenceConflict]) throws(StoreError) {
        guard !conflicts.isEmpty else { throw broken("it has refused a save for references, and named none") }
        for conflict in conflicts {
            for id in [conflict.owner] + conflict.destinations { try checkNamed(id) }
            guard let owner = model.entity(named: conflict.owner.entityName),
                owner.relationship(named: conflict.relationship) != nil
            else { throw broken("\(conflict.owner) has no relationship \(conflict.relationship)") }
        }
    }

    /// Requires that an ID is of this store, or of an object that was to be inserted.
    private func checkNamed(_ id: ObjectID) throws(StoreError) {
        if !id.isTemporary { _ = try entity(of: id) }
    }
}
