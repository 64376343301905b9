// Delete rules, applied to the rows of the store at the time of the save and to the changes of the save (MC-13 to
// MC-16, F-7): the same for every kind of store.
//
// Rules
//   1. Nullify empties the to-one at the other end, cascade deletes the rows there, and so on. Many-to-many pairs and
//      links without inverse are removed with either end; to-one values without inverse are emptied when their
//      destination is deleted.
//   2. A row that the save itself relates elsewhere, or deletes, is no longer a destination; a destination that the
//      same request gives to a deleted row is one.
//   3. `deny` and `noAction`, and relationships that must not be empty, are checked at the end: a destination that is
//      deleted in the same save, by any rule, is no reason against it.
//   4. A deleted row is not changed any more: its updates in the request are dropped.
// Invariants
//   1. A list that is emptied row by row is read from a file in batches, and never held as a whole: a cascade needs
//      a bit for each deleted row, a step for each list that the request's own deletions empty, and those of one batch
//      for each level below. A list with the rule `deny` and no to-one inverse is an exception: its destinations are
//      held until they are checked at the end.
//   2. An update in the request is never executed here, but amended (`cleared`): its version is checked only later.
//
// To-one relationships without inverse have no tree that leads back: a save that deletes rows to which such a
// relationship may lead reads all rows that have it, once.

internal import EspalierModel

/// The consequences of one save's deletions.
struct DeleteRules {
    /// A step that is still to be done.
    private enum Step {
        /// Rows to delete.
        case rows([ObjectID])
        /// A list whose destinations are to be deleted.
        case list(ObjectID, Relationship)
    }

    /// Deleted rows, in the lists of the rows to which they lead across one relationship.
    private struct Links {
        let list: Relationship
        var pairs: [(owner: ObjectID, destination: ObjectID)] = []
    }

    /// A condition that is checked after all writes.
    private enum DeferredCheck {
        /// The list of a deleted row must be empty.
        case list(ObjectID, Relationship)
        /// None of these destinations may be left: the relationship of the deleted row denies the deletion.
        case denied(ObjectID, Relationship, [ObjectID])
        /// A row must not lead to a deleted one.
        case leads(ObjectID, Relationship, to: ObjectID)
        /// A row must lead somewhere else than to a deleted one.
        case required(ObjectID, Relationship, instead: ObjectID)
    }

    /// The number of rows of the request that are deleted at a time: in larger batches more removed links are adjacent.
    private static let requestBatch = 16_384
    /// The most conflicts that are reported.
    private static let conflictCountMax = 1000

    private let schema: StoreSchema
    /// The positions of the request's updates, by ID of the row.
    private var updates: [ObjectID: Int] = [:]
    /// The additions and removals of the request in lists, if a deleted row may be at either end.
    private var requested = RequestedPairs()
    private let save: PreparedSave
    private var steps: [Step] = []
    private var deferredChecks: [DeferredCheck] = []
    /// The rows that are deleted, by the request or by rules.
    private(set) var gone = RowSet()
    /// The rows that have changed and are not deleted: a to-one value is empty, or a list is shorter.
    private(set) var changed = RowSet()
    /// To-one relationships that updates of the request have to empty in addition: positions and slots.
    private(set) var cleared: [(position: Int, slot: Int)] = []

    init(_ save: PreparedSave, schema: StoreSchema) {
        (self.save, self.schema) = (save, schema)
        guard !save.deletions.isEmpty else { return }
        for position in save.updates.indices { updates[save.updates[position].id] = position }
        assert(updates.count == save.updates.count, "a row is updated twice")
        for change in save.listChanges {
            requested.note(change, inverse: schema.model.inverse(of: change.relationship))
        }
    }

    private var model: ManagedObjectModel { schema.model }

    /// Deletes these rows, and applies the rules of all relationships that lead to them or away from them.
    mutating func delete<State: SaveState & ~Copyable>(
        _ deleted: [ObjectSnapshot], in state: inout State
    ) throws(StoreError) {
        assert(gone.isEmpty && steps.isEmpty, "the rules of one save are applied twice")
        for row in deleted { gone.insert(row.id) }
        assert(gone.count == deleted.count, "\(deleted.count) deletions of \(gone.count) rows")
        for start in stride(from: 0, to: deleted.count, by: Self.requestBatch) {
            try remove(deleted[start..<min(start + Self.requestBatch, deleted.count)], in: &state)
        }
        try carryOutSteps(nil, in: &state)
        try finish(in: &state)
    }

    /// Deletes rows that are read chunk by chunk, with the same rules.
    mutating func delete<State: SaveState & ~Copyable>(
        _ selected: SelectedRows, in state: inout State
    ) throws(StoreError) {
        assert(gone.isEmpty && steps.isEmpty, "the rules of one save are applied twice")
        gone = selected.rows
        var chunks = IDChunks(selected.rows, countMax: selected.chunkCountMax)
        while let ids = chunks.next() {
            let found = try state.rows(ids).compactMap(\.self)
            assert(found.count == ids.count, "\(ids.count - found.count) rows are deleted that do not exist")
            chunks.note(found)
            try remove(found[...], in: &state)
            // At once, so that the steps of one chunk only are held.
            try carryOutSteps(selected.progress, in: &state)
            try selected.progress?.advance(by: ids.count)
        }
        try finish(in: &state)
    }

    /// Applies the rules to the rows that deleted ones lead to, the newest step first (depth first).
    private mutating func carryOutSteps<State: SaveState & ~Copyable>(
        _ progress: BatchProgress?, in state: inout State
    ) throws(StoreError) {
        while let step = steps.popLast() {
            try progress?.advance(by: 0)
            switch step {
            case .rows(let ids):
                // Several rows may lead to one: it is deleted once.
                let found = try state.rows(ids).compactMap(\.self).filter { gone.insert($0.id) }
                try remove(found[...], in: &state)
            case .list(let owner, let relationship):
                let going = try takeDestinations(of: owner, relationship, from: &state)
                if going.isEmptied == false { steps.append(step) }
                for row in going.rows { gone.insert(row.id) }
                try remove(going.rows[...], in: &state)
            }
        }
    }

    private mutating func finish<State: SaveState & ~Copyable>(in state: inout State) throws(StoreError) {
        try clearOneWayReferences(in: &state)
        try state.settleLinks()
        // Some rows were deleted after they had changed.
        for id in changed where gone.contains(id) { changed.remove(id) }
    }

    // MARK: Rows

    /// Removes rows that `gone` has, and everything that leads to them; the rows to which they lead follow later.
    private mutating func remove<State: SaveState & ~Copyable>(
        _ batch: ArraySlice<ObjectSnapshot>, in state: inout State
    ) throws(StoreError) {
        assert(batch.allSatisfy { gone.contains($0.id) }, "a row is removed that is not deleted")
        var next: [ObjectID] = []
        var links: [Links] = []
        var start = batch.startIndex
        while start < batch.endIndex {
            // Rows of one entity are mostly adjacent: their common parts are looked up once.
            let tag = batch[start].id.entityTag
            let end = batch[start...].firstIndex { $0.id.entityTag != tag } ?? batch.endIndex
            try remove(sameEntity: batch[start..<end], &next, &links, &state)
            start = end
        }
        // In the order of the tree of these links.
        for position in links.indices {
            links[position].pairs.sort { ($0.owner.key, $0.destination.key) < ($1.owner.key, $1.destination.key) }
            var last: ObjectID?
            for (owner, destination) in links[position].pairs {
                try state.removeLink(of: owner, to: destination, links[position].list)
                if owner != last { note(owner) }
                last = owner
            }
        }
        try state.remove(batch)
        if !next.isEmpty { steps.append(.rows(next)) }
    }

    /// Removes everything that leads to rows of one entity.
    private mutating func remove<State: SaveState & ~Copyable>(
        sameEntity batch: ArraySlice<ObjectSnapshot>, _ next: inout [ObjectID], _ links: inout [Links],
        _ state: inout State
    ) throws(StoreError) {
        guard let first = batch.first else { return }
        let entity = model.entities[schema.entityIndex(of: first.id)]
        assert(batch.last?.id.entityTag == first.id.entityTag, "rows of two entities are removed together")
        for relationship in entity.relationships {
            if relationship.isToMany {
                for row in batch { try applyRule(ofList: relationship, of: row.id, &state) }
            } else {
                if let list = model.inverse(of: relationship), list.isToMany {
                    noteLinks(in: list, across: relationship.slot, batch, &links)
                }
                try applyRule(ofToOne: relationship, of: batch, &next, &state)
            }
        }
        for relationship in schema.oneWayLinksTo[entity.index] {
            for (owner, destination) in try state.pairs(leadingTo: batch.map(\.id), relationship) {
                try state.removeLink(of: owner, to: destination, relationship)
                note(owner)
            }
        }
    }

    /// Notes the links to deleted rows in the lists of the rows to which they lead, unless these are emptied as a
    /// whole.
    private func noteLinks(
        in list: Relationship, across slot: Int, _ batch: ArraySlice<ObjectSnapshot>, _ links: inout [Links]
    ) {
        assert(list.isToMany, "\(list.name) is no list")
        let position =
            links.firstIndex { RelationshipID($0.list) == RelationshipID(list) } ?? links.count
        if position == links.count { links.append(Links(list: list)) }
        let isEmptied = isEmptied(list)
        for row in batch {
            guard let owner = row.destination(at: slot), !(isEmptied && gone.contains(owner)) else { continue }
            links[position].pairs.append((owner, row.id))
        }
    }

    /// Applies the rule of a to-one relationship of deleted rows.
    private mutating func applyRule<State: SaveState & ~Copyable>(
        ofToOne relationship: Relationship, of batch: ArraySlice<ObjectSnapshot>, _ next: inout [ObjectID],
        _ state: inout State
    ) throws(StoreError) {
        assert(!relationship.isToMany, "the rule of \(relationship.name) is that of a list")
        let (rule, slot, inverse) = (relationship.deleteRule, relationship.slot, model.inverse(of: relationship))
        let back = inverse?.isToMany == false ? inverse : nil
        if back == nil, rule == .nullify || rule == .noAction { return }
        for row in batch {
            let stored = row.destination(at: slot)
            let set = rule == .cascade || rule == .deny ? requestedDestination(at: slot, of: row.id) : nil
            // The destination from which the save unrelated the row must not lead here any more, either.
            if let back, let stored, let set, set != stored {
                try clear(back, of: [stored], leadingTo: row.id, &state)
            }
            guard let destination = set ?? stored else { continue }
            // Nothing to do if the save leads the other end elsewhere.
            if let back, let requested = requestedDestination(at: back.slot, of: destination), requested != row.id {
                continue
            }
            switch rule {
            case .cascade:
                if !gone.contains(destination) { next.append(destination) }
            case .deny:
                deferredChecks.append(.denied(row.id, relationship, [destination]))
            case .nullify:
                if let back { try clear(back, of: [destination], leadingTo: row.id, &state) }
            case .noAction:
                if let back { deferredChecks.append(.leads(destination, back, to: row.id)) }
            }
        }
    }

    /// Applies the rule of a to-many relationship of a deleted row.
    private mutating func applyRule<State: SaveState & ~Copyable>(
        ofList relationship: Relationship, of owner: ObjectID, _ state: inout State
    ) throws(StoreError) {
        assert(relationship.isToMany && gone.contains(owner), "the rule of \(relationship.name) of \(owner)")
        let added = requested.added(to: relationship, of: owner)
        if relationship.deleteRule == .cascade, !added.isEmpty { steps.append(.rows(added)) }
        let hasStored = try !state.destinations(of: owner, relationship, countMax: 1).isEmpty
        guard hasStored || !added.isEmpty else { return }
        let isDerived = model.inverse(of: relationship)?.isToMany == false
        switch relationship.deleteRule {
        case .cascade:
            steps.append(.list(owner, relationship))
        case .deny where isDerived, .noAction where isDerived:
            deferredChecks.append(.list(owner, relationship))
        case .deny:
            let left = try state.destinations(of: owner, relationship).filter {
                !requested.hasRemoved($0, from: relationship, of: owner)
            }
            deferredChecks.append(.denied(owner, relationship, left + added))
            try empty(relationship, of: owner, &state)
        case .nullify, .noAction:
            try empty(relationship, of: owner, &state)
        }
    }

    /// Whether the list of a deleted row is emptied as a whole, so that its destinations need not be removed from it.
    private func isEmptied(_ relationship: Relationship) -> Bool {
        relationship.deleteRule == .cascade || relationship.deleteRule == .nullify
    }

    // MARK: Lists

    /// Unrelates a deleted row from all destinations of a to-many relationship, batch by batch.
    private mutating func empty<State: SaveState & ~Copyable>(
        _ relationship: Relationship, of owner: ObjectID, _ state: inout State
    ) throws(StoreError) {
        assert(gone.contains(owner), "the list of a row that stays is emptied")
        while true {
            let ids = try takeLinks(of: owner, relationship, from: &state)
            if let inverse = model.inverse(of: relationship), !inverse.isToMany {
                try clear(inverse, of: ids, leadingTo: owner, &state)
            }
            guard ids.count == State.heldCountMax else { return }
        }
    }

    /// Removes the first destinations from a list; returns those that are deleted with the owner, and whether these
    /// were all.
    private mutating func takeDestinations<State: SaveState & ~Copyable>(
        of owner: ObjectID, _ relationship: Relationship, from state: inout State
    ) throws(StoreError) -> (rows: [ObjectSnapshot], isEmptied: Bool) {
        assert(relationship.deleteRule == .cascade, "the destinations of \(relationship.name) are not deleted")
        let ids = try takeLinks(of: owner, relationship, from: &state)
        var found = try state.rows(ids).compactMap(\.self).filter {
            !gone.contains($0.id) && !requested.hasRemoved($0.id, from: relationship, of: owner)
        }
        if let inverse = model.inverse(of: relationship), !inverse.isToMany {
            found.removeAll { $0.destination(at: inverse.slot) != owner || requestSets(inverse.slot, of: $0.id) }
        }
        assert(found.count <= ids.count, "\(found.count) rows of \(ids.count) links")
        return (found, ids.count < State.heldCountMax)
    }

    /// Removes the first destinations from a list, and the owner from their lists if the inverse is to-many.
    private mutating func takeLinks<State: SaveState & ~Copyable>(
        of owner: ObjectID, _ relationship: Relationship, from state: inout State
    ) throws(StoreError) -> [ObjectID] {
        assert(relationship.isToMany && gone.contains(owner), "the list \(relationship.name) of \(owner) is emptied")
        let ids = try state.destinations(of: owner, relationship, countMax: State.heldCountMax)
        let inverse = model.inverse(of: relationship)
        for id in ids {
            try state.removeLink(of: owner, to: id, relationship)
            guard let inverse, inverse.isToMany else { continue }
            try state.removeLink(of: id, to: owner, inverse)
            note(id)
        }
        assert(ids.count <= State.heldCountMax, "invariant 1: a batch of \(ids.count) destinations")
        return ids
    }

    // MARK: To-one values

    /// Empties to-one relationships that lead to a deleted row; those in the request's own updates are emptied later.
    private mutating func clear<State: SaveState & ~Copyable>(
        _ relationship: Relationship, of ids: [ObjectID], leadingTo destination: ObjectID, _ state: inout State
    ) throws(StoreError) {
        assert(!relationship.isToMany && gone.contains(destination), "\(destination) stays and may be led to")
        var changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])] = []
        for case let row? in try state.rows(ids.filter { !gone.contains($0) })
        where row.destination(at: relationship.slot) == destination {
            if noteEmptied(relationship, of: row.id, instead: destination) { continue }
            changes.append((row, [(relationship.slot, nil)]))
        }
        if !changes.isEmpty { try state.setDestinations(changes) }
    }

    /// Notes that the relationship becomes empty; returns whether the request sets it, or its update will empty it.
    private mutating func noteEmptied(
        _ relationship: Relationship, of id: ObjectID, instead destination: ObjectID
    ) -> Bool {
        assert(!gone.contains(id) && gone.contains(destination), "\(id) leads to a row that stays, or is deleted")
        if requestSets(relationship.slot, of: id) { return true }
        if !relationship.isOptional { deferredChecks.append(.required(id, relationship, instead: destination)) }
        note(id)
        guard let position = updates[id] else { return false }
        cleared.append((position, relationship.slot))
        return true
    }

    /// Whether the request sets the to-one relationship in `slot` of a stored row.
    private func requestSets(_ slot: Int, of id: ObjectID) -> Bool {
        requestedDestination(at: slot, of: id) != nil
    }

    /// The destination that the request sets for the to-one relationship in `slot` of a stored row; outer `nil` = it
    /// does not set that.
    private func requestedDestination(at slot: Int, of id: ObjectID) -> ObjectID?? {
        guard !updates.isEmpty, let position = updates[id] else { return nil }
        assert(save.updates[position].id == id, "update \(position) is of another row")
        return save.updates[position].destinations.last { $0.slot == slot }?.destination
    }

    private mutating func clearOneWayReferences<State: SaveState & ~Copyable>(
        in state: inout State
    ) throws(StoreError) {
        guard !gone.isEmpty else { return }
        for relationship in schema.oneWayToOnes(leadingTo: gone) {
            var next: UInt64? = 1
            while let key = next {
                let found = try state.rows(
                    of: model.entities[relationship.declaredBy], from: key, leadingInto: gone, at: relationship.slot,
                    countMax: State.heldCountMax)
                assert(found.next.map { $0 > key } ?? true, "reading continues at \(key) again")
                assert(found.rows.count <= State.heldCountMax, "a batch of \(found.rows.count) rows")
                next = found.next
                var changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])] = []
                for row in found.rows {
                    guard let destination = row.destination(at: relationship.slot),
                        !noteEmptied(relationship, of: row.id, instead: destination)
                    else { continue }
                    changes.append((row, [(relationship.slot, nil)]))
                }
                if !changes.isEmpty { try state.setDestinations(changes) }
            }
        }
    }

    /// Notes a row as changed, unless it is deleted.
    private mutating func note(_ id: ObjectID) {
        if !changed.contains(id), !gone.contains(id) { changed.insert(id) }
    }

    // MARK: The end

    /// The conflicts with the rules, after all writes.
    func conflicts<State: SaveState & ~Copyable>(in state: borrowing State) throws(StoreError) -> [ReferenceConflict] {
        var conflicts: [ReferenceConflict] = []
        for check in deferredChecks where conflicts.count < Self.conflictCountMax {
            switch check {
            case .list(let owner, let relationship):
                assert(gone.contains(owner), "the list of a row that stays is checked")
                let left = try state.destinations(of: owner, relationship, countMax: 10)
                guard !left.isEmpty, let inverse = model.inverse(of: relationship) else { continue }
                if relationship.deleteRule == .deny {
                    conflicts.append(.init(.denied, owner: owner, relationship: relationship.name, destinations: left))
                } else {
                    conflicts += left.map {
                        ReferenceConflict(.abandoned, owner: $0, relationship: inverse.name, destinations: [owner])
                    }
                }
            case .denied(let owner, let relationship, let destinations):
                assert(gone.contains(owner), "the relationship of a row that stays denies its deletion")
                let staying = destinations.filter { !gone.contains($0) }
                let left = zip(staying, try state.rows(staying)).compactMap { $1 == nil ? nil : $0 }
                guard !left.isEmpty else { continue }
                conflicts.append(.init(.denied, owner: owner, relationship: relationship.name, destinations: left))
            case .leads(let owner, let relationship, let destination):
                guard let row = try state.rows([owner])[0], row.destination(at: relationship.slot) == destination
                else { continue }
                conflicts.append(
                    .init(.abandoned, owner: owner, relationship: relationship.name, destinations: [destination]))
            case .required(let owner, let relationship, let destination):
                guard let row = try state.rows([owner])[0], row.destination(at: relationship.slot) == nil
                else { continue }
                conflicts.append(
                    .init(.required, owner: owner, relationship: relationship.name, destinations: [destination]))
            }
        }
        assert(conflicts.allSatisfy { !$0.destinations.isEmpty }, "a conflict is about no destination")
        return conflicts
    }
}
