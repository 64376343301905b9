// The permanent IDs that a save gives to its new objects, by their temporary ones.
//
// Temporary IDs are numbered as objects are made, so those of one save are mostly a stretch of numbers with few gaps:
// an array by number then, in which neighbours lie side by side, else a table.
//
// Invariants
//   1. A place of the array that nobody has holds a temporary ID. If there is an array, the table has only IDs that
//      were replaced.

internal import EspalierModel

/// A class: all rows of a save come across it.
final class PermanentIDs {
    private let first: UInt64
    private let nobody = ObjectID(storeTag: 0, entityTag: 0, key: 1)
    private var array: [ObjectID] = []
    private var table = ObjectIDTable<ObjectID>()

    /// Room for the temporary ones among `ids`.
    init(for ids: some Sequence<ObjectID>) {
        var (count, least, greatest) = (0, UInt64.max, UInt64.min)
        for id in ids where id.isTemporary {
            count += 1
            (least, greatest) = (min(least, id.key), max(greatest, id.key))
        }
        first = least
        guard count > 0 else { return }
        // At most four times the memory that is needed, and then not more than the table would take.
        if greatest - least < 4 * UInt64(count) {
            array = Array(repeating: nobody, count: Int(greatest - least) + 1)
        } else {
            table.reserveCapacity(count)
        }
    }

    /// Sets the permanent ID of one of the IDs; returns `false` if it has one already.
    func set(_ permanent: ObjectID, for temporary: ObjectID) -> Bool {
        guard array.isEmpty else {
            let place = Int(temporary.key - first)
            guard array[place].isTemporary else { return false }
            array[place] = permanent
            return true
        }
        let count = table.count
        table.set(permanent, for: temporary)
        return table.count > count
    }

    /// Replaces the permanent ID of one of the IDs by that of a row which may be of a subentity.
    func replace(_ permanent: ObjectID, for temporary: ObjectID) {
        table.set(permanent, for: temporary)
        if !array.isEmpty { array[Int(temporary.key - first)] = nobody }
    }

    /// The ID that the row has which `id` names, if it is temporary and was set; else `id`.
    @inline(__always)
    func permanent(_ id: ObjectID) -> ObjectID { id.isTemporary ? self[id] ?? id : id }

    /// The permanent ID of `temporary`, if it was set.
    @inline(__always)
    subscript(temporary: ObjectID) -> ObjectID? {
        guard !array.isEmpty else { return table[temporary] }
        guard temporary.key >= first, temporary.key - first < UInt64(array.count) else { return nil }
        let permanent = array[Int(temporary.key - first)]
        return permanent.isTemporary || permanent.entityTag != temporary.entityTag ? table[temporary] : permanent
    }
}
