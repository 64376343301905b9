// The changes of a save to the lists of to-many relationships, computed once for every kind of store.
//
// Rules
//   1. A to-many relationship with a to-one inverse lists exactly the rows whose to-one leads to the owner; only its
//      order can be sent.
//   2. A pair of a many-to-many relationship is in the lists of both ends, or in neither.
//   3. Within one list: removals, then additions at the end, then the order that was sent. Rows in an order that are no
//      members are ignored; members that are not in it keep their places after those that are. An order with a base
//      adds and removes only what differs from the base. Edits of an order are the same change.
// Not here: the effect of deletions on lists (DeleteRules), which is applied before.

internal import EspalierModel

/// The lists of a store as they are at one moment of a save.
protocol ListSource: ~Copyable {
    /// The destinations of a to-many relationship, in order.
    func destinations(of owner: ObjectID, _ relationship: Relationship) throws(StoreError) -> [ObjectID]
    /// The pairs of a relationship without inverse that lead to some of `destinations`.
    func pairs(
        leadingTo destinations: [ObjectID], _ relationship: Relationship
    ) throws(StoreError) -> [(owner: ObjectID, destination: ObjectID)]
}

/// A list of a store: one to-many relationship of one owner.
struct ListID: Hashable {
    let relationship: RelationshipID
    let owner: ObjectID

    init(_ relationship: Relationship, of owner: ObjectID) {
        (self.relationship, self.owner) = (RelationshipID(relationship), owner)
    }
}

/// The effect of a save on the entries of one list.
struct ListEdit {
    /// The relationship, as its declaring entity has it.
    let relationship: Relationship
    private(set) var added: [ObjectID] = []
    /// May have a destination twice.
    private(set) var removed: [ObjectID] = []
    fileprivate(set) var order: SentOrder?

    fileprivate init(_ relationship: Relationship) {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        self.relationship = relationship
    }

    fileprivate mutating func add(_ id: ObjectID) { added.append(id) }
    fileprivate mutating func remove(_ id: ObjectID) { removed.append(id) }

    /// The edits of the order, if they are the whole change and `old` is the order for which they were made.
    ///
    /// - Complexity: O(n) for the comparison; O(1) if the sender has read the very array.
    func edits(of old: [ObjectID]) -> PermanentOrderEdits? {
        guard let edits = order?.edits, edits.list.original == old, Set(added) == Set(edits.added),
            Set(removed) == Set(edits.removed)
        else { return nil }
        return edits
    }

    /// The list after this edit (rule 3).
    ///
    /// Unordered lists are in ascending key order.
    ///
    /// - Complexity: O(n).
    func applied(to old: [ObjectID]) -> [ObjectID] {
        if let edits = edits(of: old) { return edits.ids }
        assert(StepCount.note(old.count))
        let gone = Set(removed)
        var list = gone.isEmpty ? old : old.filter { !gone.contains($0) }
        var members = Set(list)
        for id in added where members.insert(id).inserted { list.append(id) }
        guard relationship.isOrdered else {
            return list.sorted { $0.key < $1.key }
        }
        guard let order = order?.ids else { return list }
        var placed = Set<ObjectID>(minimumCapacity: order.count)
        let front = order.filter { members.contains($0) && placed.insert($0).inserted }
        return front + list.filter { !placed.contains($0) }
    }
}

/// All lists that a save changes.
struct LinkPlan {
    /// One destination that is added to a list: two IDs of the store.
    struct Link {
        let ownerKey: UInt64
        let destinationKey: UInt64
        let ownerTag: UInt32
        let destinationTag: UInt32

        init(owner: ObjectID, destination: ObjectID) {
            (ownerKey, destinationKey) = (owner.key, destination.key)
            (ownerTag, destinationTag) = (owner.entityTag, destination.entityTag)
        }
    }

    /// The links that to-one values of new rows add to unordered lists: most changes that an import makes to lists.
    ///
    /// For each relationship, in the order of owners and destinations. These lists need no edits of their own, which
    /// would take three arrays and an entry of a table for each owner.
    private(set) var additions: [(relationship: Relationship, links: [Link])] = []
    /// All other changes; each list once, in the order in which the save first changes it.
    private(set) var edits: [(key: ListID, value: ListEdit)] = []
    /// For each relationship, the positions in `edits` by owner; relationships are few, so they are searched one by
    /// one.
    private var places: [(relationship: RelationshipID, byOwner: ObjectIDTable<Int>)] = []
    private let model: ManagedObjectModel
    private let storeTag: UInt32

    /// Computes the edits of `save`.
    ///
    /// - Parameters:
    ///   - updated: the positions in `save.updates`, and the stored rows, of all updates that change destinations.
    init<Source: ListSource & ~Copyable>(
        _ save: PreparedSave, schema: StoreSchema, updated: [(position: Int, row: ObjectSnapshot)],
        source: borrowing Source
    ) throws(StoreError) {
        (model, storeTag) = (schema.model, save.storeTag)
        addNewRows(save, schema)
        for position in additions.indices { Self.sort(&additions[position].links) }
        for (position, row) in updated where !save.updates[position].destinations.isEmpty {
            let update = save.updates[position]
            assert(update.id == row.id, "the row of update \(position) is another one")
            let entity = model.entities[schema.entityIndex(of: update.id)]
            for (slot, destination) in update.destinations {
                follow(entity.relationships[slot], of: update.id, from: row.destination(at: slot), to: destination)
            }
        }
        for change in save.listChanges { try apply(change, source) }
        assert(checkInvariants())
    }

    /// Asserts that each list is in the plan once and can be found, and that additions are in order; to be called in
    /// `assert`.
    private func checkInvariants() -> Bool {
        assert(Set(edits.map(\.key)).count == edits.count, "a list is edited twice")
        for (position, edit) in edits.enumerated() {
            let place = places.first { $0.relationship == edit.key.relationship }?.byOwner[edit.key.owner]
            assert(place == position, "the list of \(edit.key.owner) is not found")
        }
        for (relationship, links) in additions {
            assert(relationship.isToMany && !relationship.isOrdered, "additions to \(relationship.name)")
            let isInOrder = zip(links, links.dropFirst()).allSatisfy {
                ($0.ownerKey, $0.destinationKey) <= ($1.ownerKey, $1.destinationKey)
            }
            assert(isInOrder, "additions to \(relationship.name) are not in the order of their keys")
        }
        return true
    }

    /// Notes the change of a to-one relationship in the lists of its to-many inverse.
    private mutating func follow(_ relationship: Relationship, of id: ObjectID, from old: ObjectID?, to new: ObjectID?)
    {
        guard old != new, !relationship.isToMany, let inverse = model.inverse(of: relationship), inverse.isToMany
        else { return }
        if let old { edit(inverse, old) { $0.remove(id) } }
        if let new { edit(inverse, new) { $0.add(id) } }
    }

    private mutating func apply<Source: ListSource & ~Copyable>(
        _ change: PreparedSave.ListChange, _ source: borrowing Source
    ) throws(StoreError) {
        let inverse = model.inverse(of: change.relationship)
        if let inverse, !inverse.isToMany {
            assert(change.relationship.isOrdered, "more than the order of a derived list is sent")
            edit(change.relationship, change.owner) { $0.order = change.order }
            return
        }
        var (added, removed) = (change.added, change.removed)
        if let edits = change.order?.edits {
            (added, removed) = (edits.added, edits.removed)
        } else if let order = change.order?.ids {
            let current =
                if let base = change.orderBase { base } else {
                    try source.destinations(of: change.owner, change.relationship)
                }
            (added, removed) = PreparedSave.ListChange.differences(from: current, to: order)
        }
        edit(change.relationship, change.owner) { edit in
            for id in removed { edit.remove(id) }
            for id in added { edit.add(id) }
            if change.order != nil { edit.order = change.order }
        }
        guard let inverse else { return }
        for id in removed { edit(inverse, id) { $0.remove(change.owner) } }
        for id in added { edit(inverse, id) { $0.add(change.owner) } }
    }

    /// The additions as edits too, for a store that treats them alike.
    consuming func allEdits() -> [(key: ListID, value: ListEdit)] {
        for (relationship, links) in additions {
            for link in links {
                let destination = ObjectID(
                    storeTag: storeTag, entityTag: link.destinationTag, key: link.destinationKey)
                edit(relationship, ObjectID(storeTag: storeTag, entityTag: link.ownerTag, key: link.ownerKey)) {
                    $0.add(destination)
                }
            }
        }
        assert(checkInvariants())
        return edits
    }

    /// Notes the links that to-one relationships of new rows add to lists.
    private mutating func addNewRows(_ save: PreparedSave, _ schema: StoreSchema) {
        var entity: ManagedObjectModel.EntityIndex?
        // For adjacent rows of one entity: slots, and the positions of their links in `additions`.
        var slots: [(slot: Int, addition: Int)] = []
        var ordered: [(slot: Int, inverse: Relationship)] = []
        for position in save.ids.indices {
            let id = save.ids[position]
            if entity != schema.entityIndex(of: id) {
                entity = schema.entityIndex(of: id)
                (slots, ordered) = ([], [])
                for (slot, inverse) in schema.listedToOnes[schema.entityIndex(of: id)] {
                    if inverse.isOrdered {
                        ordered.append((slot, inverse))
                    } else {
                        slots.append((slot, addition(across: inverse, countMax: save.ids.count)))
                    }
                }
            }
            for (slot, addition) in slots {
                guard let owner = save.destination(at: slot, ofInsertion: position) else { continue }
                assert(!owner.isTemporary, "\(owner) has no permanent ID")
                additions[addition].links.append(Link(owner: owner, destination: id))
            }
            for (slot, inverse) in ordered {
                guard let owner = save.destination(at: slot, ofInsertion: position) else { continue }
                assert(!owner.isTemporary, "\(owner) has no permanent ID")
                edit(inverse, owner) { $0.add(id) }
            }
        }
    }

    /// The position of a relationship's links in `additions`; relationships are few, so they are searched one by one.
    private mutating func addition(across relationship: Relationship, countMax: Int) -> Int {
        if let position = additions.firstIndex(where: { $0.relationship === relationship }) { return position }
        assert(relationship.isToMany && !relationship.isOrdered, "\(relationship.name) has edits of its own")
        additions.append((relationship, []))
        // Unused capacity is never touched.
        additions[additions.count - 1].links.reserveCapacity(countMax)
        return additions.count - 1
    }

    /// Sorts links by owner and destination.
    private static func sort(_ links: inout [Link]) {
        func isInOrder(_ left: Link, _ right: Link) -> Bool {
            (left.ownerKey, left.destinationKey) < (right.ownerKey, right.destinationKey)
        }
        guard let first = links.first else { return }
        // Rows are mostly in the order of their keys, and the keys of their owners in a range with few gaps: then each
        // link is moved to its place at once, without comparisons (Decisions, "Sorting links").
        var (least, greatest, ascends) = (first.ownerKey, first.ownerKey, true)
        for position in 1..<links.count {
            (least, greatest) = (min(least, links[position].ownerKey), max(greatest, links[position].ownerKey))
            ascends = ascends && links[position - 1].destinationKey < links[position].destinationKey
        }
        guard ascends, greatest - least < 4 * UInt64(links.count) else { return links.sort(by: isInOrder) }
        var ends = [Int](repeating: 0, count: Int(greatest - least) + 1)
        for link in links { ends[Int(link.ownerKey - least)] += 1 }
        for owner in ends.indices.dropFirst() { ends[owner] += ends[owner - 1] }
        var sorted = [Link](repeating: first, count: links.count)
        for link in links.reversed() {
            let owner = Int(link.ownerKey - least)
            ends[owner] -= 1
            sorted[ends[owner]] = link
        }
        assert(ends.first == 0, "the links of the least owner are not first")
        links = sorted
    }

    private mutating func edit(_ relationship: Relationship, _ owner: ObjectID, _ change: (inout ListEdit) -> Void) {
        assert(!owner.isTemporary && owner.storeTag == storeTag, "\(owner) is no row of this store")
        let id = RelationshipID(relationship)
        let table = places.firstIndex { $0.relationship == id } ?? places.count
        if table == places.count { places.append((id, ObjectIDTable())) }
        if let place = places[table].byOwner[owner] { return change(&edits[place].value) }
        places[table].byOwner.set(edits.count, for: owner)
        edits.append((ListID(relationship, of: owner), ListEdit(relationship)))
        change(&edits[edits.count - 1].value)
    }
}
