// A command as one save: for stores that hold all changes of a transaction in memory anyway.

internal import EspalierModel

/// The save that does what a command does, to the rows of one snapshot.
struct CommandRequest {
    private(set) var save = SaveRequest()
    /// The rows that the save updates.
    private var updated: [ObjectSnapshot] = []
    private var deleted = RowSet()
    private let command: StoreCommand

    /// Makes the save.
    ///
    /// - Parameters:
    ///   - insertions: the rows that the command inserts: its closure is called once only.
    ///   - snapshot: the state before the command.
    /// - Throws: `.brokenRules`, `.invalidRequest`, `.commandCancelled`, the errors of reading.
    init(
        _ command: StoreCommand, _ insertions: [SaveRequest.Insertion], _ model: ManagedObjectModel,
        on snapshot: any StoreSnapshot
    ) throws(StoreError) {
        self.command = command
        save.constraintActions = command.constraintActions
        switch command.change {
        case .insert: save.insertions = insertions
        // Nothing is set: no row gets another version.
        case .update(_, let assignments) where assignments.isEmpty: break
        case .update(let rows, let assignments):
            updated = try rows.rows(in: snapshot, command.progress)
            var updates = BatchUpdates(assignments, of: command, model, FormerRows(model) { snapshot })
            save.updates = try updates.updates(of: updated)
            // Of rows that share unique values, the one with the lowest key keeps them, whatever entities they are of
            // (`DeferredConstraints.reports`): a save refuses those that it writes later.
            updated.sort { $0.id.key < $1.id.key }
            save.updates.sort { $0.id.key < $1.id.key }
            assert(zip(updated, save.updates).allSatisfy { $0.id == $1.id }, "two rows of a command have one key")
        case .delete(let rows):
            for row in try rows.rows(in: snapshot, command.progress) {
                save.deletions.append(.init(id: row.id, expectedVersion: row.version))
                deleted.insert(row.id)
            }
        }
        assert(deleted.count == save.deletions.count, "\(save.deletions.count) deletions of \(deleted.count) rows")
        assert(updated.count == save.updates.count, "\(save.updates.count) updates of \(updated.count) rows")
        command.progress?.expect(count)
        try command.progress?.advance(by: 0)
    }

    /// Whether two rows are by entity and ascending key.
    fileprivate static func areInOrder(_ first: ObjectID, _ second: ObjectID) -> Bool {
        (first.entityTag, first.key) < (second.entityTag, second.key)
    }

    /// The number of rows of the command.
    var count: Int { save.insertions.count + save.updates.count + save.deletions.count }

    /// The result of the command, from that of the save.
    func result(_ saved: SaveResult, _ schema: StoreSchema) -> CommandResult {
        var result = CommandResult()
        switch command.change {
        case .insert: result.note(save.insertions, saved, schema, returnsIDs: command.returnsIDs)
        case .update:
            result.note(save.updates, of: updated, saved, schema)
            if command.returnsIDs { result.ids += updated.map(\.id).sorted(by: Self.areInOrder) }
        case .delete: result.note(deleted, saved, returnsIDs: command.returnsIDs)
        }
        result.generation = saved.generation
        return result
    }
}

extension StoreCommand {
    /// The insertions of the command, all of them; empty for another kind of command.
    func insertions(_ model: ManagedObjectModel) throws(StoreError) -> [SaveRequest.Insertion] {
        guard case .insert(let entity, let next) = change else { return [] }
        var rows = try BatchInsertions(entity, of: self, model, next)
        return try rows.insertions(isWhole: true) ?? []
    }
}

extension StoreCommand.Rows {
    /// The rows in a snapshot, by entity and ascending key, each once.
    fileprivate func rows(
        in snapshot: any StoreSnapshot, _ progress: BatchProgress?
    ) throws(StoreError) -> [ObjectSnapshot] {
        let found = try found(progress) { rows throws(StoreError) -> [ObjectSnapshot] in
            switch rows {
            case .matching(let fetch): Array(try snapshot.fetch(fetch))
            case .ids(let ids): try snapshot.snapshots(of: ids).compactMap(\.self)
            }
        }
        var seen = RowSet()
        return found.filter { seen.insert($0.id) }.sorted { CommandRequest.areInOrder($0.id, $1.id) }
    }
}
