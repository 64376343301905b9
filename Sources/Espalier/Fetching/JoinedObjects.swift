// The objects of a fetch that unsaved changes join, or that several stores answer: one by one, in one order.
//
// Invariants
//   1. One batch of each store is held, and the objects that are tested in memory: those with unsaved changes, and
//      those that lead to changed ones.
//   2. The rows of objects that are tested in memory are left out of the stores' answers. These
//      objects are determined at the beginning: later changes add none, and remove only deleted ones.
//   3. The first batch of each store is read at the beginning, so that rows which are inserted later are in none.
//   4. The application may add and remove stores between two objects: each batch looks up the store that it is from.

import EspalierModel
import EspalierStore
import FoundationEssentials

/// An object, and the values by which a fetch sorts it.
struct SortedObject {
    let object: ManagedObject
    private let values: [AttributeValue]

    /// The object with the values that it has in memory.
    init(_ object: ManagedObject, _ keys: [ResolvedSortKey]) throws(ContextError) {
        try self.init(object, keys, of: GraphSubject(object: object))
    }

    /// The object with the values of `subject`: the object itself, or its row.
    init<Subject: PredicateSubject>(
        _ object: ManagedObject, _ keys: [ResolvedSortKey], of subject: Subject
    ) throws(ContextError) where Subject.Failure == ContextError {
        assert(subject.objectID == object.storedID, "\(object.storedID) is sorted by the values of another object")
        var values: [AttributeValue] = []
        for key in keys { values.append(try key.value(of: subject)) }
        (self.object, self.values) = (object, values)
    }

    /// Whether the object comes before another one; objects with equal values are in the order of their creation.
    func precedes(_ other: SortedObject, _ keys: [ResolvedSortKey]) -> Bool {
        for (position, key) in keys.enumerated() {
            let order = values[position].compare(other.values[position], options: key.options)
            if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
        }
        return ObjectID.inOrderOfCreation(object.storedID, other.object.storedID)
    }

    /// The objects in the order of a fetch.
    static func inOrder(
        _ objects: [ManagedObject], _ keys: [ResolvedSortKey]
    ) throws(ContextError) -> [SortedObject] {
        var sorted: [SortedObject] = []
        sorted.reserveCapacity(objects.count)
        for object in objects { sorted.append(try SortedObject(object, keys)) }
        sorted.sort { $0.precedes($1, keys) }
        return sorted
    }
}

/// A walk over the objects of a fetch without offset and limit.
struct JoinedObjects {
    /// The objects of one store, or those that are tested in memory.
    private struct Source {
        /// The tag of the store that answers; `nil` for a parent, and for objects that are tested in memory.
        var storeTag: UInt32?
        /// The rows that were not read yet; `nil` if there are none.
        var rest: StoreFetch?
        /// The objects that come next, in order.
        var objects: ArraySlice<SortedObject> = []
    }

    private let context: ManagedObjectContext
    private let terms: FetchTerms
    private let keys: [ResolvedSortKey]
    private let batchSize: Int
    /// Whether unsaved changes join the rows.
    private let hasPending: Bool
    /// The rows of objects that are tested in memory.
    private let excluded: Set<ObjectID>
    private var sources: [Source] = []

    /// - Parameter pending: the unsaved changes that affect the fetch; `nil` = the rows of the stores are the result.
    init(
        _ fetch: StoreFetch, _ pending: PendingChanges?, _ terms: FetchTerms, batchSize: Int,
        in context: ManagedObjectContext
    ) throws(ContextError) {
        assert(fetch.offset == 0 && fetch.limit == nil, "offset and limit need all objects")
        (self.context, self.terms, self.batchSize, keys) = (context, terms, batchSize, fetch.sort)
        hasPending = pending != nil
        let pending = pending ?? PendingChanges()
        let changed = pending.changedCount > 0 ? context.changedRows(in: fetch.family) : []
        excluded = Set(changed + pending.leadingRows + pending.tested.map(\.storedID))
        // Hooks of objects that are read may change the list of stores.
        let tags = try context.positions(for: fetch).map { context.generation.parts[$0].part.storeTag }
        for tag in tags {
            sources.append(Source(storeTag: tag, rest: fetch))
            try fill(sources.count - 1)
        }
        let tested = try context.matching(fetch, pending)
        try context.prepare(tested, for: terms)
        sources.append(Source(objects: try SortedObject.inOrder(tested, keys)[...]))
    }

    /// The next object; `nil` after the last one.
    mutating func next() throws(ContextError) -> ManagedObject? {
        var first: (index: Int, object: SortedObject)?
        for index in sources.indices {
            try fill(index)
            guard let object = sources[index].objects.first else { continue }
            // Among equal ones that of the first source is first.
            if let first, !object.precedes(first.object, keys) { continue }
            first = (index, object)
        }
        guard let first else { return nil }
        sources[first.index].objects.removeFirst()
        return first.object.object
    }

    /// Reads batches of a store until there is an object, or no row is left.
    private mutating func fill(_ index: Int) throws(ContextError) {
        let batchSize = batchSize
        while sources[index].objects.isEmpty, let next = sources[index].rest {
            let position = try context.position(ofStore: sources[index].storeTag, for: next)
            let batch = try context.read(position, next) { snapshot, next throws(StoreError) in
                try snapshot.fetchBatch(next, of: batchSize)
            }
            sources[index].rest = batch.rest
            try context.followCascades(forBatchOf: next, terms)
            var objects = context.materialized(batch.rows, leavesOutReached: terms.includesPendingChanges)
            if hasPending { objects.removeAll { excluded.contains($0.storedID) } }
            try context.prepare(objects, for: terms)
            // The store has the order of the rows; values are needed to find the place of each among other objects.
            let sorted = try SortedObject.asStored(
                objects, of: batch.rows, keys, readsDestinations: !hasPending && context.holdsChanges, in: context)
            sources[index].objects = sorted[...]
        }
    }
}

extension ManagedObjectContext {
    /// Makes objects adopt the newest values, and loads their contents, as a request asks for it.
    func prepare(_ objects: [ManagedObject], for terms: FetchTerms) throws(ContextError) {
        refresh(objects, for: terms)
        try loadRequestedContents(objects, terms)
    }
}
