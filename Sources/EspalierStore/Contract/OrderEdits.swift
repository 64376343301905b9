// The change of an order as its few differences, beside the whole order, which is made only if it is asked for.
//
// Invariants
//   1. If `removed` and the IDs in `placed` are taken out of `formerOrder`, and then each ID in `placed` is put after
//      its predecessor, one after the other, the result is `order`.

public import EspalierModel

/// The difference between two orders of an ordered relationship.
public struct OrderEdits: Sendable {
    /// A destination that is new in the order, or has moved.
    public struct Placement: Sendable, Hashable {
        /// The destination.
        public let id: ObjectID
        /// The destination before it in the new order; `nil` if it is the first one.
        public let predecessor: ObjectID?
    }

    package let list: OrderedIDs
    /// The destinations that only the former order has, as they follow each other there.
    public let removed: [ObjectID]
    /// The destinations that are new or have moved, as they follow each other in the new order.
    public let placed: [Placement]

    /// The difference between `list` and the list that it was made from; `nil` if there is too much of it.
    ///
    /// - Complexity: O(k log n) for k changes.
    package init?(_ list: OrderedIDs) {
        guard let (removed, placed) = list.changes else { return nil }
        self.list = list
        self.removed = removed
        self.placed = placed.map { Placement(id: list[$0], predecessor: $0 > 0 ? list[$0 - 1] : nil) }
        assert(
            removed.allSatisfy { list.originalIndex(of: $0) != nil && !list.contains($0) },
            "some of \(removed.count) removed destinations stay, or were not there")
        assert(zip(placed, placed.dropFirst()).allSatisfy { $0 < $1 }, "places \(placed) do not ascend")
    }

    /// All destinations in the former order.
    ///
    /// - Complexity: O(1).
    public var formerOrder: [ObjectID] { list.original }
    /// All destinations in the new order.
    ///
    /// - Complexity: O(n).
    public var order: [ObjectID] { list.ids }

    /// The index of a destination in the former order; `nil` if it is new.
    ///
    /// - Complexity: O(1).
    public func formerIndex(of id: ObjectID) -> Int? { list.originalIndex(of: id) }
}
