// The changed objects that a save writes, as lists in a fixed order.

import EspalierModel

/// The changed objects of a context at one moment.
struct ChangeSet {
    /// New objects, in the order of their insertion: the store assigns keys in this order.
    var inserted: [ManagedObject]
    /// Stored objects with changes.
    var updated: [ManagedObject]
    /// Stored objects to delete.
    var deleted: [ManagedObject]

    init(_ context: ManagedObjectContext) {
        func ordered(_ objects: ChangedObjects) -> [ManagedObject] {
            var list: [ManagedObject] = []
            list.reserveCapacity(objects.count)
            var isInOrder = true
            for object in objects {
                if let last = list.last, !ObjectID.inOrderOfCreation(last.storedID, object.storedID) {
                    isInOrder = false
                }
                list.append(object)
            }
            guard !isInOrder else { return list }
            // Sorting the IDs along with the objects spares two reference counts per comparison.
            var ids = list.map { (id: $0.storedID, object: $0) }
            ids.sort { ObjectID.inOrderOfCreation($0.id, $1.id) }
            return ids.map(\.object)
        }
        inserted = ordered(context.memory.inserted)
        updated = ordered(context.memory.updated)
        deleted = ordered(context.memory.deleted)
    }

    var all: FlattenSequence<[[ManagedObject]]> { [inserted, updated, deleted].joined() }
    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// Whether both have the same objects in the same lists, in the same order.
    func hasSameObjects(as other: ChangeSet) -> Bool {
        inserted.elementsEqual(other.inserted, by: ===) && updated.elementsEqual(other.updated, by: ===)
            && deleted.elementsEqual(other.deleted, by: ===)
    }

    /// The change set of only those objects that satisfy `isWanted`.
    func filter(_ isWanted: (ManagedObject) -> Bool) -> ChangeSet {
        var part = self
        part.inserted.removeAll { !isWanted($0) }
        part.updated.removeAll { !isWanted($0) }
        part.deleted.removeAll { !isWanted($0) }
        return part
    }
}
