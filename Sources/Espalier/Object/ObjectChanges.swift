// What an object holds besides its committed row: new values, new destinations, changes of to-many relationships.
//
// Invariants
//   1. A clean object has no `ObjectChanges` at all, unless a transient attribute has a value.
//   2. Destinations are IDs, never references to objects: changed objects form no reference cycles.

import EspalierModel
import EspalierStore

/// The unsaved values of one object.
final class ObjectChanges {
    /// All of it as one value, so that copying it is one assignment.
    struct Values {
        /// New attribute values.
        var attributes = SlotValues<AttributeValue>()
        /// New destinations of to-one relationships.
        var destinations = SlotValues<ObjectID?>()
        /// Changes of to-many relationships.
        var toMany = SlotValues<ToManyChange>()

        var isEmpty: Bool { attributes.isEmpty && destinations.isEmpty && toMany.isEmpty }
    }

    var values: Values

    init(_ values: Values = Values()) { self.values = values }

    /// Takes out IDs of objects that are no more.
    func forget(_ gone: Set<ObjectID>) {
        for (slot, destination) in values.destinations.pairs {
            if let destination, gone.contains(destination) { values.destinations[slot] = .some(nil) }
        }
        for (slot, change) in values.toMany.pairs {
            switch change {
            case .list(let ids): values.toMany[slot] = .list(ids.filter { !gone.contains($0) })
            case .set(let added, let removed):
                values.toMany[slot] = .set(added: added.subtracting(gone), removed: removed)
            }
        }
    }
}

/// How a to-many relationship differs from what the store holds.
enum ToManyChange {
    /// Destinations that came and went. The store's own list is not needed to say so.
    case set(added: Set<ObjectID>, removed: Set<ObjectID>)
    /// The whole new order.
    case list([ObjectID])

    static var empty: ToManyChange { .set(added: [], removed: []) }

    /// Adds a destination that is not there.
    mutating func add(_ id: ObjectID) {
        switch self {
        case .set(var added, var removed):
            self = .empty  // gives up the second reference, so that the sets change in place
            if removed.remove(id) == nil { added.insert(id) }
            self = .set(added: added, removed: removed)
        case .list(var ids):
            self = .empty
            ids.append(id)
            self = .list(ids)
        }
    }

    /// Removes a destination that is there.
    mutating func remove(_ id: ObjectID) {
        switch self {
        case .set(var added, var removed):
            self = .empty
            if added.remove(id) == nil { removed.insert(id) }
            self = .set(added: added, removed: removed)
        case .list(var ids):
            self = .empty
            if let position = ids.lastIndex(of: id) { ids.remove(at: position) }
            self = .list(ids)
        }
    }

    /// The destinations, given what the store holds.
    ///
    /// Added ones come last, in the order they were inserted.
    func applied(to stored: [ObjectID]) -> [ObjectID] {
        switch self {
        case .list(let ids): ids
        case .set(let added, let removed):
            // What was added here may meanwhile have been added by somebody else as well.
            stored.filter { !removed.contains($0) && !added.contains($0) }
                + (added.count < 2 ? Array(added) : added.sorted(by: ObjectID.inOrderOfCreation))
        }
    }

    /// The same change with other IDs.
    func mapped(_ id: (ObjectID) -> ObjectID) -> ToManyChange {
        switch self {
        case .set(let added, let removed): .set(added: Set(added.map(id)), removed: Set(removed.map(id)))
        case .list(let ids): .list(ids.map(id))
        }
    }
}

extension ObjectID {
    /// Stored rows by key, then unsaved objects by the order of their insertion: the order that saving keeps.
    static func inOrderOfCreation(_ left: ObjectID, _ right: ObjectID) -> Bool {
        left.isTemporary == right.isTemporary ? left.key < right.key : right.isTemporary
    }
}
