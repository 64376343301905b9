// Queries on a to-many relationship that a store answers without reading the list: its length, and membership.
//
// Invariants
//   1. If the list is in memory, it answers, so both queries agree with the list that a reader gets.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The number of destinations that the store holds for a to-many relationship of an object.
    func storedCount(of relationship: Relationship, for object: ManagedObject) throws(ContextError) -> Int {
        let (id, slot) = (object.storedID, relationship.slot)
        if let count = cache.count(of: id, at: slot) { return count }
        if let list = leftDestinations(of: relationship, for: id) {
            return list.count
        }
        noteTrip(.count(relationship: relationship.name), of: id)
        let count = try read(holding: id, id) { snapshot, id throws(StoreError) in
            try snapshot.destinationCount(of: relationship, for: id, limit: .max)
        }
        cohort(of: object).keep(count: count, of: id, at: slot)
        return count
    }

    /// Whether the store holds more than `limit` destinations for a to-many relationship of an object.
    func storesMore(
        than limit: Int, of relationship: Relationship, for object: ManagedObject
    ) throws(ContextError) -> Bool {
        let id = object.storedID
        if let count = cache.count(of: id, at: relationship.slot) { return count > limit }
        if let list = leftDestinations(of: relationship, for: id) {
            return list.count > limit
        }
        noteTrip(.count(relationship: relationship.name), of: id)
        return try read(holding: id, id) { snapshot, id throws(StoreError) in
            try snapshot.destinationCount(of: relationship, for: id, limit: limit + 1) > limit
        }
    }

    /// Whether the store holds `destination` as one of the destinations of a to-many relationship of an object.
    func stores(
        _ destination: ObjectID, in relationship: Relationship, of object: ManagedObject
    ) throws(ContextError) -> Bool {
        let id = object.storedID
        guard isNotNew(destination), destination.storeTag == id.storeTag else { return false }
        if relationship.isOrdered {
            if let place = cache.index(of: destination, inListOf: id, at: relationship.slot) { return place != nil }
        } else if let list = cache.list(of: id, at: relationship.slot) {
            return list.hasInKeyOrder(destination)
        }
        if let list = leftDestinations(of: relationship, for: id) {
            return list.contains(destination)
        }
        noteTrip(.membership(relationship: relationship.name), of: id)
        return try read(holding: id, id) { snapshot, id throws(StoreError) in
            try snapshot.hasDestination(destination, of: relationship, for: id)
        }
    }
}
