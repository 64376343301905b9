// The keys of a hierarchy that have a row, with its entity, as runs of consecutive keys of one entity.
//
// Memory: 24 bytes for each run. Rows that were never deleted and are of one entity are one run, however many they are.

import EspalierModel

/// The keys of a hierarchy.
struct KeyRuns {
    private struct Run {
        let first: UInt64
        var last: UInt64
        let entity: ManagedObjectModel.EntityIndex
    }

    private var runs: [Run] = []

    /// Adds a key, which is greater than all before; returns `false` if it is not.
    mutating func append(_ key: UInt64, _ entity: ManagedObjectModel.EntityIndex) -> Bool {
        guard let last = runs.last else {
            runs.append(Run(first: key, last: key, entity: entity))
            return true
        }
        guard key > last.last else { return false }
        if key == last.last + 1, entity == last.entity {
            runs[runs.count - 1].last = key
        } else {
            runs.append(Run(first: key, last: key, entity: entity))
        }
        return true
    }

    /// The entity of the row with a key; `nil` if there is none.
    func entity(of key: UInt64) -> ManagedObjectModel.EntityIndex? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].last < key { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count, runs[low].first <= key else { return nil }
        return runs[low].entity
    }
}
