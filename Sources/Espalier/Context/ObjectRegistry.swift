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
    /// The object that was entered last and is not in the table yet: where objects come and go one by one, as in a walk
    /// through a store, none ever gets there, a sixth of the walk.
    private var newest: (id: ObjectID, object: Unretained<ManagedObject>)?

    /// How many objects there are.
    var count: Int { table.count + (newest == nil ? 0 : 1) }

    @inline(__always)
    private func entry(_ id: ObjectID) -> Unretained<ManagedObject>? {
        if let newest, newest.id == id { return newest.object }
        return table[id]
    }

    /// The object with this ID.
    ///
    /// - Complexity: O(1).
    @inline(__always)
    subscript(id: ObjectID) -> ManagedObject? { entry(id)?.object }

    /// Calls `body` with the object with this ID, if there is one, which must not end meanwhile: it is not retained.
    @inline(__always)
    func withObject<R>(_ id: ObjectID, _ body: (ManagedObject) -> R) -> R? { entry(id)?.withObject(body) }

    /// Enters an object whose ID is not entered yet.
    mutating func insert(_ object: ManagedObject) {
        let id = object.storedID
        if let newest {
            let count = table.count
            table.set(newest.object, for: newest.id)
            precondition(table.count > count && id != newest.id, "two objects for one ID")
        }
        newest = (id, Unretained(object))
    }

    /// Makes room for as many objects in all.
    mutating func reserveCapacity(_ count: Int) { table.reserveCapacity(count) }

    /// Gives an object its permanent ID, under which none is entered yet.
    mutating func rename(_ object: ManagedObject, _ id: ObjectID) {
        let former = object.storedID
        guard former != id else { return }
        object.storedID = id
        if newest?.id != former, table.move(former, to: id) { return }
        // The newest one is not in the table, and a hook may have made the context forget its objects.
        remove(former)
        insert(object)
    }

    /// Takes out the object with this ID, if there is one.
    @inline(__always)
    mutating func remove(_ id: ObjectID) {
        if let newest, newest.id == id {
            self.newest = nil
        } else {
            table.remove(id)
        }
    }

    /// Calls `body` with each object, in no particular order.
    ///
    /// No object may end meanwhile: none is retained.
    func forEach(_ body: (ManagedObject) -> Void) {
        for entry in table.allValues { entry.withObject(body) }
        newest?.object.withObject(body)
    }

    /// All objects, in no particular order.
    var objects: [ManagedObject] {
        let objects = table.allValues.compactMap(\.object)
        return newest?.object.object.map { objects + [$0] } ?? objects
    }
}
