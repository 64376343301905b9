// Unsaved objects in the order of their values of one property, so that a fetch for a range tests only those in it.
//
// Invariants
//   1. Each run is in the order of all values (`AttributeValue.compare`), and more than twice as long as the next one:
//      there are O(log n) runs, and an entry is moved O(log n) times.
//   2. An entry stays when its object gets another value: the caller compares it with the present one.

import EspalierModel
import FoundationEssentials

/// Objects by the values of one property, in order.
struct ValueRuns {
    /// A value that an object has or has had.
    struct Entry {
        let value: AttributeValue
        let id: ObjectID
    }

    private var runs: [[Entry]] = []
    /// Entries that are in no run yet.
    private var fresh: [Entry] = []

    mutating func insert(_ value: AttributeValue, of id: ObjectID) { fresh.append(Entry(value: value, id: id)) }

    /// The entries from `lower` to `upper`, both included; `nil` = all that are not null.
    ///
    /// - Complexity: O(log² n), and O(k log n) for k entries since the last call.
    mutating func entries(from lower: AttributeValue?, to upper: AttributeValue?) -> [ArraySlice<Entry>] {
        addFresh()
        return runs.compactMap { run -> ArraySlice<Entry>? in
            let start = Self.position(in: run) { value in
                if let lower { value.compare(lower) != .orderedAscending } else { !value.isNull }
            }
            var end = run.count
            if let upper { end = Self.position(in: run) { $0.compare(upper) == .orderedDescending } }
            return start < end ? run[start..<end] : nil
        }
    }

    /// Makes a run of the fresh entries, and merges those that are too short for their place.
    private mutating func addFresh() {
        guard !fresh.isEmpty else { return }
        runs.append(Self.inOrder(fresh))
        fresh.removeAll()
        while runs.count > 1, runs[runs.count - 2].count <= 2 * runs[runs.count - 1].count {
            let last = runs.removeLast()
            // Sorting two runs in a row takes a time that is linear in their length.
            runs[runs.count - 1] = Self.inOrder(runs[runs.count - 1] + last)
        }
    }

    private static func inOrder(_ entries: [Entry]) -> [Entry] {
        assert(StepCount.note(entries.count))
        return entries.sorted { $0.value.compare($1.value) == .orderedAscending }
    }

    /// The first position of a run at which `isReached` is true, as it is at all later ones.
    private static func position(in run: [Entry], where isReached: (AttributeValue) -> Bool) -> Int {
        var (low, high) = (0, run.count)
        while low < high {
            let middle = (low + high) / 2
            if isReached(run[middle].value) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
