// The order of objects in memory: the counterpart of sorting an array with sort descriptors.
//
// Invariants
//   1. The order is the one in which a fetch with the same sort keys returns the objects; only here a key may also be a
//      transient attribute, of which no store has values.

public import EspalierModel

extension Sequence where Element: ManagedObject {
    /// The objects in the order of sort keys, the most significant one first, with their unsaved values (FR-26).
    ///
    /// ```swift
    /// let byLength = try album.tracks.sorted(by: [SortKey("seconds", ascending: false), SortKey("name")])
    /// ```
    ///
    /// Objects that are equal in all keys are in the order of their creation, as in a fetch. A key may be a transient
    /// attribute, which a fetch refuses (PX-10); only such a key fires faults.
    ///
    /// - Throws: `ContextError.invalidPredicate` if a key does not fit the entity of an object;
    ///   `.objectWithoutContext` and `.contextEnded`; `.store` if a row cannot be read.
    /// - Complexity: O(n log n) for n objects, if their rows are in memory.
    public func sorted(by keys: [SortKey]) throws(ContextError) -> [Element] {
        let objects = Array(self)
        var reading = ObjectReading()
        var resolved: [ObjectIdentifier: [ResolvedSortKey]] = [:]
        // Directions and options are the same for every entity.
        var order: [ResolvedSortKey] = []
        var sorted: [(object: SortedObject, position: Int)] = []
        sorted.reserveCapacity(objects.count)
        for (position, object) in objects.enumerated() {
            let context = try reading.context(of: object)
            let entity = ObjectIdentifier(object.entity)
            if let known = resolved[entity] {
                order = known
            } else {
                order = try ResolvedSortKey.inMemory(keys, for: object.entity, in: context.model)
                resolved[entity] = order
            }
            sorted.append((try SortedObject(object, order), position))
        }
        sorted.sort { $0.object.precedes($1.object, order) }
        return sorted.map { objects[$0.position] }
    }
}

extension ResolvedSortKey {
    /// Sort keys for objects of an entity that are in memory.
    fileprivate static func inMemory(
        _ keys: [SortKey], for entity: Entity, in model: ManagedObjectModel
    ) throws(ContextError) -> [ResolvedSortKey] {
        var resolved: [ResolvedSortKey] = []
        do throws(FetchPredicateError) {
            for key in keys { resolved.append(try ResolvedSortKey(inMemory: key, for: entity, in: model)) }
        } catch {
            throw .invalidPredicate(error)
        }
        return resolved
    }
}
