// The storage of both kinds of live collection: a to-many relationship of an object, or objects without an owner.
//
// Invariants
//   1. For a relationship only its owner and its slot are stored. Each access computes its answer anew, so all copies
//      agree. Copies of a collection without owner share its objects.
//   2. A collection without owner has each object once.

import EspalierModel

/// The members of a live collection.
struct Members {
    /// Objects that belong to no relationship, for example those of a literal.
    final class Loose {
        var objects: [ManagedObject] = []

        init(_ objects: some Sequence<ManagedObject>) {
            var seen = Set<ManagedObject>()
            self.objects = objects.filter { seen.insert($0).inserted }
        }
    }

    enum Source {
        case relationship(of: ManagedObject, slot: Int)
        case loose(Loose)
    }

    let source: Source

    /// The to-many relationship `slot` of `owner`.
    init(of owner: ManagedObject, slot: Int) { source = .relationship(of: owner, slot: slot) }

    /// Objects that belong to no relationship.
    init(_ objects: some Sequence<ManagedObject>) { source = .loose(Loose(objects)) }

    // MARK: Reading

    var count: Int {
        switch source {
        case .loose(let loose): return loose.objects.count
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.shownCount(at: slot)
        }
    }

    var isEmpty: Bool {
        switch source {
        case .loose(let loose): return loose.objects.isEmpty
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.showsNoDestinations(at: slot)
        }
    }

    func contains(_ object: ManagedObject) -> Bool {
        switch source {
        case .loose(let loose): return loose.objects.contains(object)
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.isInContext(of: object)
                && owner.isLinked(to: object, across: owner.entity.relationships[slot])
                && !owner.hides(object.storedID, at: slot)
        }
    }

    var ids: [ObjectID] {
        switch source {
        case .loose(let loose): return loose.objects.map(\.storedID)
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.shownDestinationIDs(at: slot)
        }
    }

    /// The object at `index`; `nil` if `index` is out of range.
    subscript(index: Int) -> ManagedObject? {
        switch source {
        case .loose(let loose): return loose.objects.indices.contains(index) ? loose.objects[index] : nil
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            guard let context = owner.managedObjectContext else {
                owner.requireContext()
                return nil
            }
            guard let id = owner.shownDestinationID(at: index, inOrder: slot) else { return nil }
            return context.object(for: id, from: owner, across: owner.entity.relationships[slot])
        }
    }

    func index(of object: ManagedObject) -> Int? {
        switch source {
        case .loose(let loose): return loose.objects.firstIndex(of: object)
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            guard owner.isInContext(of: object) else { return nil }
            return owner.shownIndex(of: object.storedID, inOrder: slot)
        }
    }

    // MARK: Writing

    /// Appends objects that are not members yet.
    func add(_ objects: [ManagedObject]) {
        switch source {
        case .loose(let loose): loose.objects += objects.filter { !loose.objects.contains($0) }
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.addDestinations(objects, at: slot) }
        }
    }

    func remove(_ objects: [ManagedObject]) {
        switch source {
        case .loose(let loose): loose.objects.removeAll { objects.contains($0) }
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.removeDestinations(objects, at: slot) }
        }
    }

    /// Makes `objects` the only members.
    func replaceAll(with objects: [ManagedObject]) {
        switch source {
        case .loose(let loose): loose.objects = Loose(objects).objects
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.setDestinations(objects, at: slot) }
        }
    }

    func insert(_ objects: [ManagedObject], at index: Int) {
        switch source {
        case .loose(let loose):
            guard index >= 0, index <= loose.objects.count else { return }
            let new = Loose(objects).objects.filter { !loose.objects.contains($0) }
            loose.objects.insert(contentsOf: new, at: index)
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.insertDestinations(objects, at: index, inOrder: slot) }
        }
    }

    func move(from source: Int, to target: Int) {
        switch self.source {
        case .loose(let loose):
            guard loose.objects.indices.contains(source), loose.objects.indices.contains(target) else { return }
            loose.objects.insert(loose.objects.remove(at: source), at: target)
        case .relationship(let owner, let slot):
            change(owner, slot, []) { owner.moveDestination(from: source, to: target, inOrder: slot) }
        }
    }

    func remove(at index: Int) {
        switch source {
        case .loose(let loose):
            if loose.objects.indices.contains(index) { loose.objects.remove(at: index) }
        case .relationship(let owner, let slot):
            change(owner, slot, []) { owner.removeDestination(at: index, inOrder: slot) }
        }
    }

    /// Changes a relationship; the next save of the owner's context, or of that of `objects`, reports a refusal.
    private func change(
        _ owner: ManagedObject, _ slot: Int, _ objects: [ManagedObject], _ body: () -> Violation.Reason?
    ) {
        guard let reason = body() else { return }
        owner.requireContext()
        (owner.reportingContext ?? objects.lazy.compactMap(\.managedObjectContext).first)?
            .record(Violation(owner, owner.entity.relationships[slot].name, reason))
    }
}

/// Iterates over the members at the time of `init`, and makes each object when the iteration reaches it.
///
/// Unsaved objects are retained, because their IDs change when they are saved.
struct MemberWalk {
    private let ids: [ObjectID]
    private let objects: [ManagedObject]
    private var unsaved: [(position: Int, object: ManagedObject)] = []
    private var nextUnsaved = 0
    private var position = 0
    private var way: (context: ManagedObjectContext, owner: ManagedObject, relationship: Relationship)?

    init(over members: Members) {
        guard case .relationship(let owner, let slot) = members.source else {
            if case .loose(let loose) = members.source { objects = loose.objects } else { objects = [] }
            ids = []
            return
        }
        objects = []
        guard let context = owner.managedObjectContext else {
            owner.requireContext()
            ids = []
            return
        }
        owner.noteRead(.relationship(slot))
        let relationship = owner.entity.relationships[slot]
        (ids, way) = (owner.shownDestinationIDs(at: slot), (context, owner, relationship))
        guard owner.changes?.values.toMany.contains(slot) == true else { return }
        for (position, id) in ids.enumerated() where id.isTemporary {
            unsaved.append((position, context.object(for: id, from: owner, across: relationship)))
        }
    }

    mutating func next() -> ManagedObject? {
        defer { position += 1 }
        guard let way else { return position < objects.count ? objects[position] : nil }
        if nextUnsaved < unsaved.count, unsaved[nextUnsaved].position == position {
            defer { nextUnsaved += 1 }
            return unsaved[nextUnsaved].object
        }
        guard position < ids.count else { return nil }
        return way.context.object(for: ids[position], from: way.owner, across: way.relationship)
    }
}
