// The changes of one save from which derived values follow, noted where they are written.
//
// Invariants
//   1. A row is noted as it was before its first change in the save.
//   2. A pair of a list counts as added or removed only by the difference between the list before the save and after
//      it.

internal import EspalierModel

/// The rows and pairs that a save has changed.
struct DerivedChanges: Sendable {
    /// The changed and deleted rows as they were; `nil` for new rows.
    private(set) var former: [ObjectID: ObjectSnapshot?] = [:]
    /// For each list of each owner: 1 for a destination that was added, -1 for one that was removed, or 0.
    private(set) var links: [RelationshipID: [ObjectID: [ObjectID: Int]]] = [:]

    var isEmpty: Bool { former.isEmpty && links.isEmpty }

    /// Notes a row before it changes.
    mutating func note(_ row: ObjectSnapshot) {
        if former[row.id] == nil { former[row.id] = .some(row) }
    }

    /// Notes a new row.
    mutating func note(new id: ObjectID) {
        if former[id] == nil { former[id] = .some(nil) }
    }

    /// Notes a pair that was added to a list (1) or removed from it (-1).
    mutating func noteLink(of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship, _ change: Int) {
        assert(change == 1 || change == -1, "a pair of \(relationship.name) of \(owner) changes by \(change)")
        links[RelationshipID(relationship), default: [:]][owner, default: [:]][destination, default: 0] += change
    }

    /// Whether a row is new.
    func isNew(_ id: ObjectID) -> Bool {
        guard let row = former[id] else { return false }
        return row == nil
    }
}
