// Delete rules, carried out over what the store holds at the moment of the save and what the save brings (MC-13 to
// MC-16, F-7): the same for every kind of store.
//
// Rules
//   1. Nullify empties the to-one at the other end, cascade deletes what is there, and so on. Many-to-many pairs and
//      links without inverse go with either end; to-one values without inverse are emptied when what they lead to goes.
//   2. A row that the save itself leads elsewhere, or deletes, is no destination any more; what a row that goes was
//      changed to lead to, in the same request, is one.
//   3. `deny` and `noAction`, and relationships that must not be empty, are judged in the end: a destination that goes
//      in the same save, by whatever rule, is no reason against it.
//   4. A row that goes is not changed any more: its updates in the request are dropped.
// Invariants
//   1. A list that is emptied row by row is read from the store in pieces, and never held as a whole: what a cascade
//      needs is a bit for each row that goes, and a step on the stack for each level.
//   2. An update in the request is never carried out here, but amended (`cleared`): its version is checked only later.
//
// To-one relationships without inverse have no tree that leads back: a save that deletes rows to which one may lead
// reads all rows that have it, once.

internal import EspalierModel

/// What one save's deletions lead to.
struct DeleteRules {
    /// What is still to be done.
    private enum Step {
        /// Rows to delete.
        case rows([ObjectID])
        /// A list whose destinations are to be deleted.
        case list(ObjectID, Relationship)
    }

    /// Rows that go, in the lists of those that they lead to across one relationship.
    private struct Links {
        let list: Relationship
        var pairs: [(owner: ObjectID, destination: ObjectID)] = []
    }

    /// What is judged when everything is written.
    private enum Doubt {
        /// The list of a deleted row must be empty.
        case list(ObjectID, Relationship)
        /// None of these rows may be left, as the first one denies it.
        case denied(ObjectID, Relationship, [ObjectID])
        /// A row must not lead to a deleted one.
        case leads(ObjectID, Relationship, to: ObjectID)
        /// A row must lead somewhere else than to a deleted one.
        case required(ObjectID, Relationship, instead: ObjectID)
    }

    /// How many destinations of a list are held at a time.
    private static let batch = 256
    /// How many rows of the request are deleted at a time: the more, the better do links that go lie together.
    private static let requestBatch = 16_384
    /// How many conflicts are told.
    private static let conflictCountMax = 1000

    private let schema: StoreSchema
    /// Where the updates of the request are, and the to-one relationships they set.
    private var updates: [ObjectID: Int] = [:]
    /// What the request takes out of lists and puts into them, if a row that goes may stand at either end.
    private var edits = ListEdits()
    private let save: PreparedSave
    private var steps: [Step] = []
    private var doubts: [Doubt] = []
    /// The rows that are deleted, by the request or by rules.
    private(set) var gone = RowSet()
    /// The rows that stay and have changed: a to-one value is empty, or a list is shorter.
    private(set) var changed = RowSet()
    /// To-one relationships that updates of the request are to empty besides: positions and slots.
    private(set) var cleared: [(position: Int, slot: Int)] = []

    init(_ save: PreparedSave, schema: StoreSchema) {
        (self.save, self.schema) = (save, schema)
        guard !save.deletions.isEmpty else { return }
        for position in save.updates.indices { updates[save.updates[position].id] = position }
        for change in save.links { edits.note(change, inverse: schema.model.inverse(of: change.relationship)) }
    }

    private var model: ManagedObjectModel { schema.model }

    /// Deletes these rows, and carries out the rules of all relationships that lead to them or away from them.
    mutating func delete<Rows: SaveState & ~Copyable>(
        _ deleted: [ObjectSnapshot], in rows: inout Rows
    ) throws(StoreError) {
        for row in deleted { gone.insert(row.id) }
        for start in stride(from: 0, to: deleted.count, by: Self.requestBatch) {
            try remove(deleted[start..<min(start + Self.requestBatch, deleted.count)], in: &rows)
        }
        while let step = steps.popLast() {
            switch step {
            case .rows(let ids):
                // Several rows may lead to one: it goes once.
                let found = try rows.rows(ids).compactMap(\.self).filter { gone.insert($0.id) }
                try remove(found[...], in: &rows)
            case .list(let owner, let relationship):
                let going = try takeDestinations(of: owner, relationship, from: &rows)
                if going.isWhole == false { steps.append(step) }
                for row in going.rows { gone.insert(row.id) }
                try remove(going.rows[...], in: &rows)
            }
        }
        try clearOneWayReferences(in: &rows)
        // Some have gone after they had changed.
        for id in changed where gone.contains(id) { changed.remove(id) }
    }

    // MARK: Rows

    /// Removes rows that `gone` has, and what leads to them; what they lead to comes later.
    private mutating func remove<Rows: SaveState & ~Copyable>(
        _ batch: ArraySlice<ObjectSnapshot>, in rows: inout Rows
    ) throws(StoreError) {
        var next: [ObjectID] = []
        var links: [Links] = []
        var start = batch.startIndex
        while start < batch.endIndex {
            // Rows of one entity mostly stand together: what they have in common is asked for once.
            let tag = batch[start].id.entityTag
            let end = batch[start...].firstIndex { $0.id.entityTag != tag } ?? batch.endIndex
            try remove(sameEntity: batch[start..<end], &next, &links, &rows)
            start = end
        }
        // In the order of the tree that they lie in.
        for position in links.indices {
            links[position].pairs.sort { ($0.owner.key, $0.destination.key) < ($1.owner.key, $1.destination.key) }
            var last: ObjectID?
            for (owner, destination) in links[position].pairs {
                try rows.removeLink(of: owner, to: destination, links[position].list)
                if owner != last { note(owner) }
                last = owner
            }
        }
        try rows.remove(batch)
        if !next.isEmpty { steps.append(.rows(next)) }
    }

    /// Removes what leads to rows of one entity.
    private mutating func remove<Rows: SaveState & ~Copyable>(
        sameEntity batch: ArraySlice<ObjectSnapshot>, _ next: inout [ObjectID], _ links: inout [Links],
        _ rows: inout Rows
    ) throws(StoreError) {
        guard let first = batch.first else { return }
        let entity = model.entities[schema.entityIndex(of: first.id)]
        for relationship in entity.relationships {
            if relationship.isToMany {
                for row in batch { try leaveList(of: row.id, relationship, &rows) }
            } else {
                if let list = model.inverse(of: relationship), list.isToMany {
                    leaveLists(list, across: relationship.slot, batch, &links)
                }
                try leaveDestinations(of: batch, relationship, &next, &rows)
            }
        }
        for relationship in schema.oneWayLinksTo[entity.index] {
            for row in batch {
                for owner in try rows.owners(leadingTo: row.id, relationship) {
                    try rows.removeLink(of: owner, to: row.id, relationship)
                    note(owner)
                }
            }
        }
    }

    /// Notes the places of rows that go in the lists of those that they lead to, unless these are emptied as a whole.
    private func leaveLists(
        _ list: Relationship, across slot: Int, _ batch: ArraySlice<ObjectSnapshot>, _ links: inout [Links]
    ) {
        let position =
            links.firstIndex { RelationshipID($0.list) == RelationshipID(list) } ?? links.count
        if position == links.count { links.append(Links(list: list)) }
        let isEmptied = isEmptied(list)
        for row in batch {
            guard let owner = row.destination(at: slot), !(isEmptied && gone.contains(owner)) else { continue }
            links[position].pairs.append((owner, row.id))
        }
    }

    /// The rule of a to-one relationship of rows that go.
    private mutating func leaveDestinations<Rows: SaveState & ~Copyable>(
        of batch: ArraySlice<ObjectSnapshot>, _ relationship: Relationship, _ next: inout [ObjectID],
        _ rows: inout Rows
    ) throws(StoreError) {
        let (rule, slot, inverse) = (relationship.deleteRule, relationship.slot, model.inverse(of: relationship))
        let back = inverse?.isToMany == false ? inverse : nil
        if back == nil, rule == .nullify || rule == .noAction { return }
        for row in batch {
            let stored = row.destination(at: slot)
            let set = rule == .cascade || rule == .deny ? setDestination(at: slot, of: row.id) : nil
            // Whom the save has unrelated before does not lead here any more, either.
            if let back, let stored, let set, set != stored {
                try clear(back, of: [stored], leadingTo: row.id, &rows)
            }
            guard let destination = set ?? stored else { continue }
            // The save leads the other end elsewhere.
            if let back, let set = setDestination(at: back.slot, of: destination), set != row.id { continue }
            switch rule {
            case .cascade:
                if !gone.contains(destination) { next.append(destination) }
            case .deny:
                doubts.append(.denied(row.id, relationship, [destination]))
            case .nullify:
                if let back { try clear(back, of: [destination], leadingTo: row.id, &rows) }
            case .noAction:
                if let back { doubts.append(.leads(destination, back, to: row.id)) }
            }
        }
    }

    /// The rule of a to-many relationship of a row that goes.
    private mutating func leaveList<Rows: SaveState & ~Copyable>(
        of owner: ObjectID, _ relationship: Relationship, _ rows: inout Rows
    ) throws(StoreError) {
        let added = edits.added(to: relationship, of: owner)
        if relationship.deleteRule == .cascade, !added.isEmpty { steps.append(.rows(added)) }
        let hasStored = try !rows.links(of: owner, relationship, countMax: 1).isEmpty
        guard hasStored || !added.isEmpty else { return }
        let isDerived = model.inverse(of: relationship)?.isToMany == false
        switch relationship.deleteRule {
        case .cascade:
            steps.append(.list(owner, relationship))
        case .deny where isDerived, .noAction where isDerived:
            doubts.append(.list(owner, relationship))
        case .deny:
            let left = try rows.links(of: owner, relationship).filter {
                !edits.hasRemoved($0, from: relationship, of: owner)
            }
            doubts.append(.denied(owner, relationship, left + added))
            try empty(relationship, of: owner, &rows)
        case .nullify, .noAction:
            try empty(relationship, of: owner, &rows)
        }
    }

    /// Whether the list of a row that goes is emptied as a whole, so that its destinations need not leave it.
    private func isEmptied(_ relationship: Relationship) -> Bool {
        relationship.deleteRule == .cascade || relationship.deleteRule == .nullify
    }

    // MARK: Lists

    /// Unrelates a row that goes from all destinations of a to-many relationship, piece by piece.
    private mutating func empty<Rows: SaveState & ~Copyable>(
        _ relationship: Relationship, of owner: ObjectID, _ rows: inout Rows
    ) throws(StoreError) {
        while true {
            let ids = try takeLinks(of: owner, relationship, from: &rows)
            if let inverse = model.inverse(of: relationship), !inverse.isToMany {
                try clear(inverse, of: ids, leadingTo: owner, &rows)
            }
            guard ids.count == Self.batch else { return }
        }
    }

    /// The first destinations that go with the owner, out of its list; whether these were all.
    private mutating func takeDestinations<Rows: SaveState & ~Copyable>(
        of owner: ObjectID, _ relationship: Relationship, from rows: inout Rows
    ) throws(StoreError) -> (rows: [ObjectSnapshot], isWhole: Bool) {
        let ids = try takeLinks(of: owner, relationship, from: &rows)
        var found = try rows.rows(ids).compactMap(\.self).filter {
            !gone.contains($0.id) && !edits.hasRemoved($0.id, from: relationship, of: owner)
        }
        if let inverse = model.inverse(of: relationship), !inverse.isToMany {
            found.removeAll { $0.destination(at: inverse.slot) != owner || isSet(inverse.slot, of: $0.id) }
        }
        return (found, ids.count < Self.batch)
    }

    /// Takes the first destinations out of a list, and the owner out of theirs if that is a list too.
    private mutating func takeLinks<Rows: SaveState & ~Copyable>(
        of owner: ObjectID, _ relationship: Relationship, from rows: inout Rows
    ) throws(StoreError) -> [ObjectID] {
        let ids = try rows.links(of: owner, relationship, countMax: Self.batch)
        let inverse = model.inverse(of: relationship)
        for id in ids {
            try rows.removeLink(of: owner, to: id, relationship)
            guard let inverse, inverse.isToMany else { continue }
            try rows.removeLink(of: id, to: owner, inverse)
            note(id)
        }
        return ids
    }

    // MARK: To-one values

    /// Empties to-one relationships that lead to a row that goes; in the request's own updates, later.
    private mutating func clear<Rows: SaveState & ~Copyable>(
        _ relationship: Relationship, of ids: [ObjectID], leadingTo destination: ObjectID, _ rows: inout Rows
    ) throws(StoreError) {
        var changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])] = []
        for case let row? in try rows.rows(ids.filter { !gone.contains($0) })
        where row.destination(at: relationship.slot) == destination {
            if clearInUpdate(relationship, of: row.id, instead: destination) { continue }
            changes.append((row, [(relationship.slot, nil)]))
        }
        if !changes.isEmpty { try rows.relate(changes) }
    }

    /// Whether the request changes the row itself: then its relationship is emptied there, if it does not set it.
    ///
    /// Notes the row as one that changes.
    private mutating func clearInUpdate(_ relationship: Relationship, of id: ObjectID, instead destination: ObjectID)
        -> Bool
    {
        if isSet(relationship.slot, of: id) { return true }
        if !relationship.isOptional { doubts.append(.required(id, relationship, instead: destination)) }
        note(id)
        guard let position = updates[id] else { return false }
        cleared.append((position, relationship.slot))
        return true
    }

    /// Whether the request says where the to-one relationship in `slot` of a stored row leads.
    private func isSet(_ slot: Int, of id: ObjectID) -> Bool { setDestination(at: slot, of: id) != nil }

    /// Where the request leads the to-one relationship in `slot` of a stored row, if it says so.
    private func setDestination(at slot: Int, of id: ObjectID) -> ObjectID?? {
        guard !updates.isEmpty, let position = updates[id] else { return nil }
        return save.updates[position].destinations.last { $0.slot == slot }?.destination
    }

    private mutating func clearOneWayReferences<Rows: SaveState & ~Copyable>(
        in rows: inout Rows
    ) throws(StoreError) {
        guard !gone.isEmpty else { return }
        for relationship in schema.oneWayToOnes(leadingTo: gone) {
            var next: UInt64? = 1
            while let key = next {
                let found = try rows.rows(
                    of: model.entities[relationship.declaredBy], from: key, leadingInto: gone, at: relationship.slot,
                    countMax: Self.batch)
                next = found.next
                var changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])] = []
                for row in found.rows {
                    guard let destination = row.destination(at: relationship.slot),
                        !clearInUpdate(relationship, of: row.id, instead: destination)
                    else { continue }
                    changes.append((row, [(relationship.slot, nil)]))
                }
                if !changes.isEmpty { try rows.relate(changes) }
            }
        }
    }

    /// Notes a row that has changed, if it stays.
    private mutating func note(_ id: ObjectID) {
        if !changed.contains(id), !gone.contains(id) { changed.insert(id) }
    }

    // MARK: The end

    /// What the rules forbid, when everything is written.
    func conflicts<Rows: SaveState & ~Copyable>(in rows: borrowing Rows) throws(StoreError) -> [ReferenceConflict] {
        var conflicts: [ReferenceConflict] = []
        for doubt in doubts where conflicts.count < Self.conflictCountMax {
            switch doubt {
            case .list(let owner, let relationship):
                let left = try rows.links(of: owner, relationship, countMax: 10)
                guard !left.isEmpty, let inverse = model.inverse(of: relationship) else { continue }
                if relationship.deleteRule == .deny {
                    conflicts.append(.init(.denied, owner: owner, relationship: relationship.name, destinations: left))
                } else {
                    conflicts += left.map {
                        ReferenceConflict(.abandoned, owner: $0, relationship: inverse.name, destinations: [owner])
                    }
                }
            case .denied(let owner, let relationship, let destinations):
                let staying = destinations.filter { !gone.contains($0) }
                let left = zip(staying, try rows.rows(staying)).compactMap { $1 == nil ? nil : $0 }
                guard !left.isEmpty else { continue }
                conflicts.append(.init(.denied, owner: owner, relationship: relationship.name, destinations: left))
            case .leads(let owner, let relationship, let destination):
                guard let row = try rows.rows([owner])[0], row.destination(at: relationship.slot) == destination
                else { continue }
                conflicts.append(
                    .init(.abandoned, owner: owner, relationship: relationship.name, destinations: [destination]))
            case .required(let owner, let relationship, let destination):
                guard let row = try rows.rows([owner])[0], row.destination(at: relationship.slot) == nil
                else { continue }
                conflicts.append(
                    .init(.required, owner: owner, relationship: relationship.name, destinations: [destination]))
            }
        }
        return conflicts
    }
}
