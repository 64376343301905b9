// New rows under IDs that the request names: reserved ones, and those of deleted rows that are inserted again.

import EspalierModel

extension SaveExecution {
    /// The greatest version at which a row of a hierarchy was deleted: a row that reuses its ID begins above it.
    func goneVersion(ofRoot root: ManagedObjectModel.EntityIndex) throws(StoreError) -> UInt64 {
        assert(catalog.schema.roots[root] == root, "entity \(root) is below \(catalog.schema.roots[root])")
        let counter = Counter.goneVersion(rootNumber: catalog.numbering.entityNumbers[root])
        return max(goneVersions[root] ?? 0, try transaction.counter(counter, catalog))
    }

    /// A conflict with the expected version 0 for each new row whose ID a row has already: another writer has inserted
    /// the same deleted row again.
    ///
    /// - Complexity: O(log rows) for each reserved ID of a hierarchy that has lost a row; O(1) for the others, which no
    ///   other writer can have.
    func rowsInsertedAlready(_ save: PreparedSave) throws(StoreError) -> [VersionConflict] {
        var isReused: [ManagedObjectModel.EntityIndex: Bool] = [:]
        var ids: [ObjectID] = []
        for position in save.ids.indices where save.isReserved(at: position) {
            let root = catalog.schema.roots[catalog.schema.entityIndex(of: save.ids[position])]
            if isReused[root] == nil { isReused[root] = try goneVersion(ofRoot: root) > 0 }
            if isReused[root] == true { ids.append(save.ids[position]) }
        }
        if ids.isEmpty { return [] }
        return zip(ids, try transaction.snapshots(of: ids, catalog)).compactMap { id, row in
            row.map { VersionConflict(id: id, expectedVersion: 0, stored: $0) }
        }
    }
}
