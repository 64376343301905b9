// The IDs of one kind in a message: a list in the order of the save, or the rows that a batch request has changed, as a
// set.
//
// Invariants
//   1. The list or the set is empty.
// A set takes a bit for most rows, where a list takes 16 bytes, and can be asked for a row: a context with few objects
// asks for these, and does not read the IDs of all other rows.

import EspalierModel
import EspalierStore

/// IDs in a message.
struct ToldIDs: Sendable, Sequence {
    private var list: [ObjectID]
    /// The rows of a batch request; `nil` for a list.
    private(set) var rows: RowSet?

    init(_ ids: [ObjectID] = []) { list = ids }

    /// The number of IDs.
    ///
    /// - Complexity: O(1), because a set has rows of few entities.
    var count: Int { rows?.count ?? list.count }

    /// The IDs, in the order of the list, or by entity and ascending key.
    ///
    /// - Complexity: O(1) for a list, O(IDs) for a set, which becomes a list when the IDs are changed.
    var ids: [ObjectID] {
        get { rows.map { Array($0) } ?? list }
        _modify {
            if let rows { (list, self.rows) = (Array(rows), nil) }
            yield &list
        }
    }

    /// Adds the rows of a set.
    ///
    /// - Complexity: O(1) if there is no ID, else O(IDs).
    mutating func add(_ others: RowSet) {
        if others.isEmpty { return }
        if count == 0 { rows = others } else { ids += others }
        assert(rows == nil || list.isEmpty, "invariant 1: \(list.count) IDs are beside a set")
    }

    func makeIterator() -> AnyIterator<ObjectID> { rows?.makeIterator() ?? AnyIterator(list.makeIterator()) }
}

extension ToldIDs: Equatable {
    static func == (left: ToldIDs, right: ToldIDs) -> Bool { left.ids == right.ids }
}
