// The storage of both kinds of live collection: a to-many relationship of an object, or objects without an owner.
//
// Invariants
//   1. For a relationship only its owner and its slot are stored. Each access computes its answer anew, so all copies
//      agree. Copies of a collection without owner share its objects (`LooseMembers`).

import EspalierModel

/// The members of a live collection.
struct Members {
    enum Source {
        case relationship(of: ManagedObject, slot: Int)
        case loose(LooseMembers)
    }

    let source: Source

    /// The to-many relationship `slot` of `owner`.
    init(of owner: ManagedObject, slot: Int) { source = .relationship(of: owner, slot: slot) }

    /// Objects that belong to no relationship.
    init(_ objects: some Sequence<ManagedObject>) { source = .loose(LooseMembers(objects)) }

    // MARK: Reading

    var count: Int {
        switch source {
        case .loose(let loose): return loose.count
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.shownCount(at: slot)
        }
    }

    var isEmpty: Bool {
        switch source {
        case .loose(let loose): return loose.isEmpty
        case .relationship(let owner, let slot):
            owner.noteRead(.relationship(slot))
            if owner.managedObjectContext == nil { owner.requireContext() }
            return owner.showsNoDestinations(at: slot)
        }
    }

    func contains(_ object: ManagedObject) -> Bool {
        switch source {
        case .loose(let loose): return loose.contains(object)
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
        case .loose(let loose): return loose.object(at: index)
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

    /// The reason why there is no object at `index`, for the message of a program that stops.
    func reasonForNone(at index: Int) -> String {
        guard case .relationship(let owner, let slot) = source else {
            return "index \(index) is out of range for \(count) objects"
        }
        guard let context = owner.managedObjectContext else {
            return ContextError.objectWithoutContext(owner.storedID).description
        }
        let (name, count) = (owner.entity.relationships[slot].name, self.count)
        let unread = context.recordedViolations.last { violation in
            if case .unreadable = violation.reason {
                violation.object == owner.storedID && violation.property == name
            } else {
                false
            }
        }
        if count == 0, let unread { return unread.description }
        return "index \(index) is out of range for the \(count) destinations of \(name), of \(owner.storedID)"
    }

    func index(of object: ManagedObject) -> Int? {
        switch source {
        case .loose(let loose): return loose.index(of: object)
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
        case .loose(let loose): loose.add(objects)
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.addDestinations(objects, at: slot) }
        }
    }

    func remove(_ objects: [ManagedObject]) {
        switch source {
        case .loose(let loose): loose.remove(objects)
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.removeDestinations(objects, at: slot) }
        }
    }

    /// Makes `objects` the only members.
    func replaceAll(with objects: [ManagedObject]) {
        switch source {
        case .loose(let loose): loose.replaceAll(with: objects)
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.setDestinations(objects, at: slot) }
        }
    }

    func insert(_ objects: [ManagedObject], at index: Int) {
        switch source {
        case .loose(let loose): loose.insert(objects, at: index)
        case .relationship(let owner, let slot):
            change(owner, slot, objects) { owner.insertDestinations(objects, at: index, inOrder: slot) }
        }
    }

    /// Makes `object` the member at `index`, unless it is a member.
    func replace(at index: Int, with object: ManagedObject) {
        switch source {
        case .loose(let loose): loose.replace(at: index, with: object)
        case .relationship(let owner, let slot):
            change(owner, slot, [object]) { owner.replaceDestination(at: index, with: object, inOrder: slot) }
        }
    }

    func move(from source: Int, to target: Int) {
        switch self.source {
        case .loose(let loose): loose.move(from: source, to: target)
        case .relationship(let owner, let slot):
            change(owner, slot, []) { owner.moveDestination(from: source, to: target, inOrder: slot) }
        }
    }

    func remove(at index: Int) {
        switch source {
        case .loose(let loose): loose.remove(at: index)
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
