// Newer rows below unsaved changes: changed objects adopt the store's newest rows and keep their changes.
//
// Invariants
//   1. After an object has adopted a newer row, both ends of its relationships agree in this context. If a row stores
//      the other end too, that row is as new, or adopted together with it.
//   2. If an object adopts a newer row below a change, the change keeps the first committed value on which it was
//      based, unless the store still has that value (`ChangeBases`). The next save finds out whether both sides changed
//      the property, and asks the policy.
//   3. Lists at the other end follow from to-one values. They are read again, and change here only if the object
//      decides differently from the store.
//   4. The caller has moved the context to the newest generation.
// Elsewhere: how one object adopts a newer row (ManagedObject+Rebase).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Bases the changes of stored objects on the newest rows.
    ///
    /// A changed object whose row is deleted stays as it is, and the next save finds that out; a deleted one leaves the
    /// context. If rows cannot be read, the error is recorded.
    ///
    /// - Parameter isAsked: whether the application requests it, which settles conflicts that a save has reported.
    func adoptNewerRows(of objects: [ManagedObject], isAsked: Bool = false) {
        guard !objects.isEmpty else { return }
        var (found, settled, left): ([NewerRow], Set<ObjectID>, Set<ObjectID>) = ([], [], [])
        do throws(ContextError) {
            for (object, stored) in try storedRows(ofObjects: objects) {
                guard let stored else {
                    // A deleted row has no values to read again.
                    if noteGone(object) { left.insert(object.storedID) }
                    continue
                }
                object.state.subtract([.gone, .inaccessible])
                object.followUnchangedMembers()
                noteRefreshed(object)
                cache.invalidate(object.storedID)
                if isAsked, reportedConflicts[object.storedID] == stored.version {
                    settled.insert(object.storedID)
                    object.forgetBases()
                }
                guard let row = object.row, row.version != stored.version else {
                    // The row is the same, but derived values have no version, and lists, which are not part of a
                    // row, may have changed.
                    if object.hasRow, object.withShape({ !$0.derivations.isEmpty }) { object.row = stored }
                    if object.state.contains(.deleted) { noteOutdated(object) }
                    continue
                }
                found.append(NewerRow(id: object.storedID, expectedVersion: row.version, stored: stored))
            }
            forgetPairs(with: left)
            found = try withOtherEnds(found)
        } catch {
            for object in objects { object.recordOnce(nil, .unreadable("\(error)")) }
            return
        }
        rebase(found) { _ in .merging(settled: settled) }
        let rebased = Set(found.map(\.id))
        for object in objects where !rebased.contains(object.storedID) && object.state.contains(.registered) {
            object.mergeLists(.merging(settled: settled))
        }
        for object in objects where object.state.isDisjoint(with: .gone) { object.awaken(from: .refresh) }
    }

    /// The stored rows of objects, which may be of several stores; `nil` for an object without a row.
    func storedRows(
        ofObjects objects: [ManagedObject]
    ) throws(ContextError) -> [(object: ManagedObject, stored: ObjectSnapshot?)] {
        var byStore: [UInt32: [ManagedObject]] = [:]
        for object in objects { byStore[object.storedID.storeTag, default: []].append(object) }
        var rows: [(object: ManagedObject, stored: ObjectSnapshot?)] = []
        for (_, part) in byStore.sorted(by: { $0.key < $1.key }) {
            let found = try storedRows(of: part.map(\.storedID))
            rows += zip(part, found).map { ($0, $1) }
        }
        return rows
    }

    /// Makes objects adopt newer rows: first all lists, then rows, because to-one relationships change lists at their
    /// other ends.
    ///
    /// - Parameter rebase: the way in which each object adopts its row. Either all prefer the store or none does.
    func rebase(_ newer: [NewerRow], _ rebase: (ObjectID) -> RebaseReason) {
        for row in newer {
            guard let object = memory.registry[row.id], row.stored != nil else { continue }
            object.mergeLists(rebase(row.id))
        }
        var prefersStored = false
        var rows: [(object: ManagedObject, stored: ObjectSnapshot)] = []
        var decisions: [(object: ObjectID, decisions: [ToOneDecision])] = []
        for row in newer {
            guard let object = memory.registry[row.id], let stored = row.stored else { continue }
            if object.state.contains(.deleted) {
                adoptRow(stored, belowDeletionOf: object, rebase(row.id))
            } else {
                rows.append((object, stored))
                decisions.append((row.id, object.toOneDecisions(stored, rebase(row.id))))
                prefersStored = prefersStored || !rebase(row.id).keepsOtherEnds
            }
        }
        ToOneDecision.settle(&decisions, prefersStored: prefersStored)
        for ((object, stored), (id, decisions)) in zip(rows, decisions) {
            object.rebase(onto: stored, decisions, rebase(id))
        }
    }

    /// Makes a deletion expect a newer row; delete rules run again, on the destinations of that row.
    private func adoptRow(
        _ stored: ObjectSnapshot, belowDeletionOf object: ManagedObject, _ rebase: RebaseReason
    ) {
        object.rebase(belowDeletionOnto: stored, rebase)
        noteOutdated(object)
    }

    /// Records that the delete rules of a deleted object have to run on a newer row.
    private func noteOutdated(_ object: ManagedObject) {
        if object.state.contains(.propagated) { outdated.append(object) } else { runsRulesAgain = true }
    }

    /// The rows, and those of the changed objects to which the objects of these rows are, were or will be related,
    /// where the rows of both ends store the relationship: one-to-one, or ordered.
    ///
    /// Cached rows and lists of the other ends are removed; unchanged objects there adopt the newer row.
    func withOtherEnds(_ rows: [NewerRow]) throws(ContextError) -> [NewerRow] {
        var (all, seen, next) = (rows, Set(rows.map(\.id)), 0)
        for object in objectsLeading(to: rows) where seen.insert(object.storedID).inserted {
            if let found = try findNewerRow(ofOld: object, isKnownToBeOld: true) { all.append(found) }
        }
        while next < all.count {
            let row = all[next]
            next += 1
            guard let object = memory.registry[row.id] else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany {
                guard let inverse = object.withShape({ $0.inverses[relationship.slot] }) else { continue }
                let slot = relationship.slot
                let ends = [
                    object.row?.destination(at: slot), row.stored?.destination(at: slot),
                    object.unsavedDestinationID(at: slot) ?? nil,
                ]
                for case let id? in ends where !id.isTemporary {
                    cache.invalidate(id)
                    // An unordered list is no part of a row.
                    guard !inverse.isToMany || inverse.isOrdered, seen.insert(id).inserted,
                        let other = memory.registry[id]
                    else { continue }
                    if let found = try findNewerRow(ofOld: other) { all.append(found) }
                }
            }
        }
        return all
    }

    /// The objects whose rows in memory refer to deleted rows.
    ///
    /// - Complexity: O(objects in memory) if a row is deleted.
    private func objectsLeading(to rows: [NewerRow]) -> [ManagedObject] {
        let gone = Set(rows.lazy.filter { $0.stored == nil }.map(\.id))
        guard !gone.isEmpty else { return [] }
        for id in gone {
            guard let object = memory.registry[id] else { continue }
            for relationship in object.entity.relationships where relationship.isToMany {
                for other in cache.list(of: id, at: relationship.slot) ?? [] { cache.invalidate(other) }
            }
        }
        return memory.registry.objects.filter { object in
            guard object.hasRow, !object.isInserted else { return false }
            return object.entity.relationships.contains { relationship in
                !relationship.isToMany && object.storedDestinationID(at: relationship.slot).map(gone.contains) == true
            }
        }
    }

    /// The newer row of a changed object whose row is old; an unchanged one becomes a fault, which reads the newer row.
    private func findNewerRow(
        ofOld object: ManagedObject, isKnownToBeOld: Bool = false
    ) throws(ContextError) -> NewerRow? {
        guard let row = object.row, !object.isInserted, !object.state.contains(.inaccessible) else { return nil }
        if object.hasChanges || !isKnownToBeOld {
            let stored = try storedRows(of: [object.storedID]).first ?? nil
            if stored?.version == row.version { return nil }
            if object.hasChanges {
                guard let stored else {
                    if noteGone(object) { forgetPairs(with: [object.storedID]) }
                    return nil
                }
                return NewerRow(id: object.storedID, expectedVersion: row.version, stored: stored)
            }
        }
        adoptNewestRow(ofUnchanged: object)
        return nil
    }

    /// Makes an unchanged object a fault, whose next use reads the newest row; a save that fails reverts this.
    func adoptNewestRow(ofUnchanged object: ManagedObject) {
        assert(!object.hasChanges, "a changed object would lose its changes")
        saveRun?.refreshed.append(RefreshedObject(object))
        if !object.isFault { noteRefreshed(object) }
        cache.invalidate(object.storedID)
        object.turnIntoFault()
    }

    /// Whether an object whose row was deleted has one again in the newest generation, which it reads then.
    func readsAgain(_ object: ManagedObject) -> Bool {
        guard let row = try? storedRows(of: [object.storedID]).first, row != nil else { return false }
        if object.hasChanges {
            object.state.remove(.inaccessible)
        } else {
            adoptNewestRow(ofUnchanged: object)
        }
        return true
    }

    /// Makes an object adopt the newest row before it changes together with another object that has adopted one: a save
    /// must not write its older row.
    func adoptNewestRow(ifUnchanged object: ManagedObject) {
        if object.isClean, object.hasRow { adoptNewestRow(ofUnchanged: object) }
    }
}
