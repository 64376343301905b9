// The save of a child: its changes become unsaved changes of the parent (MC-43, MC-46).
//
// Invariants
//   1. Versions, destinations and delete rules are checked against the parent's present state before anything changes:
//      a save that is refused changes nothing. One that fails later is taken back (ParentCheckpoint): the parent's
//      store can fail while its relationships are read, and so can the IDs for objects that its hooks insert. What
//      hooks change while the parent adopts newer rows is checked again, until they change nothing more.
//   2. The parent's objects change as if the application had changed them: both ends of relationships, delete rules,
//      messages, and one group of undo actions. Hooks that the child has called are not called again; a fault of the
//      parent that fires, and an object that only the parent's delete rules reach, call theirs.
//   3. No store is read for a row that the child has read of the parent's present state, or that the parent has in
//      memory: there is one copy of the row for all levels.
// Not here: uniqueness, which the store checks when the root saves (MD-14).

import EspalierModel
import EspalierStore

extension ParentSource {
    func save(
        _ request: SaveRequest, from origin: SaveOrigin, in part: SourcePart
    ) throws(StoreError) -> SaveResult {
        var before = try currentSnapshot()
        let senders = origin.updatedObjects(of: request)
        let stored = try check(request, before, origin.generation.readsOnly(before) ? origin.rows(senders) : [])
        let ids = try permanentIDs(for: request)
        let newIDs = request.insertions.map { ids[$0.id] ?? $0.id }
        try requireFree(newIDs)
        let formerCount = revokedCount
        var (seenCount, rounds) = (parent.changeCount, HookRounds())
        var objects = prepare(request, stored)
        while parent.changeCount != seenCount {
            // A hook of an object that became a fault has changed others. These changes are the parent's own: the
            // checkpoint must know them, so that they stay if this save fails, and they may be in its way.
            try asSource { () throws(ContextError) in try rounds.begin(objectCount: objects.count) }
            before = try currentSnapshot()
            let known = origin.generation.readsOnly(before) ? origin.rows(senders) : []
            let stored = try check(request, before, known)
            try requireFree(newIDs)
            seenCount = parent.changeCount
            objects = prepare(request, stored)
        }
        defer { withExtendedLifetime(objects) {} }
        parent.endUndoEvent()
        parent.beginEvent()
        var isSaved = false
        defer {
            parent.endEvent()
            if isSaved { parent.noteUnsavedChanges() }
        }
        let made = try make(request, ids, of: objects, from: senders)
        isSaved = true
        parent.registerUndo()
        parent.endUndoEvent()
        // Rows that the child has are old if hooks of the parent have taken back what the child has seen.
        if revokedCount != formerCount || !made.after.hasSameBases(as: before) { origin.generation.noteOlderRows() }
        return result(of: request, ids, made)
    }

    /// The changes of the parent that a request has made.
    private struct MadeChanges {
        /// The effects of the parent's delete rules.
        let effects: ParentChange.Effects
        /// The parent's state with the changes.
        let after: OverlaySnapshot
        /// The rows of changed objects of which children see other rows than before.
        let rows: [ObjectSnapshot]
    }

    /// Makes the changes of a request, all of them or none.
    ///
    /// - Parameters:
    ///   - ids: the permanent IDs of new objects, by their temporary ones.
    ///   - objects: the parent's objects, as `prepare` returns them.
    ///   - senders: the child's objects of the updates.
    private func make(
        _ request: SaveRequest, _ ids: [ObjectID: ObjectID], of objects: [ManagedObject?],
        from senders: [ManagedObject?]
    ) throws(StoreError) -> MadeChanges {
        let checkpoint = ParentCheckpoint(of: self)
        parent.beginChildSave()
        defer { parent.endChildSave() }
        do throws(StoreError) {
            let change = ParentChange(parent) { ids[$0] ?? $0 }
            let effects = change.make(request, of: objects, from: senders)
            parent.runDeleteRules()
            if let failure = parent.childSave?.failure { throw Self.storeError(failure) }
            var rows: [ObjectSnapshot] = []
            rows.reserveCapacity(request.updates.count)
            let after = try currentSnapshot(tells: false) { rows.append($0) }
            return MadeChanges(effects: effects, after: after, rows: rows)
        } catch {
            checkpoint.restore()
            throw error
        }
    }

    /// The permanent IDs of the request's new objects, by their temporary ones.
    private func permanentIDs(for request: SaveRequest) throws(StoreError) -> [ObjectID: ObjectID] {
        var ids: [ObjectID: ObjectID] = [:]
        let new = request.insertions.map(\.id).filter(\.isTemporary)
        var start = 0
        while start < new.count {
            let tag = new[start].entityTag
            let end = new[start...].firstIndex { $0.entityTag != tag } ?? new.count
            guard let entity = entities[tag] else { throw .invalidRequest(reason: "\(new[start]) is of no entity") }
            let reserved = try parent.reservation(of: end - start, for: entity) { () throws(StoreError) in
                try reserveIDs(for: entity, count: end - start, in: parts[0])
            }
            for (temporary, id) in zip(new[start..<end], reserved) { ids[temporary] = id }
            start = end
        }
        return ids
    }

    /// Requires that the parent has no changed object for which the application has made up one of these IDs.
    ///
    /// A deleted object, or one whose row is deleted, becomes the new object.
    private func requireFree(_ ids: [ObjectID]) throws(StoreError) {
        let taken = ids.filter { id in
            parent.memory.registry.withObject(id) { $0.hasChanges && $0.state.isDisjoint(with: [.deleted, .gone]) }
                == true
        }
        guard taken.isEmpty else {
            throw .conflict(taken.map { VersionConflict(id: $0, expectedVersion: 0, stored: nil) })
        }
    }

    /// Gives the parent's unchanged objects that the request names the newest rows.
    ///
    /// - Parameter stored: the rows of the request's updates, then those of its deletions, as `check` returns them; an
    ///   object that the parent has changed, or has in memory with its row, has none.
    /// - Returns: the object of each such row.
    private func prepare(_ request: SaveRequest, _ stored: [ObjectSnapshot?]) -> [ManagedObject?] {
        let count = request.updates.count + request.deletions.count
        assert(stored.count >= count, "\(stored.count) rows of \(count) objects")
        var objects: [ManagedObject?] = []
        objects.reserveCapacity(count)
        if count > 1 {
            let registeredCount = parent.memory.registry.count
            parent.memory.registry.reserveCapacity(registeredCount + count)
        }
        var maker: RowObjectMaker?
        for position in 0..<count { objects.append(stored[position].flatMap { prepared($0, &maker) }) }
        return objects
    }

    /// The parent's object for a row, which it has afterwards; `nil` if the parent has changed the object.
    private func prepared(_ row: ObjectSnapshot, _ maker: inout RowObjectMaker?) -> ManagedObject? {
        guard let object = parent.memory.registry[row.id] else {
            if maker == nil { maker = RowObjectMaker(parent, cohort: nil, first: row.id) }
            return maker?.object(row.id, row.content, row.place)
        }
        guard object.isClean else { return nil }
        if object.hasRow, object.row?.version != row.version { parent.adoptNewestRow(ofUnchanged: object) }
        if !object.hasRow {
            object.state.remove(.inaccessible)
            object.row = row
        }
        return object
    }

    // MARK: Checks

    /// Throws unless the parent has the versions, destinations and lists that the request expects.
    ///
    /// - Parameter known: the rows of the request's updates and deletions as the child has read them, if it has read
    ///   them of `content`; otherwise none.
    /// - Returns: the rows of the request's updates, deletions and locks, in this order, as the parent's own source has
    ///   them; `nil` for objects that the parent has changed, and for those that it has in memory with the row.
    private func check(
        _ request: SaveRequest, _ content: OverlaySnapshot, _ known: [ObjectSnapshot?]
    ) throws(StoreError) -> [ObjectSnapshot?] {
        var expected = request.updates.map { SaveRequest.Expectation(id: $0.id, expectedVersion: $0.expectedVersion) }
        expected += request.deletions + request.locks
        var stored = known
        stored.reserveCapacity(expected.count)
        while stored.count < expected.count { stored.append(nil) }
        var unread: [Int] = []
        for (position, expected) in expected.enumerated() {
            let (row, isUnchanged) = (stored[position], content.entry(expected.id) == nil)
            if isUnchanged, row?.version == expected.expectedVersion, content.showsAsStored(expected.id) { continue }
            stored[position] = nil
            if isUnchanged, versionInMemory(of: expected.id, content) == expected.expectedVersion { continue }
            unread.append(position)
        }
        var conflicts: [VersionConflict] = []
        let rows = try content.snapshots(of: unread.map { expected[$0].id }) { stored[unread[$0]] = $1 }
        for (row, expected) in zip(rows, unread.map { expected[$0] }) where row?.version != expected.expectedVersion {
            conflicts.append(
                VersionConflict(id: expected.id, expectedVersion: expected.expectedVersion, stored: row))
        }
        let restored = request.insertions.map(\.id).filter { !$0.isTemporary }
        for case let row? in try content.snapshots(of: restored) {
            conflicts.append(VersionConflict(id: row.id, expectedVersion: 0, stored: row))
        }
        guard conflicts.isEmpty else { throw .conflict(conflicts) }
        let broken = try missing(request, content) + denied(request, content)
        guard broken.isEmpty else { throw .references(broken) }
        return stored
    }

    /// The version at which children see an object that the parent has in memory, unchanged, with the row of the
    /// generation that the parent reads; `nil` for other objects.
    private func versionInMemory(of id: ObjectID, _ content: OverlaySnapshot) -> UInt64? {
        guard !parent.generation.mayHaveOlderRows else { return nil }
        let version = parent.memory.registry.withObject(id) { object in
            object.isClean ? object.row.map(content.shownVersion) : nil
        }
        return version ?? nil
    }

    /// The destinations and owners of the request that the parent does not have.
    private func missing(
        _ request: SaveRequest, _ content: OverlaySnapshot
    ) throws(StoreError) -> [ReferenceConflict] {
        let new = Set(request.insertions.map(\.id))
        let deleted = Set(request.deletions.map(\.id))
        var named: [(owner: ObjectID, slot: Int, id: ObjectID)] = []
        for insertion in request.insertions {
            for slot in 0..<insertion.row.relationshipCount {
                if let id = insertion.row.destination(at: slot) { named.append((insertion.id, slot, id)) }
            }
        }
        for update in request.updates where !update.destinations.isEmpty && !deleted.contains(update.id) {
            for case let (slot, id?) in update.destinations { named.append((update.id, slot, id)) }
        }
        for link in request.links where !deleted.contains(link.owner) {
            for id in [link.owner] + link.differences.added { named.append((link.owner, link.slot, id)) }
        }
        named.removeAll { new.contains($0.id) }
        var conflicts: [ReferenceConflict] = []
        for (row, end) in zip(try content.snapshots(of: named.map(\.id)), named) where row == nil {
            guard let relationship = entities[end.owner.entityTag]?.relationships[end.slot] else { continue }
            conflicts.append(
                ReferenceConflict(.missing, owner: end.owner, relationship: relationship.name, destinations: [end.id]))
        }
        return conflicts
    }

    /// The deletions that the rule deny forbids in the parent: another child may have added destinations.
    private func denied(
        _ request: SaveRequest, _ content: OverlaySnapshot
    ) throws(StoreError) -> [ReferenceConflict] {
        var conflicts: [ReferenceConflict] = []
        guard !request.deletions.isEmpty else { return conflicts }
        let (deleted, left) = (Set(request.deletions.map(\.id)), removedPairs(of: request))
        let updated = Dictionary(request.updates.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for id in deleted {
            guard let entity = entities[id.entityTag] else { continue }
            for relationship in entity.relationships where relationship.deleteRule == .deny {
                let (slot, inverse) = (relationship.slot, parent.model.inverse(of: relationship))
                var staying = try destinations(across: relationship, of: id, content)
                staying.removeAll { other in
                    if deleted.contains(other) { return true }
                    if updated[id]?.destinations.contains(where: { $0.slot == slot }) == true { return true }
                    if left.contains(Pair(owner: id, slot: slot, other: other)) { return true }
                    guard let inverse else { return false }
                    if inverse.isToMany { return left.contains(Pair(owner: other, slot: inverse.slot, other: id)) }
                    return updated[other]?.destinations.contains { $0.slot == inverse.slot } == true
                }
                guard !staying.isEmpty else { continue }
                conflicts.append(
                    ReferenceConflict(.denied, owner: id, relationship: relationship.name, destinations: staying))
            }
        }
        return conflicts
    }

    /// A destination of a to-many relationship.
    private struct Pair: Hashable {
        let owner: ObjectID
        let slot: Int
        let other: ObjectID
    }

    /// The destinations that the request removes from lists.
    private func removedPairs(of request: SaveRequest) -> Set<Pair> {
        var pairs = Set<Pair>()
        for link in request.links {
            for id in link.differences.removed { pairs.insert(Pair(owner: link.owner, slot: link.slot, other: id)) }
        }
        return pairs
    }

    private func destinations(
        across relationship: Relationship, of id: ObjectID, _ content: OverlaySnapshot
    ) throws(StoreError) -> [ObjectID] {
        if relationship.isToMany { return try content.destinations(of: relationship, for: [id]).first ?? [] }
        return try content.snapshots(of: [id]).compactMap { $0?.destination(at: relationship.slot) }
    }

    // MARK: The result

    private func result(of request: SaveRequest, _ ids: [ObjectID: ObjectID], _ made: MadeChanges) -> SaveResult {
        let (content, effects) = (made.after, made.effects)
        let inserted = shownRows(of: request.insertions.map { ids[$0.id] ?? $0.id }, content)
        let updated = updatedRows(of: request, made)
        var result = SaveResult(
            inserted: SnapshotList(
                zip(inserted, request.insertions).map { row, insertion in
                    // An observer of the parent may have deleted it again.
                    row
                        ?? ObjectSnapshot(
                            id: ids[insertion.id] ?? insertion.id, version: 0, values: insertion.values,
                            destinations: insertion.row.destinations.map { $0.map { ids[$0] ?? $0 } })
                }),
            updated: SnapshotList(updated.compactMap(\.self)))
        for id in request.deletions.map(\.id) { result.deleted.insert(id) }
        for id in effects.reached where parent.memory.registry.withObject(id, \.isDeleted) != false {
            result.deleted.insert(id)
        }
        for id in effects.left where !result.deleted.contains(id) { result.changed.insert(id) }
        result.generation = content.generation
        return result
    }

    /// The rows of the request's updates as children see them now; `nil` for objects that are deleted.
    ///
    /// The rows that are new are mostly in the order of the request: these are not searched.
    private func updatedRows(of request: SaveRequest, _ made: MadeChanges) -> [ObjectSnapshot?] {
        let (content, rows) = (made.after, made.rows)
        let deleted = Set(request.deletions.map(\.id))
        let ids = request.updates.map(\.id).filter { !deleted.contains($0) }
        var (updated, searched): ([ObjectSnapshot?], [Int]) = ([], [])
        updated.reserveCapacity(ids.count)
        var next = 0
        for (position, id) in ids.enumerated() {
            if next < rows.count, rows[next].id == id {
                updated.append(content.shown(rows[next]))
                next += 1
            } else {
                updated.append(nil)
                searched.append(position)
            }
        }
        for (position, row) in zip(searched, shownRows(of: searched.map { ids[$0] }, content)) {
            updated[position] = row
        }
        return updated
    }

    /// The rows of objects as children see them now: mostly in memory, because the parent has changed them.
    ///
    /// A hook may have taken a change back: then the row is the one that the store has, and if it cannot be read now,
    /// the child keeps the one that it has.
    private func shownRows(of ids: [ObjectID], _ content: OverlaySnapshot) -> [ObjectSnapshot?] {
        (try? content.snapshots(of: ids)) ?? ids.map { content.entry($0)?.row }
    }
}

extension SaveRequest.LinkChange {
    /// The destinations that join the list and those that leave it; none if to-one relationships define the members.
    ///
    /// - Complexity: O(k) for k edits of an order; O(n) for a whole order of n destinations.
    fileprivate var differences: (added: [ObjectID], removed: [ObjectID]) {
        guard hasOrder else { return (added, removed) }
        guard let base = orderBase else { return ([], []) }
        if let edits { return (edits.placed.map(\.id).filter { edits.formerIndex(of: $0) == nil }, edits.removed) }
        let order = order ?? []
        let (before, now) = (Set(base), Set(order))
        return (order.filter { !before.contains($0) }, base.filter { !now.contains($0) })
    }
}
