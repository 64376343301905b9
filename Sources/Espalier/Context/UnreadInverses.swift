// What setting to-one relationships adds to the to-many sides of new objects, until somebody looks at those (MO-24).
//
// Invariants
//   1. Nothing reads or changes a to-many relationship of a new object, by its changes or by its ID, before what is
//      noted here was taken in: whoever asks finds both sides equal.
//   2. Notes are of unordered relationships, of which no store is told: a save needs none of them.
// An import reads hardly any of these sets, and keeping them took a tenth of it: new objects are many, and each has
// several sets.

import EspalierModel

/// Additions to to-many relationships, in the order in which they came.
struct UnreadInverses {
    private struct Addition {
        let owner: ObjectID
        let destination: ObjectID
        let slot: Int
    }

    private var additions: [Addition] = []

    /// Notes that `destination` is one more destination of `owner`, which is new.
    mutating func add(_ destination: ObjectID, to owner: ObjectID, at slot: Int) {
        additions.append(Addition(owner: owner, destination: destination, slot: slot))
    }

    mutating func removeAll() { additions.removeAll() }

    /// Gives each addition to `body` and forgets it.
    mutating func takeAll() -> some Sequence<(owner: ObjectID, destination: ObjectID, slot: Int)> {
        defer { additions = [] }
        return additions.lazy.map { ($0.owner, $0.destination, $0.slot) }
    }

    var isEmpty: Bool { additions.isEmpty }
}

extension ManagedObjectContext {
    /// Makes the to-many sides of new objects what they have become.
    func takeInInverses() {
        guard !unreadInverses.isEmpty else { return }
        for (owner, destination, slot) in unreadInverses.takeAll() {
            registry[owner]?.takeIn(destination, at: slot)
        }
    }
}
