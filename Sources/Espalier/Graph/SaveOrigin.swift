// The objects from which a request was frozen: a parent context uses their rows and changes without a copy of each.
//
// Invariants
//   1. The updates of a request are those of changed objects, in the order of `changes.updated`, and then those of
//      deleted ones. The deletions are those of `changes.deleted`, in this order.
//   2. The objects still have the changes that the request writes, until the source has answered.

import EspalierModel
import EspalierStore

/// The context that sends a request to its source, as far as the request is made of it.
struct SaveOrigin {
    let changes: ChangeSet
    /// The generation that the context reads.
    let generation: ReadGeneration

    /// The changed object of each update of the request that was frozen here; `nil` for those of deleted objects.
    ///
    /// - Complexity: O(updates and changed objects).
    func updatedObjects(of request: SaveRequest) -> [ManagedObject?] {
        var objects: [ManagedObject?] = []
        objects.reserveCapacity(request.updates.count)
        var next = 0
        for position in request.updates.indices {
            let id = request.updates[position].id
            while next < changes.updated.count, changes.updated[next].storedID != id { next += 1 }
            objects.append(next < changes.updated.count ? changes.updated[next] : nil)
            next += 1
        }
        assert(request.deletions.count == changes.deleted.count, "invariant 1: \(request.deletions.count) deletions")
        return objects
    }

    /// The row of each object of the request's updates and deletions, in this order, as far as it is in memory.
    ///
    /// - Parameter updated: the changed objects of the updates.
    func rows(_ updated: [ManagedObject?]) -> [ObjectSnapshot?] {
        var rows: [ObjectSnapshot?] = []
        rows.reserveCapacity(updated.count + changes.deleted.count)
        for object in updated { rows.append(object?.row) }
        for object in changes.deleted { rows.append(object.row) }
        return rows
    }
}
