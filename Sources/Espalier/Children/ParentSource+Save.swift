// The save of a child: its changes become unsaved changes of the parent (MC-43, MC-46).
//
// Invariants
//   1. Versions, destinations and delete rules are checked against the parent's present state before anything changes:
//      a save that is refused changes nothing. One that fails later is taken back (ParentCheckpoint): the parent's
//      store can fail while its relationships are read, and so can the IDs for objects that its hooks insert.
//   2. The parent's objects change as if the application had changed them: both ends of relationships, delete rules,
//      messages, and one group of undo actions. Hooks that the child has called are not called again; a fault of the
//      parent that fires, and an object that only the parent's delete rules reach, call theirs.
// Not here: uniqueness, which the store checks when the root saves (MD-14).

import EspalierModel
import EspalierStore

extension ParentSource {
    func save(_ request: SaveRequest, in part: SourcePart) throws(StoreError) -> SaveResult {
        let before = try currentSnapshot()
        let stored = try check(request, before)
        let ids = try permanentIDs(for: request)
        try requireUnused(request.insertions.map { ids[$0.id] ?? $0.id })
        let objects = try prepare(request, stored)
        defer { withExtendedLifetime(objects) {} }
        parent.endUndoEvent()
        parent.beginEvent()
        var isSaved = false
        defer {
            parent.endEvent()
            if isSaved { parent.noteUnsavedChanges() }
        }
        let (effects, after) = try changeParent(by: request, ids)
        isSaved = true
        parent.registerUndo()
        parent.endUndoEvent()
        return result(of: request, ids, effects, after)
    }

    /// Makes the changes of a request, all of them or none.
    ///
    /// - Returns: the effects of delete rules, and the parent's state with the changes.
    private func changeParent(
        by request: SaveRequest, _ ids: [ObjectID: ObjectID]
    ) throws(StoreError) -> (effects: ParentChange.Effects, after: OverlaySnapshot) {
        let checkpoint = ParentCheckpoint(of: self)
        parent.beginChildSave()
        defer { parent.endChildSave() }
        do throws(StoreError) {
            let effects = ParentChange(parent) { ids[$0] ?? $0 }.make(request)
            parent.runDeleteRules()
            if let failure = parent.childSave?.failure { throw Self.storeError(failure) }
            return (effects, try currentSnapshot(tells: false))
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
    private func requireUnused(_ ids: [ObjectID]) throws(StoreError) {
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
    /// - Parameter stored: the rows of the request's updates, then those of its deletions, as `check` has read them; an
    ///   object that the parent has changed has none.
    private func prepare(_ request: SaveRequest, _ stored: [ObjectSnapshot?]) throws(StoreError) -> [ManagedObject] {
        let named = request.updates.map(\.id) + request.deletions.map(\.id)
        assert(stored.count >= named.count, "\(stored.count) rows of \(named.count) objects")
        return try asSource { () throws(ContextError) in
            var objects: [ManagedObject] = []
            for case let (id, row?) in zip(named, stored)
            where parent.memory.registry.withObject(id, \.isClean) != false {
                let object = try parent.object(with: id)
                objects.append(object)
                if object.hasRow, object.row?.version != row.version { parent.adoptNewestRow(ofUnchanged: object) }
                if !object.hasRow {
                    object.state.remove(.inaccessible)
                    object.row = row
                }
            }
            return objects
        }
    }

    // MARK: Checks

    /// Throws unless the parent has the versions, destinations and lists that the request expects.
    ///
    /// - Returns: the rows of the request's updates, deletions and locks that were read from a store, in this order.
    private func check(
        _ request: SaveRequest, _ content: OverlaySnapshot
    ) throws(StoreError) -> [ObjectSnapshot?] {
        var expected = request.updates.map { SaveRequest.Expectation(id: $0.id, expectedVersion: $0.expectedVersion) }
        expected += request.deletions + request.locks
        var conflicts: [VersionConflict] = []
        var stored = [ObjectSnapshot?](repeating: nil, count: expected.count)
        for (row, expected) in zip(try content.snapshots(of: expected.map(\.id)) { stored[$0] = $1 }, expected)
        where row?.version != expected.expectedVersion {
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
        for update in request.updates where !deleted.contains(update.id) {
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

    private func result(
        of request: SaveRequest, _ ids: [ObjectID: ObjectID], _ effects: ParentChange.Effects,
        _ content: OverlaySnapshot
    ) -> SaveResult {
        let deleted = Set(request.deletions.map(\.id))
        let inserted = rows(of: request.insertions.map { ids[$0.id] ?? $0.id }, in: content)
        let updated = rows(of: request.updates.map(\.id).filter { !deleted.contains($0) }, in: content)
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

    /// The rows of objects that the parent has changed, and which are in memory.
    ///
    /// A hook may have taken a change back: then the row is the one that the store has, and if it cannot be read now,
    /// the child keeps the one that it has.
    private func rows(of ids: [ObjectID], in content: OverlaySnapshot) -> [ObjectSnapshot?] {
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
