// The values of a row with many slots, of which few are set: those that differ from initial values, which the rows of
// an entity share.
//
// Invariants
//   1. `entries` ascends by place; a place that it lacks has its initial value, or null if there is none.

import EspalierModel

/// The values of a row, by place: one for each attribute and then one for each relationship.
final class FewValues {
    private let initial: [AttributeValue]
    private var entries: [(place: Int, value: AttributeValue)] = []

    /// The values `initial`, and null at all places after them.
    init(_ initial: [AttributeValue]) { self.initial = initial }

    /// Values that change independently.
    func copy() -> FewValues {
        let copy = FewValues(initial)
        copy.entries = entries
        return copy
    }

    /// The value at a place.
    ///
    /// - Complexity: reading is O(log values set), setting one for the first time O(values set).
    subscript(place: Int) -> AttributeValue {
        get {
            let index = index(of: place)
            assert(place >= 0, "place \(place) of a row")
            if index < entries.count, entries[index].place == place { return entries[index].value }
            return place < initial.count ? initial[place] : .null
        }
        set {
            let index = index(of: place)
            if index < entries.count, entries[index].place == place {
                entries[index].value = newValue
            } else {
                entries.insert((place, newValue), at: index)
            }
            assert(
                zip(entries, entries.dropFirst()).allSatisfy { $0.place < $1.place },
                "invariant 1: places do not ascend")
        }
    }

    /// The index of the first entry whose place is not below `place`.
    private func index(of place: Int) -> Int {
        var (low, high) = (0, entries.count)
        if let last = entries.last, last.place < place { return high }
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
