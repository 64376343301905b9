// What setting to-one relationships adds to the to-many sides of new objects, until somebody looks at those (MO-24).
//
// Invariants
//   1. Nothing reads or changes a to-many relationship of a new object, by its changes or by its ID, before what is
//      noted here was taken in: whoever asks finds both sides equal.
//   2. Notes are of unordered relationships, of which no store is told: a save needs none of them, and nobody needs
//      their order.
// An import reads hardly any of these sets, and keeping them took a tenth of it: new objects are many, and each has
// several sets.

import EspalierModel

/// Additions to to-many relationships.
struct UnreadInverses {
    /// Those from one entity to another across one relationship: what they share stands once, as there is one for each
    /// object of an import.
    private struct Group {
        /// The first of each.
        let owner: ObjectID
        let destination: ObjectID
        let slot: Int
        var keys: [(owner: UInt64, destination: UInt64)] = []

        /// Whether IDs differ from the first ones in their keys only.
        func takes(_ destination: ObjectID, _ owner: ObjectID, _ slot: Int) -> Bool {
            self.slot == slot && self.owner.isOfSameKind(as: owner) && self.destination.isOfSameKind(as: destination)
        }
    }

    /// Few, so they are searched.
    private var groups: [Group] = []

    /// Notes that `destination` is one more destination of `owner`, which is new.
    mutating func add(_ destination: ObjectID, to owner: ObjectID, at slot: Int) {
        var position = 0
        while position < groups.count, !groups[position].takes(destination, owner, slot) { position += 1 }
        if position == groups.count { groups.append(Group(owner: owner, destination: destination, slot: slot)) }
        groups[position].keys.append((owner.key, destination.key))
    }

    mutating func removeAll() { groups = [] }

    /// Gives each addition out and forgets it.
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
    /// Makes the to-many sides of new objects what they have become.
    func takeInInverses() {
        guard !memory.unreadInverses.isEmpty else { return }
        for (owner, destination, slot) in memory.unreadInverses.takeAll() {
            memory.registry[owner]?.takeIn(destination, at: slot)
        }
    }
}
