// Uniquing: which object stands for an ID in this context (MO-18).
//
// Invariants
//   1. At most one object per ID; an object is entered under its current ID only.
//   2. The registry keeps no object alive: an object takes itself out in `deinit`, before its memory is freed. Context
//      and objects share one isolation region, so nothing looks an object up while another thread destroys it.

import EspalierModel

/// The objects of a context by ID.
struct ObjectRegistry {
    private var table = ObjectIDTable<Unretained<ManagedObject>>()

    var count: Int { table.count }

    /// The object with this ID.
    ///
    /// - Complexity: O(1).
    @inline(__always)
    subscript(id: ObjectID) -> ManagedObject? { table[id]?.object }

    /// Calls `body` with the object with this ID, if there is one, which must not end meanwhile: it is not retained.
    @inline(__always)
    func withObject<R>(_ id: ObjectID, _ body: (ManagedObject) -> R) -> R? { table[id]?.withObject(body) }

    /// Enters an object whose ID is not entered yet.
    mutating func insert(_ object: ManagedObject) {
        let count = table.count
        table.set(Unretained(object), for: object.storedID)
        precondition(table.count > count, "two objects for one ID")
    }

    /// Makes room for as many objects in all.
    mutating func reserveCapacity(_ count: Int) { table.reserveCapacity(count) }

    /// Gives an object its permanent ID, under which none is entered yet.
    mutating func rename(_ object: ManagedObject, _ id: ObjectID) {
        guard object.storedID != id else { return }
        let isMoved = table.move(object.storedID, to: id)
        object.storedID = id
        // A hook may have made the context forget its objects.
        if !isMoved { insert(object) }
    }

    /// Takes out the object with this ID, if there is one.
    mutating func remove(_ id: ObjectID) { table.remove(id) }

    /// Calls `body` with each object, in no particular order.
    ///
    /// No object may end meanwhile: none is retained.
    func forEach(_ body: (ManagedObject) -> Void) { for entry in table.allValues { entry.withObject(body) } }

    /// All objects, in no particular order.
    var objects: [ManagedObject] { table.allValues.compactMap(\.object) }
}
