// How the results of saves add up to the result of a command.
//
// Invariants
//   1. A row is in at most one of `inserted`, `updated` and `deleted`.

internal import EspalierModel

extension CommandResult {
    /// Adds the insertions of one save.
    mutating func note(
        _ insertions: [SaveRequest.Insertion], _ saved: SaveResult, _ schema: StoreSchema, returnsIDs: Bool
    ) {
        var merged = saved.merged[...]
        for (position, id) in saved.inserted.ids.enumerated() {
            if position == merged.first {
                merged.removeFirst()
                noteUpdated(id)
            } else {
                inserted.insert(id)
            }
        }
        count += insertions.count
        if returnsIDs { ids += saved.inserted.ids }
        // The lists of these rows have become longer.
        guard let entity = insertions.first.flatMap({ schema.entity(of: $0.id) }) else { return }
        for (slot, _) in schema.listedToOnes[entity.index] {
            for insertion in insertions {
                if let owner = insertion.row.destination(at: slot) { noteUpdated(owner) }
            }
        }
        for id in saved.changed { noteUpdated(id) }
    }

    /// Adds the updates of one save.
    mutating func note(
        _ updates: [SaveRequest.Update], of rows: [ObjectSnapshot], _ saved: SaveResult, _ schema: StoreSchema
    ) {
        for (update, row) in zip(updates, rows) {
            noteUpdated(update.id)
            guard !update.destinations.isEmpty, let entity = schema.entity(of: update.id) else { continue }
            for (slot, _) in schema.listedToOnes[entity.index] {
                guard let set = update.destinations.last(where: { $0.slot == slot }) else { continue }
                for case let owner? in [row.destination(at: slot), set.destination] { noteUpdated(owner) }
            }
        }
        count += updates.count
        for id in saved.changed { noteUpdated(id) }
    }

    /// Adds the deletions of one save, which deletes nothing else by request.
    mutating func note(_ selected: RowSet, _ saved: SaveResult, returnsIDs: Bool) {
        count += selected.count
        if returnsIDs { ids += selected }
        deleted = saved.deleted
        updated = saved.changed
    }

    private mutating func noteUpdated(_ id: ObjectID) { if !inserted.contains(id) { updated.insert(id) } }
}
