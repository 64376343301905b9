// Additions to the to-many sides of new objects, noted when their to-one sides are set and applied when they are read
// (MO-24).
//
// Invariants
//   1. All notes are applied before a to-many relationship of a new object is read or changed, by its changes or by its
//      ID: every reader finds both sides equal.
//   2. Notes are only of unordered relationships that are not sent to a store: a save needs neither them nor their
//      order.
// They are applied late because an import reads hardly any of these sets: see Decisions, "Unread inverses".

import EspalierModel

/// Additions to to-many relationships.
struct UnreadInverses {
    /// The additions from one entity to another across one relationship.
    ///
    /// An import makes one addition per object, so a group stores the parts that its additions share only once.
    private struct Group {
        /// The first addition's IDs; the others differ only in their keys.
        let owner: ObjectID
        let destination: ObjectID
        let slot: Int
        var keys: [(owner: UInt64, destination: UInt64)] = []

        /// Whether an addition differs from the group's first one only in the keys.
        func takes(_ destination: ObjectID, _ owner: ObjectID, _ slot: Int) -> Bool {
            self.slot == slot && self.owner.isOfSameKind(as: owner) && self.destination.isOfSameKind(as: destination)
        }
    }

    /// The groups are few, so they are searched one by one.
    private var groups: [Group] = []

    /// Notes that `destination` is one more destination of `owner`, which is new.
    mutating func add(_ destination: ObjectID, to owner: ObjectID, at slot: Int) {
        var position = 0
        while position < groups.count, !groups[position].takes(destination, owner, slot) { position += 1 }
        if position == groups.count { groups.append(Group(owner: owner, destination: destination, slot: slot)) }
        groups[position].keys.append((owner.key, destination.key))
    }

    mutating func removeAll() { groups = [] }

    /// Returns all additions and forgets them.
    mutating func takeAll() -> some Sequence<(owner: ObjectID, destination: ObjectID, slot: Int)> {
        defer { groups = [] }
        return groups.lazy.flatMap { group in
            group.keys.lazy.map { keys in
                (group.owner.withKey(keys.owner), group.destination.withKey(keys.destination), group.slot)
            }
        }
    }

    var isEmpty: Bool { groups.isEmpty }
}

extension ObjectID {
    /// Whether both are of one entity and store.
    fileprivate func isOfSameKind(as other: ObjectID) -> Bool {
        entityTag == other.entityTag && storeTag == other.storeTag
    }

    /// The ID of the same entity and store with this key.
    fileprivate func withKey(_ key: UInt64) -> ObjectID {
        ObjectID(storeTag: storeTag, entityTag: entityTag, key: key)
    }
}

extension ManagedObjectContext {
    /// Applies all noted additions to the to-many sides of new objects.
    func applyUnreadInverses() {
        guard !memory.unreadInverses.isEmpty else { return }
        for (owner, destination, slot) in memory.unreadInverses.takeAll() {
            memory.registry[owner]?.applyUnreadInverse(destination, at: slot)
        }
    }
}
