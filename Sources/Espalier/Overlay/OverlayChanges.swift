// The unsaved changes of a parent context as values, which its children read on top of the stores.
//
// Invariants
//   1. All IDs are permanent: a parent gives its new objects their IDs before its children read them.
//   2. Two rows of one object that children see at the same version are equal. So a child finds out, as with a store,
//      whether the parent has changed an object since the child read it.

import EspalierModel
import EspalierStore

/// A to-many relationship with unsaved changes.
struct OverlayList: Sendable, Equatable {
    /// The whole list of an ordered relationship; `nil` for an unordered one.
    var order: [ObjectID]?
    /// The destinations that an unordered relationship has in addition to the stored ones.
    var added: Set<ObjectID> = []
    /// The stored destinations that an unordered relationship has lost.
    var removed: Set<ObjectID> = []

    /// The destinations, given the stored ones.
    func applied(to stored: [ObjectID]) -> [ObjectID] {
        if let order { return order }
        let list = stored.filter { !removed.contains($0) && !added.contains($0) } + added
        return list.sorted { $0.key < $1.key }
    }
}

/// A new, changed or deleted object of the parent.
struct OverlayEntry: Sendable {
    enum Kind: Sendable { case inserted, updated, deleted }

    let kind: Kind
    /// The values; `nil` if the object is deleted, or only lists of it have changed.
    let row: ObjectSnapshot?
    /// The changed to-many relationships, by slot.
    let lists: [Int: OverlayList]
}

/// All new, changed and deleted objects of a parent.
struct OverlayChanges: Sendable {
    /// The version at which children see a row that the parent has saved.
    struct SavedVersion: Sendable {
        /// The version of the row in the parent's source.
        let stored: UInt64
        /// The version at which children have read these values before the parent saved them.
        let shown: UInt64
    }

    /// The objects of each hierarchy, by the index of its root entity.
    private(set) var entries: [SharedIDTable<OverlayEntry>]
    private(set) var count = 0
    /// The number of deleted objects.
    private(set) var deletedCount = 0
    var savedVersions = SharedIDTable<SavedVersion>()

    init(entityCount: Int) { entries = Array(repeating: SharedIDTable(), count: entityCount) }

    /// Whether rows and lists of the stores are shown as they are.
    var isEmpty: Bool { count == 0 && savedVersions.isEmpty }

    /// Prepares for this number of objects of a hierarchy, if there is none yet.
    mutating func reserveCapacity(_ count: Int, root: Int) { entries[root].reserveCapacity(count) }

    func entry(_ id: ObjectID, root: Int) -> OverlayEntry? { count == 0 ? nil : entries[root][id] }

    /// Replaces the entry of an object, which is `former`, or removes it.
    mutating func replace(_ former: OverlayEntry?, by entry: OverlayEntry?, for id: ObjectID, root: Int) {
        if let entry {
            entries[root].set(entry, for: id)
        } else if former != nil {
            entries[root].remove(id)
        }
        count += (entry == nil ? 0 : 1) - (former == nil ? 0 : 1)
        deletedCount += (entry?.kind == .deleted ? 1 : 0) - (former?.kind == .deleted ? 1 : 0)
        assert(count >= 0 && deletedCount >= 0 && deletedCount <= count, "\(deletedCount) of \(count) are deleted")
    }

    /// Removes all entries; the versions of saved rows stay.
    mutating func removeAllEntries() {
        for root in entries.indices where !entries[root].isEmpty { entries[root] = SharedIDTable() }
        (count, deletedCount) = (0, 0)
    }
}

extension ObjectSnapshot {
    /// Whether both have the same values and destinations.
    func hasSameContent(as other: ObjectSnapshot, of entity: Entity) -> Bool {
        id == other.id && entity.attributes.indices.allSatisfy { value(at: $0) == other.value(at: $0) }
            && entity.relationships.indices.allSatisfy { destination(at: $0) == other.destination(at: $0) }
    }

    /// The same values at another version, or without some destinations.
    func copy(
        of entity: Entity, version: UInt64, destination isShown: (ObjectID) -> Bool = { _ in true }
    ) -> ObjectSnapshot {
        var hidden: [(slot: Int, id: ObjectID?)] = []
        for slot in entity.relationships.indices {
            if let id = destination(at: slot), !isShown(id) { hidden.append((slot, nil)) }
        }
        return ObjectSnapshot(self, of: entity, version: version, attributes: [], destinations: hidden)
    }
}
