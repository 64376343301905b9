// Writes the counters that a save changes: the last step before its commit.

internal import EspalierEngine
internal import EspalierModel

extension SaveExecution {
    /// Writes the changes of the numbers of rows and cut entries, the last keys, and the versions of deleted rows.
    mutating func writeCounters() throws(StoreError) {
        for (entity, delta) in rowDeltas.enumerated() where delta != 0 {
            try add(delta, to: Counter.rows(entityNumber: catalog.numbering.entityNumbers[entity]))
        }
        for (group, delta) in cutDeltas.enumerated() where delta != 0 {
            try add(delta, to: Counter.cutEntries(catalog.groupTrees[group].id))
        }
        for case (let root, let key?) in lastKeys.enumerated() {
            let counter = Counter.lastKey(rootNumber: catalog.numbering.entityNumbers[root])
            guard try transaction.counter(counter, catalog) != key else { continue }
            try transaction.setCounter(counter, to: key, catalog)
        }
        for case let (root, version?) in goneVersions.enumerated() {
            let counter = Counter.goneVersion(rootNumber: catalog.numbering.entityNumbers[root])
            guard try transaction.counter(counter, catalog) < version else { continue }
            try transaction.setCounter(counter, to: version, catalog)
        }
    }

    private mutating func add(_ delta: Int64, to counter: UInt64) throws(StoreError) {
        let old = try transaction.counter(counter, catalog)
        try transaction.setCounter(counter, to: old &+ UInt64(bitPattern: delta), catalog)
    }
}
