// The links that delete rules take out of lists which are arrays, until each of these lists is filtered once.
//
// Invariants
//   1. A list that has lost nothing has no entry.

internal import EspalierModel

/// Removed destinations by list: noting one is O(1), where taking it out of an array is O(length of the list).
struct RemovedLinks: Sendable {
    private var gone: [ListID: Set<ObjectID>] = [:]

    var isEmpty: Bool { gone.isEmpty }

    /// Notes that a list loses a destination, if it has it.
    mutating func insert(_ destination: ObjectID, in list: ListID) {
        assert(!destination.isTemporary, "\(destination) has no permanent ID")
        gone[list, default: []].insert(destination)
    }

    /// The first destinations that are left of a list: at most `countMax`.
    ///
    /// - Complexity: O(1) for the whole list, if it has lost nothing; else O(destinations that are looked at).
    func left(of destinations: [ObjectID], in list: ListID, countMax: Int) -> [ObjectID] {
        assert(countMax > 0, "\(countMax) destinations of \(list.owner) are asked for")
        guard let gone = gone[list] else {
            return countMax < destinations.count ? Array(destinations.prefix(countMax)) : destinations
        }
        var left: [ObjectID] = []
        for id in destinations {
            if left.count == countMax { break }
            assert(StepCount.note())
            if !gone.contains(id) { left.append(id) }
        }
        return left
    }

    /// The lists that have lost destinations; then there are none.
    mutating func takeLists() -> [ListID: Set<ObjectID>] {
        defer { gone = [:] }
        assert(gone.values.allSatisfy { !$0.isEmpty }, "invariant 1")
        return gone
    }
}
