// The changed objects that a save writes, as lists in a fixed order, and their values at one moment.

import EspalierModel
import EspalierStore
import FoundationEssentials

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

/// The unsaved values of a change set at one moment, to find out later whether hooks have set others.
///
/// Transient values do not count: no store gets them.
struct ChangedValues {
    /// The values of new and of changed objects, shared with them until they change (`ManagedObject.changeable`).
    private let objects: [(object: ManagedObject, newValues: RowValues?, changes: ObjectChanges?)]

    /// - Complexity: O(changed objects); no value is copied.
    init(_ changes: ChangeSet) {
        objects = changes.all.map { object in
            object.newValues?.share()
            object.changes?.isShared = true
            return (object, object.newValues, object.changes)
        }
    }

    /// Whether the objects still have these values, set again or not.
    ///
    /// - Complexity: O(changed objects, and values of those for which some value was set).
    var areStillThose: Bool {
        objects.allSatisfy { object, newValues, changes in
            object.hasSameNewValues(as: newValues) && object.hasSameChanges(as: changes)
        }
    }
}

extension ManagedObject {
    fileprivate func hasSameNewValues(as former: RowValues?) -> Bool {
        guard let newValues, let former else { return newValues == nil && former == nil }
        if newValues.isSame(as: former) { return true }
        return newValues.destinations == former.destinations
            && entity.attributes.allSatisfy { attribute in
                attribute.isTransient
                    || newValues.attribute(at: attribute.slot).isSame(as: former.attribute(at: attribute.slot))
            }
    }

    fileprivate func hasSameChanges(as former: ObjectChanges?) -> Bool {
        if changes === former { return true }
        let (now, before) = (changes?.values ?? .init(), former?.values ?? .init())
        func stored(_ values: ObjectChanges.Values) -> [(slot: Int, value: AttributeValue)] {
            values.attributes.pairs.filter { !entity.attributes[$0.slot].isTransient }
        }
        return stored(now).elementsEqual(stored(before)) { now, former in
            now.slot == former.slot && now.value.isSame(as: former.value)
        }
            && now.destinations.pairs.elementsEqual(before.destinations.pairs) { $0 == $1 }
            && now.toMany.pairs.elementsEqual(before.toMany.pairs) { now, former in
                now.slot == former.slot && now.value.hasSameDestinations(as: former.value)
            }
    }
}

extension ToManyChange {
    fileprivate func hasSameDestinations(as other: ToManyChange) -> Bool {
        isWhole || other.isWhole
            ? list == other.list : Set(added) == Set(other.added) && Set(removed) == Set(other.removed)
    }
}

extension AttributeValue {
    /// Whether a store would keep the same for both: unlike `==`, also for what is no number.
    fileprivate func isSame(as other: AttributeValue) -> Bool {
        switch (self, other) {
        case (.double(let one), .double(let other)): one == other || one.isNaN && other.isNaN
        case (.float(let one), .float(let other)): one == other || one.isNaN && other.isNaN
        case (.decimal(let one), .decimal(let other)): one == other || one.isNaN && other.isNaN
        case (.date(let one), .date(let other)):
            one == other || one.timeIntervalSinceReferenceDate.isNaN && other.timeIntervalSinceReferenceDate.isNaN
        case (.composite(let one), .composite(let other)):
            one.count == other.count
                && one.allSatisfy { name, value in other[name].map { value.isSame(as: $0) } ?? false }
        default: self == other
        }
    }
}
