// Unsaved objects by attribute value and by to-one destination, so that a fetch for one value or for a range of values
// does not test all unsaved objects.
//
// Invariants
//   1. After the queue is entered, every changed or new object that has one of the values is listed under it. Other
//      objects may be listed too: the caller tests the objects that it finds.
//   2. Values are compared as predicates compare them (`UniqueValue`): NaN equals itself, and 0 equals -0. A
//      destination is listed even if it is deleted: a deletion can be taken back without a change of the objects that
//      lead there.
//   3. This index retains no object.
//   4. All ranges of one property in a predicate are looked up as the one range that is in all of them: half of all
//      objects may be on the right side of each end.
//   5. The index is empty until a fetch has met `countMin` unsaved objects, and after a save, a rollback or a merge.
//   6. While a fetch reads values for the index, which may call the application, a stand-in notes what changes. A fetch
//      or a save by the application in the meantime takes the place of the stand-in, and the index is dropped.

import EspalierModel
import EspalierStore
import FoundationEssentials

/// The IDs of unsaved objects by property and value.
struct PendingValues {
    /// A property, named by the entity that declares it.
    struct Key: Hashable {
        let declaredBy: ManagedObjectModel.EntityIndex
        let property: Entity.Property
    }

    /// A condition that holds only for objects with some values of a property.
    struct Condition {
        /// The values.
        enum Values {
            case oneOf([AttributeValue])
            /// A range with its ends; `nil` = no end, but null is in no range.
            case range(from: AttributeValue?, to: AttributeValue?)
        }

        let key: Key
        let values: Values
    }

    /// Fewer unsaved objects than this are tested one by one.
    static let countMin = 32
    private static let queueCountMax = 1 << 20

    /// The index of one property, of an entity and those that inherit from it.
    private struct Listing {
        let key: Key
        var ids: [UniqueValue: [ObjectID]] = [:]
        /// The value under which each object is listed.
        var values = ObjectIDTable<UniqueValue>()
        /// The same in the order of the values; `nil` if no fetch has asked for a range.
        var runs: ValueRuns?
        var entryCount = 0

        init(key: Key) { self.key = key }

        /// Lists an object under its value, if that is another one than before.
        mutating func enter(_ id: ObjectID, _ value: UniqueValue) {
            guard values[id] != value else { return }
            values.set(value, for: id)
            ids[value, default: []].append(id)
            runs?.insert(value.value, of: id)
            entryCount += 1
            assert(entryCount >= values.count, "invariant 1: \(values.count) objects are listed")
        }

        /// The objects that may have some values, and their number; an object may be counted several times.
        mutating func objects(with wanted: Condition.Values) -> (count: Int, ids: () -> Set<ObjectID>) {
            switch wanted {
            case .oneOf(let wanted):
                let lists = wanted.compactMap { ids[UniqueValue($0)] }
                return (lists.reduce(0) { $0 + $1.count }, { Set(lists.joined()) })
            case .range(let lower, let upper):
                if runs == nil {
                    var all = ValueRuns()
                    values.forEach { id, value in all.insert(value.value, of: id) }
                    runs = all
                }
                let slices = runs?.entries(from: lower, to: upper) ?? []
                let present = values
                return (
                    slices.reduce(0) { $0 + $1.count },
                    {
                        let entries = slices.joined().lazy.filter { present[$0.id] == UniqueValue($0.value) }
                        return Set(entries.map(\.id))
                    }
                )
            }
        }
    }

    private var listings: [Listing] = []
    /// The objects that were inserted or changed and are not entered yet.
    private(set) var queue: [ObjectID] = []
    /// Whether changes must be reported to this index.
    private(set) var isActive = false
    /// Whether this is a stand-in, which only notes changes (invariant 6).
    private(set) var isStandIn = false
    /// `RowCache.changeCount` when the index was begun: rows that have changed since may have other values.
    private var beginning: Int?

    /// An index that notes changes while another one reads values.
    static var standIn: PendingValues {
        var index = PendingValues()
        (index.isActive, index.isStandIn) = (true, true)
        return index
    }

    /// Queues what a stand-in has noted.
    mutating func takeChanges(of standIn: inout PendingValues) {
        assert(standIn.isStandIn && !isStandIn, "\(standIn.queue.count) changes are taken from an index itself")
        queue += standIn.queue
        standIn.queue.removeAll()
    }

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

    /// Whether objects are listed by a property.
    func has(_ key: Key) -> Bool { position(of: key) != nil }

    private func position(of key: Key) -> Int? { listings.firstIndex { $0.key == key } }

    /// Begins the index of one more property; `objects` are all unsaved objects that have it.
    mutating func list(
        _ objects: [ManagedObject], by key: Key, _ model: ManagedObjectModel
    ) throws(ContextError) {
        listings.append(Listing(key: key))
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
        let (id, key) = (object.storedID, listings[position].key)
        guard object.entity.isKind(of: model.entities[key.declaredBy]) else { return }
        listings[position].enter(id, UniqueValue(try object.keptValue(of: key.property)))
    }

    /// The objects that may fulfil the condition which fewest may fulfil; the properties of all conditions are listed.
    mutating func ids(fulfilling conditions: [Condition]) -> Set<ObjectID> {
        var least: (count: Int, ids: () -> Set<ObjectID>)?
        for condition in conditions {
            guard let position = position(of: condition.key) else { continue }
            let found = listings[position].objects(with: condition.values)
            if let least, least.count <= found.count { continue }
            least = found
        }
        assert(StepCount.note(least?.count ?? 0))
        return least?.ids() ?? []
    }
}

extension ManagedObjectContext {
    /// The new and changed objects that a fetch has to test.
    ///
    /// - Complexity: O(unsaved objects of the fetch's entities); if the predicate asks for values or ranges of
    ///   properties, O(objects with the values of one of them), and O(log n) for each change since the last such fetch.
    func pendingCandidates(for fetch: StoreFetch) throws(ContextError) -> [ManagedObject] {
        let family = fetch.family
        let isMany = memory.inserted.count(of: family) + memory.updated.count(of: family) >= PendingValues.countMin
        let conditions = isMany ? fetch.predicate?.conditionsOnValues(of: fetch.entity) ?? [] : []
        if conditions.isEmpty { return pendingObjects(of: family) }
        // Reading a value may load rows, so no access to the memory may last meanwhile.
        var pending = PendingValues.standIn
        swap(&pending, &memory.pendingValues)
        memory.updateListeners()
        defer {
            if memory.pendingValues.isStandIn {
                pending.takeChanges(of: &memory.pendingValues)
                swap(&pending, &memory.pendingValues)
            }
            memory.updateListeners()
        }
        pending.begin(atChange: cache.changeCount)
        try pending.enterQueued(memory.registry, model)
        for condition in conditions where !pending.has(condition.key) {
            pending.begin(atChange: cache.changeCount)
            let declaring = model.entities[condition.key.declaredBy]
            try pending.list(pendingObjects(of: declaring.family), by: condition.key, model)
        }
        // An object that the application has changed meanwhile may have another value than the one that is listed.
        guard memory.pendingValues.isStandIn, memory.pendingValues.queue.isEmpty else {
            return pendingObjects(of: family)
        }
        let entities = Set(family)
        return pending.ids(fulfilling: conditions).compactMap { id in
            guard let object = memory.registry[id], object.hasChanges, entities.contains(object.entity.index) else {
                return nil
            }
            return object
        }
    }

    /// The new and changed objects of some entities.
    private func pendingObjects(of family: [ManagedObjectModel.EntityIndex]) -> [ManagedObject] {
        memory.inserted.objects(of: family) + memory.updated.objects(of: family)
    }
}

extension ResolvedPredicate {
    /// Whether the predicate asks for values of a property by which a store finds rows without reading all.
    func asksIndexedValues(of entity: Entity) -> Bool {
        conditionsOnValues(of: entity).contains { condition in
            guard case .oneOf = condition.values else { return false }
            switch condition.key.property {
            case .relationship(let slot): return entity.relationships[slot].inverse != nil
            case .attribute(let slot):
                let name = entity.attributes[slot].name
                return entity.indexes.contains { $0.elements.first?.property == name && $0.predicateFormat == nil }
                    || entity.uniquenessConstraints.contains { $0.first == name }
            }
        }
    }

    /// The conditions, all of which must hold, that a property of an `entity` has one of some values or is in a range.
    fileprivate func conditionsOnValues(of entity: Entity) -> [PendingValues.Condition] {
        let conditions = root.conditions.compactMap { node -> PendingValues.Condition? in
            guard case .comparison(let comparison) = node, comparison.modifier == .direct, comparison.options.isEmpty,
                case .path(let path) = comparison.left, let key = PendingValues.Key(path, of: entity)
            else { return nil }
            let values: PendingValues.Condition.Values
            switch (comparison.operator, comparison.right) {
            case (.equal, .value(let value)): values = .oneOf([value])
            case (.in, .values(let members)): values = .oneOf(members)
            case (.lessThan, .value(let value)), (.lessThanOrEqual, .value(let value)):
                values = .range(from: nil, to: value)
            case (.greaterThan, .value(let value)), (.greaterThanOrEqual, .value(let value)):
                values = .range(from: value, to: nil)
            case (.between, .values(let bounds)) where bounds.count == 2:
                values = .range(from: bounds[0], to: bounds[1])
            default: return nil
            }
            return key.lists(values, of: entity) ? PendingValues.Condition(key: key, values: values) : nil
        }
        return conditions.withOneRangeOfEach
    }
}

extension [PendingValues.Condition] {
    /// The same conditions, with one range for all ranges of a property.
    ///
    /// - Complexity: O(conditions).
    fileprivate var withOneRangeOfEach: [PendingValues.Condition] {
        var (result, positions): ([PendingValues.Condition], [PendingValues.Key: Int]) = ([], [:])
        for condition in self {
            guard case .range(let lower, let upper) = condition.values, let position = positions[condition.key],
                case .range(let otherLower, let otherUpper) = result[position].values
            else {
                if case .range = condition.values { positions[condition.key] = result.count }
                result.append(condition)
                continue
            }
            result[position] = PendingValues.Condition(
                key: condition.key,
                values: .range(
                    from: Self.end(lower, otherLower, .orderedDescending),
                    to: Self.end(upper, otherUpper, .orderedAscending)))
        }
        return result
    }

    /// The one of two ends of ranges that is in this order to the other one; `nil` = no end.
    private static func end(
        _ left: AttributeValue?, _ right: AttributeValue?, _ order: ComparisonResult
    ) -> AttributeValue? {
        guard let left else { return right }
        guard let right else { return left }
        return left.compare(right) == order ? left : right
    }
}

extension PendingValues.Key {
    /// The attribute or to-one relationship of the tested object at which a path ends; `nil` if it leads on, or if the
    /// value may change without a change of the object.
    fileprivate init?(_ path: ResolvedKeyPath, of entity: Entity) {
        guard path.base == .evaluatedObject else { return nil }
        switch (path.steps.count, path.terminal) {
        case (0, .attribute(let slot, _, elements: [])):
            let attribute = entity.attributes[slot]
            guard attribute.derivation == nil else { return nil }
            self.init(declaredBy: attribute.declaredBy, property: .attribute(slot))
        case (1, .object) where !path.steps[0].isToMany:
            let relationship = entity.relationships[path.steps[0].slot]
            self.init(declaredBy: relationship.declaredBy, property: .relationship(relationship.slot))
        default: return nil
        }
    }

    /// Whether all objects that have one of `values` are listed under it.
    ///
    /// An object whose destination is deleted has none, but is listed under the deleted one.
    fileprivate func lists(_ values: PendingValues.Condition.Values, of entity: Entity) -> Bool {
        switch (property, values) {
        case (.attribute(let slot), .oneOf(let values)):
            let type = entity.attributes[slot].type
            return type.hashesAsItCompares && values.allSatisfy(type.accepts)
        case (.attribute(let slot), .range): return entity.attributes[slot].type.hasRanges
        case (.relationship, .oneOf(let values)):
            return values.allSatisfy { if case .objectID = $0 { true } else { false } }
        case (.relationship, .range): return false
        }
    }
}

extension AttributeType {
    /// Whether values of the type that are equal in a predicate have equal hashes as unique values.
    fileprivate var hashesAsItCompares: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .string, .uuid, .boolean, .date, .double, .float: true
        default: false
        }
    }

    /// Whether applications ask for ranges of values of the type.
    fileprivate var hasRanges: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .string, .date, .double, .float, .decimal: true
        default: false
        }
    }
}
