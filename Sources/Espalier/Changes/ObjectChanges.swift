// The unsaved changes of an object: new values, new destinations, changes of to-many relationships.
//
// Invariants
//   1. A clean object has no `ObjectChanges` at all, unless a transient attribute has a value. A new object has its
//      values and to-one destinations in `ManagedObject.newValues`.
//   2. Destinations are IDs, never references to objects: changed objects form no reference cycles.
//   3. A change is based on the committed row, unless `bases` says otherwise: the object has adopted a newer row since
//      (+NewerRows).
//   4. Shared changes (`isShared`) have the same values as long as they exist.

import EspalierModel
import EspalierStore

/// The unsaved values of one object.
final class ObjectChanges {
    /// All changes as one value, so that one assignment copies them.
    struct Values {
        /// New attribute values.
        var attributes = SlotValues<AttributeValue>()
        /// New destinations of to-one relationships.
        var destinations = SlotValues<ObjectID?>()
        /// Changes of to-many relationships.
        var toMany = SlotValues<ToManyChange>()
        /// To-one relationships that a merge has emptied, because the destination in the row is related to another
        /// object here.
        ///
        /// The application has not changed them, so they follow the next newer row.
        var yielded: [Int] = []
        /// The bases of changes where the store has another value since then; usually `nil`.
        var bases: ChangeBases?

        var isEmpty: Bool { attributes.isEmpty && destinations.isEmpty && toMany.isEmpty }
    }

    private var storedValues: Values
    #if DEBUG
        /// The changes; debug builds check that no access begins while a change of them lasts.
        var values: Values {
            _read { yield storedValues }
            _modify { yield &storedValues }
        }
    #else
        /// The changes, which are moved out while they change: with an access that lasts, Swift would check each one,
        /// also every read (see Decisions, "Changes of an object").
        var values: Values {
            get { storedValues }
            _modify {
                var own = Values()
                swap(&own, &storedValues)
                defer { swap(&own, &storedValues) }
                yield &own
            }
        }
    #endif
    /// Whether a checkpoint, or the object of a parent context, keeps these changes too: then they must not change any
    /// more (`ManagedObject.changeable`).
    ///
    /// A check of the reference count would give the same answer, but at each change.
    var isShared = false
    /// The row that children were shown last for shared changes: the row below with these changes; `nil` if none was.
    ///
    /// A parent context that has the same changes on the same row shows the same one to its own children.
    var shownRow: RowContent?

    init(_ values: consuming Values) { storedValues = values }

    /// Sets the value of an attribute.
    func setAttribute(_ value: consuming AttributeValue, at slot: Int) {
        // Moved out alone, which takes fewer steps than all changes.
        var attributes = SlotValues<AttributeValue>()
        swap(&attributes, &storedValues.attributes)
        attributes.set(value, at: slot)
        swap(&attributes, &storedValues.attributes)
    }

    /// Sets the destination of a to-one relationship.
    func setDestination(_ id: ObjectID?, at slot: Int) {
        var destinations = SlotValues<ObjectID?>()
        swap(&destinations, &storedValues.destinations)
        destinations.set(id, at: slot)
        swap(&destinations, &storedValues.destinations)
    }

    /// Adds a destination to a to-many relationship whose change has begun.
    func add(_ id: ObjectID, toMany slot: Int) { values.toMany.modify(slot) { $0.add(id) } }

    /// Removes a destination from a to-many relationship whose change has begun.
    func remove(_ id: ObjectID, fromMany slot: Int) { values.toMany.modify(slot) { $0.remove(id) } }

    /// Sets whether `id` is a destination of an unordered to-many relationship, given whether the store has it.
    func settle(_ id: ObjectID, toMany slot: Int, isMember: Bool, isStored: Bool) {
        values.toMany.modify(slot) { $0.settle(id, isMember: isMember, isStored: isStored) }
    }

    /// Whether these are the given values of attributes, which ascend by slot, based on the committed row, and nothing
    /// else.
    func consist(of values: [(slot: Int, value: AttributeValue)]) -> Bool {
        guard storedValues.destinations.isEmpty, storedValues.toMany.isEmpty, storedValues.yielded.isEmpty,
            storedValues.bases == nil
        else { return false }
        return storedValues.attributes.pairs.elementsEqual(values) { $0.slot == $1.slot && $0.value == $1.value }
    }

    /// Forgets all values but the to-many changes; another object keeps them from now on.
    func keepOnlyToMany() {
        (values.attributes, values.destinations, values.bases) = (SlotValues(), SlotValues(), nil)
        values.yielded = []
    }

    /// Removes the IDs of objects that no longer exist.
    func forget(_ gone: Set<ObjectID>) {
        for (slot, destination) in values.destinations.pairs {
            if let destination, gone.contains(destination) { values.destinations.set(nil, at: slot) }
        }
        for (slot, _) in values.toMany.pairs { values.toMany.modify(slot) { $0.forget(gone) } }
    }
}

/// The committed values on which changes of one object are based, for the slots whose stored value is another one now.
///
/// Immutable: objects and checkpoints share it.
final class ChangeBases {
    /// The version of the row on which the first of these changes is based.
    let version: UInt64
    let attributes: SlotValues<AttributeValue>
    let destinations: SlotValues<ObjectID?>
    /// The lists of ordered relationships.
    let lists: SlotValues<[ObjectID]>

    init(
        version: UInt64, attributes: SlotValues<AttributeValue>, destinations: SlotValues<ObjectID?>,
        lists: SlotValues<[ObjectID]>
    ) {
        (self.version, self.attributes, self.destinations, self.lists) = (version, attributes, destinations, lists)
    }
}

/// The difference between a to-many relationship and the list in the store.
struct ToManyChange {
    /// The whole new order; `nil` if `added` and `removed` describe the change.
    ///
    /// - Complexity: O(destinations), if there is a new order.
    var list: [ObjectID]? { order?.ids.ids }
    /// The whole new order, in an object of its own because most changes have none.
    private var order: Order?
    /// The stored order that `list` was made from; empty if there is no `list`.
    private(set) var base: [ObjectID] = []
    /// Whether `base` is still the list from which `order` was made: then `order` knows the difference.
    private var isFromBase = false
    /// The added destinations; to know them needs no list of the store.
    private(set) var added = ObjectIDSet()
    /// The removed destinations.
    private(set) var removed = ObjectIDSet()
    /// The number of destinations, and the `RowCache.changeCount` at which they were counted; -1 if they were not.
    private var counted = (count: 0, changeCount: -1)

    private final class Order {
        var ids: OrderedIDs
        /// The edition of what is taken out for readers (`ReachedRows.edition`) at which none of the IDs was taken out;
        /// `nil` if that is not known, as after an addition.
        ///
        /// An order and its copies are in one context, whose edition it is.
        var clearEdition: Int?

        init(_ ids: OrderedIDs, clearEdition: Int? = nil) { (self.ids, self.clearEdition) = (ids, clearEdition) }
    }

    /// Whether another context may have changed the stored list since then: the store may have an added destination
    /// already, and may no longer have a removed one.
    private(set) var isMerged = false

    /// Makes an empty change of an unordered relationship.
    init() {}

    /// Makes a new order from the stored order `base`.
    init(list: [ObjectID], base: [ObjectID]) {
        order = Order(OrderedIDs(list))
        (self.base, isFromBase) = (base, list == base)
    }

    /// Whether the whole new order is known.
    var isWhole: Bool { order != nil }

    /// Whether the whole new order is known and differs from `base`.
    ///
    /// - Complexity: O(k log n) for few changes of a list of n destinations, else O(n).
    var changesOrder: Bool {
        guard let order else { return false }
        return isFromBase ? order.ids.isChanged : order.ids.ids != base
    }

    /// Whether both have no order, or the same one, which neither has changed since it was copied.
    func hasSameOrder(as other: ToManyChange) -> Bool { order === other.order }

    /// Makes comparisons of added and removed destinations with those that there are now cost O(1).
    mutating func keepSums() {
        added.keepSum()
        removed.keepSum()
    }

    /// The difference between `base` and the new order; `nil` if there is no order, or if it is not known or long.
    var edits: OrderEdits? { isFromBase ? order.flatMap { OrderEdits($0.ids) } : nil }

    /// Adds a destination that the relationship does not have according to the object at the other end; a list that was
    /// read at another time may have it.
    mutating func add(_ id: ObjectID) {
        if isWhole {
            withOrder(adds: true) { if !$0.contains(id) { $0.append(id) } }
        } else {
            if !removed.remove(id) || isMerged { added.insert(id) }
            counted.count += 1
        }
        assert(checkInvariants())
    }

    /// Restores a destination to the place after those that it followed in `base`.
    ///
    /// - Complexity: O(destinations).
    mutating func restore(_ id: ObjectID) {
        guard let list, let place = base.firstIndex(of: id) else { return add(id) }
        let before = Set(base[..<place])
        withOrder(adds: true) { $0.insert(id, at: list.lastIndex(where: before.contains).map { $0 + 1 } ?? 0) }
    }

    /// Removes a destination that the relationship has.
    mutating func remove(_ id: ObjectID) {
        if isWhole {
            // A list that was read before its other end may not have had it: the store's list loses it all the same.
            if withOrder({ $0.remove(id) }) == false, !base.contains(id) {
                base.append(id)
                isFromBase = false
            }
        } else {
            if !added.remove(id) || isMerged { removed.insert(id) }
            counted.count -= 1
        }
        assert(checkInvariants())
    }

    /// Records that a merge may have changed the stored list.
    mutating func noteMerge() {
        isMerged = !isWhole
        counted.changeCount = -1
    }

    /// Forgets the change of one destination of an unordered relationship: the store decides whether it has it.
    mutating func follow(_ id: ObjectID) {
        added.remove(id)
        removed.remove(id)
        counted.changeCount = -1
    }

    /// Forgets the removal of a destination: the store decides whether the relationship has it.
    ///
    /// - Complexity: O(destinations), if their order is known.
    mutating func followRemoval(of id: ObjectID) {
        counted.changeCount = -1
        guard isWhole else {
            removed.remove(id)
            return
        }
        base.removeAll { $0 == id }
        isFromBase = false
    }

    /// Replaces a destination that no store knows by another one; if the order has both, `id` gets the first of the two
    /// places.
    mutating func replace(_ former: ObjectID, by id: ObjectID) {
        if isWhole {
            withOrder(adds: true) { ids in
                guard let index = ids.index(of: former) else { return }
                let place = min(index, ids.index(of: id) ?? index)
                for id in [former, id] { ids.remove(id) }
                ids.insert(id, at: place)
            }
        } else if added.remove(former) {
            noteMerge()
            removed.remove(id)
            added.insert(id)
        }
    }

    /// Sets whether `id` is a destination of an unordered relationship, regardless of earlier changes.
    mutating func settle(_ id: ObjectID, isMember: Bool, isStored: Bool) {
        assert(!isWhole, "an ordered relationship is not changed as a whole")
        follow(id)
        if isMember && !isStored { added.insert(id) }
        if !isMember && isStored { removed.insert(id) }
        assert(checkInvariants() && contains(id) == (isMember == isStored ? nil : isMember))
    }

    /// Whether `id` is a destination; `nil` if this change does not say so and the store has to be asked.
    func contains(_ id: ObjectID) -> Bool? {
        if let order { return order.ids.contains(id) }
        return added.contains(id) ? true : removed.contains(id) ? false : nil
    }

    /// The number of destinations; `nil` if the store has to be asked.
    func count(at changeCount: Int) -> Int? {
        order?.ids.count ?? (counted.changeCount == changeCount ? counted.count : nil)
    }

    /// Records the number of destinations.
    mutating func note(count: Int, at changeCount: Int) { counted = (count, changeCount) }

    /// The destination at `index`, if the whole order is known.
    func id(at index: Int) -> ObjectID? { order.flatMap { index < $0.ids.count ? $0.ids[index] : nil } }

    /// The index of a destination, if the whole order is known.
    func index(of id: ObjectID) -> Int? { order?.ids.index(of: id) }

    /// Moves a destination in a relationship whose whole order is known.
    mutating func move(from source: Int, to target: Int) {
        assert(isWhole, "a move in a relationship whose order is not known")
        withOrder { $0.move(from: source, to: target) }
    }

    /// Whether the order is known to have no destination that is taken out for readers at an edition of that.
    func hidesNothing(at edition: Int) -> Bool { order?.clearEdition == edition }

    /// Records that the order has no destination that is taken out for readers at an edition of that.
    func noteHidesNothing(at edition: Int) { order?.clearEdition = edition }

    /// Calls `body` with the whole order, if it is known; a shared order is copied first.
    ///
    /// - Parameter adds: whether `body` may add a destination, which may be one that is taken out for readers.
    @discardableResult
    private mutating func withOrder<R>(adds: Bool = false, _ body: (inout OrderedIDs) -> R) -> R? {
        if isWhole, !isKnownUniquelyReferenced(&order) {
            order = order.map { Order($0.ids, clearEdition: $0.clearEdition) }
        }
        if adds { order?.clearEdition = nil }
        return order.map { body(&$0.ids) }
    }

    /// The destinations, given the list of the store.
    ///
    /// The added ones are last, in the order of their insertion.
    func applied(to stored: [ObjectID]) -> [ObjectID] {
        if let list { return list }
        // Another context may have added the same destinations meanwhile.
        return stored.filter { !removed.contains($0) && !added.contains($0) }
            + (added.count < 2 ? added.ids : added.sorted(by: ObjectID.inOrderOfCreation))
    }

    /// Whether some of these are, or were, destinations by this change.
    func concerns(_ ids: Set<ObjectID>) -> Bool {
        [list ?? [], base, added.ids, removed.ids].contains { $0.contains(where: ids.contains) }
    }

    /// Removes the IDs of objects that no longer exist.
    mutating func forget(_ gone: Set<ObjectID>) {
        for id in gone where contains(id) == true { withOrder { $0.remove(id) } }
        let isBased =
            isFromBase
            ? gone.contains { order?.ids.originalIndex(of: $0) != nil } : base.contains(where: gone.contains)
        if isBased {
            base.removeAll(where: gone.contains)
            isFromBase = false
        }
        counted.changeCount = -1
        added = ObjectIDSet(added.lazy.filter { !gone.contains($0) })
        removed = ObjectIDSet(removed.lazy.filter { !gone.contains($0) })
        assert(checkInvariants() && !gone.contains { contains($0) == true }, "a destination that is gone stays")
    }

    /// Asserts that no destination is both added and removed; call it inside `assert`.
    func checkInvariants() -> Bool {
        assert(isWhole || base.isEmpty, "a relationship without order has a former order")
        assert(!isWhole || added.isEmpty && removed.isEmpty, "a whole order has added or removed destinations")
        if added.count + removed.count <= 32 {
            assert(!added.contains { removed.contains($0) }, "a destination is both added and removed")
        }
        return true
    }

    /// The added and removed destinations, compared with the base of the change.
    var differences: (added: [ObjectID], removed: [ObjectID]) {
        guard isWhole else { return (added.sorted(by: ObjectID.inOrderOfCreation), Array(removed)) }
        if let edits { return (edits.placed.map(\.id).filter { edits.formerIndex(of: $0) == nil }, edits.removed) }
        let list = list ?? []
        let (before, now) = (Set(base), Set(list))
        return (list.filter { !before.contains($0) }, base.filter { !now.contains($0) })
    }

    /// The same change with other IDs.
    func mapped(_ id: (ObjectID) -> ObjectID) -> ToManyChange {
        var mapped = ToManyChange()
        mapped.order = list.map { Order(OrderedIDs($0.map(id))) }
        mapped.base = base
        mapped.added = ObjectIDSet(added.map(id))
        mapped.removed = ObjectIDSet(removed.map(id))
        mapped.isMerged = isMerged
        assert(mapped.isWhole == isWhole && mapped.checkInvariants())
        return mapped
    }
}
