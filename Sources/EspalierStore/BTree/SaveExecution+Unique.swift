// Unique values in a B-tree store: the row that has them already, and the check of deferred constraints over the rows
// as the transaction has them in the end.

internal import EspalierModel

extension SaveExecution {
    /// The row with the lowest key that has the values of `source`, whose key `newKey` is, in a unique group.
    ///
    /// - Parameter counts: whether a row counts as one that has them.
    mutating func holder(
        of source: ValueSource, inGroup index: Int, where counts: (ObjectID) -> Bool = { _ in true }
    ) throws(StoreError) -> ObjectID? {
        if newKey.hasNull { return nil }
        if newKey.isCut { return try holder(ofCutKeyInGroup: index, source, where: counts) }
        let group = catalog.schema.groups[index]
        return try transaction.holder(of: newKey, group, catalog.groupTrees[index], [], catalog, where: counts)
    }

    /// The conflict of two rows with the values of `source` in a unique group.
    func conflict(
        of id: ObjectID, with other: ObjectID, inGroup index: Int, _ source: ValueSource
    ) -> ConstraintConflict {
        assert(id != other, "\(id) is in conflict with itself")
        let group = catalog.schema.groups[index]
        return ConstraintConflict(
            entityName: catalog.model.entities[group.entity].name, properties: group.properties,
            values: group.elements.map { source.value(of: $0) }, object: id, other: other)
    }

    /// Checks the deferred constraints, and adds to `conflicts`: for each constraint, by ascending key.
    ///
    /// - Parameter onChunk: called before some thousands of rows are read; may cancel.
    /// - Complexity: O(log rows) for each row that got values in a deferred constraint.
    mutating func checkDeferredConstraints(
        onChunk: (() throws(StoreError) -> Void)? = nil
    ) throws(StoreError) {
        for (index, noted) in deferred.takeRows() {
            let group = catalog.schema.groups[index]
            assert(group.isUnique, "\(group.name) is no constraint")
            let start = conflicts.count
            var chunks = IDChunks(noted, countMax: StoreCommand.chunkCountMax)
            while conflicts.count < DeferredConstraints.reportCountMax, let ids = chunks.next() {
                try onChunk?()
                // A row may be gone since.
                let found = try transaction.snapshots(of: ids, catalog).compactMap(\.self)
                chunks.note(found)
                for row in found where conflicts.count < DeferredConstraints.reportCountMax {
                    newKey.encode(group, .snapshot(row), catalog.numbering)
                    let other = try holder(of: .snapshot(row), inGroup: index) { other in
                        DeferredConstraints.reports(row.id, sharingWith: other, among: noted)
                    }
                    guard let other else { continue }
                    conflicts.append(conflict(of: row.id, with: other, inGroup: index, .snapshot(row)))
                }
            }
            // The rows of one entity come after those of another one.
            conflicts[start...].sort { $0.object.key < $1.object.key }
        }
    }
}
