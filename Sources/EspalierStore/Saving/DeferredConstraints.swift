// Uniqueness constraints that are checked after the last change: their values are not final while rows are written.
//
// A command changes rows chunk by chunk, and derived values follow from other rows attribute by attribute. In between
// two rows may have the same values, of which one gives them up later. The entries of such constraints are written like
// all others; the rows that got values are noted, and looked at in the end.
//
// Invariants
//   1. A row that is not noted has the values that it had before, so two rows that share values in the end are not both
//      missing here.

internal import EspalierModel

/// The constraints whose check is deferred, and the rows to check.
struct DeferredConstraints: Sendable {
    /// The most conflicts that a check reports, about.
    static let reportCountMax = 1000

    /// Positions in the schema's groups.
    private let groups: Set<Int>
    /// Whether the check comes after several saves, and not at the end of each.
    let outlastsSave: Bool
    private var rows: [Int: RowSet] = [:]

    init(_ groups: some Sequence<Int>, outlastsSave: Bool = false) {
        (self.groups, self.outlastsSave) = (Set(groups), outlastsSave)
    }

    /// Whether the check of a constraint is deferred.
    func defers(_ group: Int) -> Bool { groups.contains(group) }

    /// Notes a row that got values in a constraint.
    mutating func add(_ id: ObjectID, in group: Int) {
        rows[group, default: RowSet()].insert(id)
        assert(rows[group]?.contains(id) == true, "\(id) was noted in constraint \(group) and is not there")
    }

    /// The rows to check, by constraint; afterwards there are none.
    mutating func takeRows() -> [(group: Int, rows: RowSet)] {
        let taken = rows.sorted { $0.key < $1.key }.map { (group: $0.key, rows: $0.value) }
        rows.removeAll()
        assert(taken.allSatisfy { !$0.rows.isEmpty }, "a constraint of no rows is to be checked")
        return taken
    }

    /// Whether a row is reported for sharing its values with another one: as in a save that writes rows by ascending
    /// key, and finds a value taken when the second row gets it.
    ///
    /// So of rows with the same values, the one with the lowest key counts for all others, and is found at once where
    /// rows are looked up by key. All rows with a value are looked at only for that one.
    ///
    /// - Parameter noted: the rows that got values in the constraint.
    static func reports(_ id: ObjectID, sharingWith other: ObjectID, among noted: RowSet) -> Bool {
        assert(noted.contains(id), "\(id) is checked and was not noted")
        if other == id { return false }
        // The rows of a hierarchy have keys of their own.
        return !noted.contains(other) || other.key < id.key
    }
}
