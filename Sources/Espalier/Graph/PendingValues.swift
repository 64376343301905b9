// Unsaved objects by attribute value, so that a fetch for one value does not test all unsaved objects.
//
// Invariants
//   1. After the queue is entered, every changed or new object that has one of the values is listed under it. Other
//      objects may be listed too: the caller tests the objects that it finds.
//   2. This index retains no object.
//   3. The index is empty until a fetch has met `countMin` unsaved objects, and after a save, a rollback or a merge.

import EspalierModel

/// The IDs of unsaved objects by attribute and value.
struct PendingValues {
    /// Fewer unsaved objects than this are tested one by one.
    static let countMin = 32
    private static let queueCountMax = 1 << 20

    /// The index of one attribute, of an entity and those that inherit from it.
    private struct Listing {
        let declaredBy: ManagedObjectModel.EntityIndex
        let slot: Int
        var ids: [AttributeValue: [ObjectID]] = [:]
        /// The value under which each object is listed.
        var values = ObjectIDTable<AttributeValue>()
        var entryCount = 0
    }

    private var listings: [Listing] = []
    /// The objects that were inserted or changed and are not entered yet.
    private(set) var queue: [ObjectID] = []
    /// Whether changes must be reported to this index.
    private(set) var isActive = false
    /// `RowCache.changeCount` when the index was begun: rows that have changed since may have other values.
    private var beginning: Int?

    /// Queues an object that was inserted or has changed.
    mutating func noteChange(of id: ObjectID) {
        if queue.last == id { return }
        queue.append(id)
        // No fetch has used the index for a long time.
        if queue.count > Self.queueCountMax { removeAll() }
    }

    /// Empties the index and makes it inactive.
    mutating func removeAll() { self = PendingValues() }

    /// Makes the index active, and empties it first if rows have changed since it was begun.
    mutating func begin(atChange count: Int) {
        if beginning != count { removeAll() }
        (beginning, isActive) = (count, true)
    }

    /// Whether objects are listed by an attribute.
    func has(_ attribute: Attribute) -> Bool { position(of: attribute) != nil }

    private func position(of attribute: Attribute) -> Int? {
        listings.firstIndex { $0.declaredBy == attribute.declaredBy && $0.slot == attribute.slot }
    }

    /// Begins the index of one more attribute; `objects` are all unsaved objects.
    mutating func list(
        _ objects: [ManagedObject], by attribute: Attribute, _ model: ManagedObjectModel
    ) throws(ContextError) {
        listings.append(Listing(declaredBy: attribute.declaredBy, slot: attribute.slot))
        do {
            for object in objects { try enter(object, listings.count - 1, model) }
        } catch {
            listings.removeLast()
            throw error
        }
    }

    /// Enters the queued objects.
    ///
    /// - Complexity: O(changes since the last time).
    mutating func enterQueued(_ registry: ObjectRegistry, _ model: ManagedObjectModel) throws(ContextError) {
        for id in queue {
            guard let object = registry[id], object.hasChanges else { continue }
            for position in listings.indices { try enter(object, position, model) }
        }
        queue.removeAll(keepingCapacity: true)
        // Objects that have changed their values often have left more stale entries than the index is worth.
        if listings.contains(where: { $0.entryCount > 4 * $0.values.count + 1024 }) { removeAll() }
    }

    private mutating func enter(
        _ object: ManagedObject, _ position: Int, _ model: ManagedObjectModel
    ) throws(ContextError) {
        assert(StepCount.note())
        let (id, slot) = (object.storedID, listings[position].slot)
        guard object.entity.isKind(of: model.entities[listings[position].declaredBy]) else { return }
        let value = try object.valueWithoutFiring(at: slot)
        guard listings[position].values[id] != value else { return }
        listings[position].values.set(value, for: id)
        listings[position].ids[value, default: []].append(id)
        listings[position].entryCount += 1
        let listing = listings[position]
        assert(listing.entryCount >= listing.values.count, "invariant 1: \(listing.values.count) objects are listed")
    }

    /// The objects that may have one of `values`.
    func ids(having values: [AttributeValue], at attribute: Attribute) -> Set<ObjectID> {
        guard let position = position(of: attribute) else { return [] }
        var found = Set<ObjectID>()
        for value in values { found.formUnion(listings[position].ids[value] ?? []) }
        return found
    }
}

extension ManagedObjectContext {
    /// The new and changed objects of `entities` that a fetch has to test.
    ///
    /// - Complexity: O(unsaved objects); if the predicate asks for values of an attribute, O(objects with these values
    ///   + changes since the last such fetch).
    func pendingCandidates(for fetch: StoreFetch, _ entities: Set<Int>) throws(ContextError) -> [ManagedObject] {
        let isMany = memory.inserted.count + memory.updated.count >= PendingValues.countMin
        guard isMany, let (slot, values) = fetch.predicate?.values(ofAttributeOf: fetch.entity) else {
            return (Array(memory.inserted) + Array(memory.updated)).filter { entities.contains($0.entity.index) }
        }
        let attribute = fetch.entity.attributes[slot]
        // Reading a value may load rows, so no access to the memory may last meanwhile.
        var pending = PendingValues()
        swap(&pending, &memory.pendingValues)
        defer {
            swap(&pending, &memory.pendingValues)
            memory.updateListeners()
        }
        pending.begin(atChange: cache.changeCount)
        try pending.enterQueued(memory.registry, model)
        if !pending.has(attribute) {
            pending.begin(atChange: cache.changeCount)
            try pending.list(Array(memory.inserted) + Array(memory.updated), by: attribute, model)
        }
        return pending.ids(having: values, at: attribute).compactMap { id in
            guard let object = memory.registry[id], object.hasChanges, entities.contains(object.entity.index) else {
                return nil
            }
            return object
        }
    }
}

extension ResolvedPredicate {
    /// An attribute of `entity` that must have one of some values for the predicate to hold; `nil` if there is none.
    fileprivate func values(ofAttributeOf entity: Entity) -> (slot: Int, values: [AttributeValue])? {
        for case .comparison(let comparison) in root.conditions {
            guard comparison.modifier == .direct, comparison.options.isEmpty,
                case .path(let path) = comparison.left, path.base == .evaluatedObject, path.steps.isEmpty,
                case .attribute(let slot, let type, elements: []) = path.terminal, type.hashesAsItCompares,
                // A derived value changes without a change of its object.
                entity.attributes[slot].derivation == nil
            else { continue }
            switch (comparison.operator, comparison.right) {
            case (.equal, .value(let value)) where type.accepts(value): return (slot, [value])
            case (.in, .values(let values)) where values.allSatisfy(type.accepts): return (slot, values)
            default: continue
            }
        }
        return nil
    }
}

extension AttributeType {
    /// Whether values of the type that are equal in a predicate are equal as keys of a dictionary.
    fileprivate var hashesAsItCompares: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .string, .uuid, .boolean: true
        default: false
        }
    }
}
