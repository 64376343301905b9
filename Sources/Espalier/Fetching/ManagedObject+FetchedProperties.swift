// Reading fetched properties (FR-24): the first read makes the request, later ones return its result.
//
// Invariants
//   1. A result does not follow later changes: it has the same objects in the same order until its owner is refreshed,
//      becomes a fault, or leaves memory. Only an object whose insertion is taken back leaves it.
//   2. The request sees the unsaved changes of the context and of its parents, as every fetch does (F-3).
// Not here: the condition for one object (`ResolvedFetchedProperty`), the results that are kept (`FetchedResults`).

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The objects that a fetched property finds, in the order of its request (FR-24).
    ///
    /// The request is made at the first read. Later reads return the same objects, whatever has changed since, until
    /// this object is refreshed: `refresh(_:mergesChanges:)` does that for new objects and for changed ones too. A
    /// reader that `withObservationTracking` follows is notified of that.
    ///
    /// - Throws: `ContextError.violations` if the entity has no such property; `.fetchedProperty`, which names entity
    ///   and property, if its request fails; `.contextEnded` and `.objectWithoutContext` if no context can make it;
    ///   `.objectNotFound` as `value(forKey:)`.
    /// - Complexity: that of the fetch at the first read, then O(results).
    public final func fetchedObjects(forKey key: String) throws(ContextError) -> [ManagedObject] {
        guard let property = entity.fetchedProperty(named: key) else {
            throw .violations([Violation(self, key, .unknownKey(known: entity.propertyNames))])
        }
        if isContextEnded { throw .contextEnded(storedID) }
        guard let context = managedObjectContext else { throw .objectWithoutContext(storedID) }
        noteFetchedRead()
        if let results = context.fetchedResults, let members = results.members(of: key, for: self) {
            let found = context.objects(of: members)
            // An object that was new may be saved now, or gone.
            if members.contains(where: \.isRetained) { results.keep(found, of: key, for: self) }
            return found
        }
        try requireRow()
        fireFault()
        if state.contains(.inaccessible) { return [] }
        do {
            let found = try context.requestedObjects(property, of: self)
            let results = context.fetchedResults ?? FetchedResults()
            context.fetchedResults = results
            results.keep(found, of: key, for: self)
            return found
        } catch {
            throw .fetchedProperty(key, entity: entity.name, underlying: error)
        }
    }

    /// The objects of a fetched property of a class; none, and a violation for the next save, if its request fails.
    ///
    /// For @Entity only.
    public final func _getFetched<Object: ManagedObject>(_ name: StaticString) -> [Object] {
        requireContext()
        let key = name.description
        do throws(ContextError) {
            let found = try fetchedObjects(forKey: key)
            guard let other = found.first(where: { !($0 is Object) }) else { return found.compactMap { $0 as? Object } }
            let mismatch = ContextError.wrongResultType(
                entity: other.entity.name, found: "\(type(of: other))", expected: "\(Object.self)")
            throw ContextError.fetchedProperty(key, entity: entity.name, underlying: mismatch)
        } catch {
            recordUnreadable(key, error)
            return []
        }
    }
}

extension ManagedObjectContext {
    /// Makes the request of a fetched property for one object.
    fileprivate func requestedObjects(
        _ property: FetchedPropertyDescription, of object: ManagedObject
    ) throws(ContextError) -> [ManagedObject] {
        let resolved: ResolvedFetchedProperty
        do throws(FetchPredicateError) {
            resolved = try ResolvedFetchedProperty(property, of: object.entity, in: model)
        } catch {
            throw .invalidPredicate(error)
        }
        // Delete rules may change what the condition reads from the object.
        mergeAndRunDeleteRules()
        return try fetchObjects(try resolved.terms(for: GraphSubject(object: object)))
    }

    /// The objects of a result; the faults among them that are not in memory fire together (F-2).
    fileprivate func objects(of members: [FetchedResults.Member]) -> [ManagedObject] {
        var ids: [ObjectID] = []
        for case .stored(let id) in members where memory.registry[id] == nil { ids.append(id) }
        let cohort = ids.count > 1 ? Cohort(ids, cache: cache) : nil
        var maker = ids.first.map { RowObjectMaker(self, cohort: cohort, first: $0) }
        return members.compactMap { member in
            switch member {
            case .stored(let id): memory.registry[id] ?? maker?.makeFault(id)
            case .new(let object) where object.managedObjectContext === self: object
            // It was saved and deleted since, or its insertion was taken back.
            case .new(let object): object.storedID.isTemporary ? nil : makeFault(object.storedID)
            }
        }
    }
}
