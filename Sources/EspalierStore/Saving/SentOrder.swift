// The order that a request sends for a list, with the IDs that the request's new rows get: as a whole, or as the few
// differences from the order that the sender has read.
//
// Invariants
//   1. Edits and the whole order are the same change. A whole order can always be made of edits.

internal import EspalierModel

/// The new order of a list.
enum SentOrder {
    case whole([ObjectID])
    case edited(PermanentOrderEdits)

    /// All destinations in the new order; some may be no members of the list.
    ///
    /// - Complexity: O(n) for edits.
    var ids: [ObjectID] {
        switch self {
        case .whole(let ids): ids
        case .edited(let edits): edits.ids
        }
    }

    /// The edits, if there are any.
    var edits: PermanentOrderEdits? { if case .edited(let edits) = self { edits } else { nil } }

    /// The same order without its edits.
    var asWhole: SentOrder { .whole(ids) }

    /// The order without rows that were deleted.
    func without(_ gone: RowSet) -> SentOrder {
        guard case .edited(var edits) = self, edits.leave(gone) else {
            return .whole(ids.filter { !gone.contains($0) })
        }
        return .edited(edits)
    }
}

/// `OrderEdits` with the permanent IDs of new rows.
struct PermanentOrderEdits {
    /// The former order and the new one, which may have temporary IDs.
    let list: OrderedIDs
    private let permanentIDs: PermanentIDs
    /// The destinations that only the former order has, without rows that the save deletes.
    private(set) var removed: [ObjectID]
    /// The destinations that are new or have moved, in the new order, each with its predecessor there.
    let placed: [(id: ObjectID, predecessor: ObjectID?)]

    init(_ edits: OrderEdits, _ permanentIDs: PermanentIDs) {
        (list, removed, self.permanentIDs) = (edits.list, edits.removed, permanentIDs)
        placed = edits.placed.map {
            (permanentIDs.permanent($0.id), $0.predecessor.map(permanentIDs.permanent))
        }
    }

    /// The destinations that only the new order has.
    var added: [ObjectID] { placed.lazy.map(\.id).filter { list.originalIndex(of: $0) == nil } }
    /// The destinations that both orders have, at other places.
    var moved: [ObjectID] { placed.lazy.map(\.id).filter { list.originalIndex(of: $0) != nil } }
    /// All destinations in the new order.
    var ids: [ObjectID] { list.ids.map(permanentIDs.permanent) }

    /// Forgets the removal of deleted rows, which have left the list already; returns `false` if a destination that
    /// has a new place is deleted, or one after which another one has its place.
    fileprivate mutating func leave(_ gone: RowSet) -> Bool {
        let names = placed.lazy.flatMap { [$0.id, $0.predecessor].compactMap(\.self) }
        guard !names.contains(where: { gone.contains($0) }) else { return false }
        removed.removeAll { gone.contains($0) }
        return true
    }
}
