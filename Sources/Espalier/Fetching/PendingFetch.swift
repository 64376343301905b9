// How unsaved changes join a fetch, so that its result is what it would be after saving (F-3, MC-18, MC-19).
//
// Invariants
//   1. Offset and limit are applied once, after stored rows and unsaved objects are in one order.
//   2. If only objects of the fetched entity have changed, the store still searches. It is asked for as many more rows
//      as there are changed objects; those are removed from its answer and tested in memory.
//   3. If the predicate or a sort key crosses a relationship to a changed object, every row is tested in memory: any
//      stored row may match now, or match no longer.
//   4. Among objects that are equal in all sort keys, stored ones come first, by key, and then new ones by insertion:
//      the order after saving.

import EspalierModel
import EspalierStore
import FoundationEssentials

extension ManagedObjectContext {
    /// What of the unsaved changes concerns a fetch.
    enum PendingChanges {
        /// Nothing: the store's answer is the answer.
        case none
        /// Only these objects of the fetched entity.
        case own([ManagedObject])
        /// These, and others that the predicate or order looks at.
        case related([ManagedObject])
    }

    func pendingChanges(for fetch: StoreFetch, _ includesPendingChanges: Bool) -> PendingChanges {
        guard includesPendingChanges, hasChanges else { return .none }
        let changed = changedObjects
        let wanted = fetch.includesSubentities ? Set(fetch.entity.family) : [fetch.entity.index]
        let own = changed.filter { wanted.contains($0.entity.index) }
        var touched = TouchedEntities(model)
        if let predicate = fetch.predicate { touched.add(predicate.root) }
        for key in fetch.sort { touched.add(key.path) }
        if !touched.roots.isEmpty, changed.contains(where: { touched.roots.contains($0.entity.root) }) {
            return .related(own)
        }
        return own.isEmpty ? .none : .own(own)
    }

    /// Stored and unsaved objects that match, in one order.
    func merged(_ fetch: StoreFetch, _ pending: PendingChanges) throws(ContextError) -> [ManagedObject] {
        var wider = fetch
        wider.offset = 0
        let changed: [ManagedObject]
        switch pending {
        case .none:
            changed = []
            wider.limit = fetch.limit(widenedBy: 0)
        case .own(let own):
            changed = own
            wider.limit = fetch.limit(widenedBy: own.count)
        case .related(let own):
            changed = own
            wider = StoreFetch(entity: fetch.entity, includesSubentities: fetch.includesSubentities)
        }
        var candidates: [ManagedObject] = []
        for rows in try storedRows(wider) { candidates += materialized(rows) }
        if !changed.isEmpty {
            let changedObjects = Set(changed)
            candidates.removeAll { changedObjects.contains($0) }
        }
        let isTestedInStore = if case .related = pending { false } else { true }
        var matching = isTestedInStore ? candidates : try candidates.filtered(by: fetch.predicate)
        matching += try changed.filter { !$0.isDeleted }.filtered(by: fetch.predicate)
        return Array(try inOrder(matching, fetch.sort).dropFirst(fetch.offset).prefix(fetch.limit ?? .max))
    }

    private func inOrder(
        _ objects: [ManagedObject], _ keys: [ResolvedSortKey]
    ) throws(ContextError) -> [ManagedObject] {
        var entries: [(object: ManagedObject, values: [AttributeValue])] = []
        entries.reserveCapacity(objects.count)
        for object in objects {
            var values: [AttributeValue] = []
            for key in keys { values.append(try key.value(of: GraphSubject(object: object))) }
            entries.append((object, values))
        }
        entries.sort { left, right in
            for (position, key) in keys.enumerated() {
                let order = left.values[position].compare(right.values[position], options: key.options)
                if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
            }
            return ObjectID.inOrderOfCreation(left.object.storedID, right.object.storedID)
        }
        return entries.map(\.object)
    }
}

extension StoreFetch {
    /// How many rows a store has to give before offset and limit are applied, and some more; `nil` = all.
    fileprivate func limit(widenedBy count: Int) -> Int? {
        guard let limit else { return nil }
        let (sum, overflows) = limit.addingReportingOverflow(offset)
        let (wider, overflowsAgain) = sum.addingReportingOverflow(count)
        return overflows || overflowsAgain ? nil : wider
    }
}

extension [ManagedObject] {
    fileprivate func filtered(by predicate: ResolvedPredicate?) throws(ContextError) -> [ManagedObject] {
        guard let predicate else { return self }
        var result: [ManagedObject] = []
        for object in self where try predicate.evaluate(on: GraphSubject(object: object)) { result.append(object) }
        return result
    }
}

/// An object as predicates and sort keys see it: with its unsaved values, and without firing its fault.
struct GraphSubject: PredicateSubject {
    let object: ManagedObject

    var objectID: ObjectID { object.storedID }
    var entity: Entity { object.entity }

    func value(at slot: Int) throws(ContextError) -> AttributeValue {
        if let value = object.unsavedAttribute(at: slot) { return value }
        return try loadedRow()?.value(at: slot) ?? .null
    }

    func destinationID(at slot: Int) throws(ContextError) -> ObjectID? {
        if let destination = object.unsavedDestinationID(at: slot) { return destination }
        return try loadedRow()?.destination(at: slot)
    }

    func destination(at slot: Int) throws(ContextError) -> GraphSubject? {
        guard let id = try destinationID(at: slot), let context = object.managedObjectContext else { return nil }
        let destination = context.object(for: id, from: object, across: entity.relationships[slot])
        // A reference to an object that is gone is as good as none.
        if destination.isFault && !destination.hasRow { try context.loadRow(of: destination) }
        let isGone = destination.isDeleted || (!destination.hasRow && !destination.isInserted)
        return isGone ? nil : GraphSubject(object: destination)
    }

    func destinationIDs(at slot: Int) throws(ContextError) -> [ObjectID] { object.destinationIDs(at: slot) }

    func stopEvaluation(_ error: FetchPredicateError) throws(ContextError) { throw .invalidPredicate(error) }

    func destinations(at slot: Int) throws(ContextError) -> [GraphSubject] {
        object.destinations(at: slot).filter { !$0.isDeleted }.map(GraphSubject.init)
    }

    private func loadedRow() throws(ContextError) -> ObjectSnapshot? {
        if let row = object.row { return row }
        guard object.isFault, let context = object.managedObjectContext else { return nil }
        try context.loadRow(of: object)
        return object.row
    }
}

/// The hierarchies whose objects a predicate or sort key looks at, beyond the object it tests.
private struct TouchedEntities {
    private let model: ManagedObjectModel
    private(set) var roots = Set<ManagedObjectModel.EntityIndex>()

    init(_ model: ManagedObjectModel) { self.model = model }

    mutating func add(_ path: ResolvedKeyPath) {
        for step in path.steps { roots.insert(model.entities[step.destination].root) }
    }

    mutating func add(_ node: ResolvedPredicate.Node) {
        switch node {
        case .constant: break
        case .comparison(let comparison):
            add(comparison.left)
            add(comparison.right)
        case .and(let nodes), .or(let nodes): for node in nodes { add(node) }
        case .not(let node): add(node)
        }
    }

    private mutating func add(_ expression: ResolvedExpression) {
        switch expression {
        case .value, .values: break
        case .list(let elements): for element in elements { add(element) }
        case .path(let path): add(path)
        case .aggregate(_, let element): add(element)
        case .function(_, let arguments): for argument in arguments { add(argument) }
        case .conditional(let condition, let first, let second):
            add(condition.node)
            add(first)
            add(second)
        case .subquery(let collection, _, let condition):
            add(collection)
            add(condition.node)
        }
    }
}
