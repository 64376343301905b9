// The permanent IDs that a save assigns to its new objects, by their temporary ones.
//
// Temporary IDs are numbered in the order in which objects are created, so those of one save are mostly a range with
// few gaps: then they are in an array by number, in which neighbors are adjacent, else in a table.
//
// Invariants
//   1. An unused place of the array holds a temporary ID. If there is an array, the table has only IDs that were
//      replaced.
//   2. All rows of a save share one object with the assigned IDs, which never changes: reading it needs no check for
//      exclusive access.

internal import EspalierModel

/// The assigned IDs.
final class PermanentIDs {
    private let assigned: IDAssignment

    init(_ assigned: consuming IDAssignment) { self.assigned = assigned }

    /// The permanent ID of `id`, if `id` is temporary and was set; else `id`.
    @inline(__always)
    func permanent(_ id: ObjectID) -> ObjectID { id.isTemporary ? assigned[id] ?? id : id }

    /// The permanent ID of `temporary`, if it was set.
    @inline(__always)
    subscript(temporary: ObjectID) -> ObjectID? {
        assert(temporary.isTemporary, "\(temporary) was assigned no other ID")
        return assigned[temporary]
    }

    /// These IDs, of which some temporary ones have the ID of another row, which may be of a subentity.
    func replacing(_ replacements: [(permanent: ObjectID, temporary: ObjectID)]) -> PermanentIDs {
        var other = assigned
        for (permanent, temporary) in replacements { other.replace(permanent, for: temporary) }
        return PermanentIDs(other)
    }
}

/// Permanent IDs while they are assigned.
struct IDAssignment {
    private let first: UInt64
    private let vacant = ObjectID(storeTag: 0, entityTag: 0, key: 1)
    private var array: [ObjectID] = []
    private var table = ObjectIDTable<ObjectID>()

    /// Makes room for the temporary ones among `ids`.
    init(for ids: some Sequence<ObjectID>) {
        var (count, least, greatest) = (0, UInt64.max, UInt64.min)
        for id in ids where id.isTemporary {
            count += 1
            (least, greatest) = (min(least, id.key), max(greatest, id.key))
        }
        first = least
        guard count > 0 else { return }
        // At most four times the memory of the IDs, which is no more than the table would take.
        if greatest - least < 4 * UInt64(count) {
            array = Array(repeating: vacant, count: Int(greatest - least) + 1)
        } else {
            table.reserveCapacity(count)
        }
    }

    /// Sets the permanent ID of a temporary one; returns `false` if it has one already.
    mutating func set(_ permanent: ObjectID, for temporary: ObjectID) -> Bool {
        assert(temporary.isTemporary && !permanent.isTemporary, "\(permanent) is assigned to \(temporary)")
        guard array.isEmpty else {
            let place = Int(temporary.key - first)
            assert(place >= 0 && place < array.count, "\(temporary) is outside of the IDs with room")
            guard array[place].isTemporary else { return false }
            array[place] = permanent
            return true
        }
        let count = table.count
        table.set(permanent, for: temporary)
        return table.count > count
    }

    /// Replaces the permanent ID of a temporary one.
    fileprivate mutating func replace(_ permanent: ObjectID, for temporary: ObjectID) {
        assert(temporary.isTemporary && !permanent.isTemporary, "\(permanent) replaces the ID of \(temporary)")
        table.set(permanent, for: temporary)
        if !array.isEmpty { array[Int(temporary.key - first)] = vacant }
        assert(self[temporary] == permanent, "invariant 1: the ID that replaces that of \(temporary) is not found")
    }

    /// The permanent ID of `temporary`, if it was set.
    @inline(__always)
    subscript(temporary: ObjectID) -> ObjectID? {
        guard !array.isEmpty else { return table[temporary] }
        guard temporary.key >= first, temporary.key - first < UInt64(array.count) else { return nil }
        let permanent = array[Int(temporary.key - first)]
        return permanent.isTemporary || permanent.entityTag != temporary.entityTag ? table[temporary] : permanent
    }
}
