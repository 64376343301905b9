// Entries of uniqueness constraints that are removed before any row of a command changes.
//
// A command changes rows chunk by chunk; a save has all its rows at hand. The first pass of a command removes the
// unique entries that it will change, so that rows of different chunks may exchange their values as in one save.

internal import EspalierModel

extension SaveExecution {
    /// Removes the entries of rows in uniqueness constraints whose values the updates change; the rows stay.
    ///
    /// - Parameter updates: the updates of `rows`, in the same order.
    mutating func removeUniqueEntries(
        of rows: [ObjectSnapshot], _ updates: [SaveRequest.Update]
    ) throws(StoreError) {
        assert(rows.count == updates.count, "\(updates.count) updates of \(rows.count) rows")
        for (row, update) in zip(rows, updates) {
            for group in changedGroups(update, row) where catalog.schema.groups[group].isUnique {
                oldKey.encode(catalog.schema.groups[group], .snapshot(row), catalog.numbering)
                try removeOldEntry(group, row.id.key)
            }
        }
        try writeCounters()
    }
}
