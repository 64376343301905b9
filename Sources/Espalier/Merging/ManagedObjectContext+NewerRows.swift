// Newer rows below unsaved changes: how changed objects become as new as the store, and keep what they changed.
//
// Invariants
//   1. After an object has adopted a newer row, both ends of its relationships agree in this context. If the other end
//      is part of a row too, that row is as new, or adopted together with it.
//   2. If a newer row comes below a change, the change keeps the first committed value that it was made on, unless the
//      store still has that value (`ChangeBases`). The next save finds out whether both sides changed the property, and
//      asks the policy.
//   3. Lists at the other end follow from to-one values. They are read again, and change here only if the object
//      decides differently from the store.
//   4. The caller has moved the context to the newest generation.
// Elsewhere: how one object adopts a newer row (ManagedObject+Rebase).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Puts the changes of stored objects onto the newest rows.
    ///
    /// A changed one whose row is gone stays as it is, for the next save to find; a deleted one leaves the context.
    /// What cannot be read is recorded.
    ///
    /// - Parameter isAsked: whether the application asks for it, which settles conflicts that a save has reported.
    func takeNewerRows(of objects: [ManagedObject], isAsked: Bool = false) {
        guard !objects.isEmpty else { return }
        var (found, settled, left): ([VersionConflict], Set<ObjectID>, Set<ObjectID>) = ([], [], [])
        do throws(ContextError) {
            for (object, stored) in try storedRows(ofObjects: objects) {
                guard let stored else {
                    // The values of a row that is gone cannot be read again.
                    if noteGone(object) { left.insert(object.storedID) }
                    continue
                }
                if !object.state.isDisjoint(with: [.gone, .inaccessible]) {
                    object.state.subtract([.gone, .inaccessible])
                    object.followUnchangedMembers()
                }
                noteRefreshed(object)
                cache.invalidate(object.storedID)
                if isAsked, reportedConflicts[object.storedID] == stored.version {
                    settled.insert(object.storedID)
                    object.forgetBases()
                }
                guard let row = object.row, row.version != stored.version else {
                    // Lists are no part of a row.
                    if object.state.contains(.deleted) { runRulesAgain(of: object) }
                    continue
                }
                found.append(VersionConflict(id: object.storedID, expectedVersion: row.version, stored: stored))
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
    }

    /// The stored rows of objects, which may be of several stores; `nil` where there is none.
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

    /// Puts objects onto newer rows: first all lists, then rows, as to-one relationships change lists at their other
    /// ends.
    ///
    /// - Parameter rebase: how each object does it; none prefers the store where another one does not.
    func rebase(_ conflicts: [VersionConflict], _ rebase: (ObjectID) -> Rebase) {
        for conflict in conflicts {
            guard let object = memory.registry[conflict.id], !object.state.contains(.deleted), conflict.stored != nil
            else {
                continue
            }
            object.mergeLists(rebase(conflict.id))
        }
        var prefersStored = false
        var rows: [(object: ManagedObject, stored: ObjectSnapshot)] = []
        var decisions: [(object: ObjectID, decisions: [ToOneDecision])] = []
        for conflict in conflicts {
            guard let object = memory.registry[conflict.id], let stored = conflict.stored else { continue }
            if object.state.contains(.deleted) {
                takeRow(stored, belowDeletionOf: object)
            } else {
                rows.append((object, stored))
                decisions.append((conflict.id, object.toOneDecisions(stored, rebase(conflict.id))))
                prefersStored = prefersStored || !rebase(conflict.id).keepsOtherEnds
            }
        }
        ToOneDecision.settle(&decisions, prefersStored: prefersStored)
        for ((object, stored), (id, decisions)) in zip(rows, decisions) {
            object.rebase(onto: stored, decisions, rebase(id))
        }
    }

    /// Makes a deletion expect a newer row; delete rules run again, on what that row leads to.
    private func takeRow(_ stored: ObjectSnapshot, belowDeletionOf object: ManagedObject) {
        object.followEmptied(stored)
        object.row = stored
        runRulesAgain(of: object)
    }

    private func runRulesAgain(of object: ManagedObject) {
        object.state.remove(.propagated)
        unpropagated.append(object)
        runsRulesAgain = true
    }

    /// The conflicts, and those of changed objects that rows in conflict are, were or shall be related to, where that
    /// is written with the rows of both: one to one, or in order.
    ///
    /// What the cache holds of the other ends is forgotten; unchanged ones take the newer row.
    func withOtherEnds(_ conflicts: [VersionConflict]) throws(ContextError) -> [VersionConflict] {
        var (all, seen, next) = (conflicts, Set(conflicts.map(\.id)), 0)
        for object in objectsLeading(to: conflicts) where seen.insert(object.storedID).inserted {
            if let found = try findConflict(ofOld: object, isKnownToBeOld: true) { all.append(found) }
        }
        while next < all.count {
            let conflict = all[next]
            next += 1
            guard let object = memory.registry[conflict.id] else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany {
                guard let inverse = object.withShape({ $0.inverses[relationship.slot] }) else { continue }
                let slot = relationship.slot
                let ends = [
                    object.row?.destination(at: slot), conflict.stored?.destination(at: slot),
                    object.unsavedDestinationID(at: slot) ?? nil,
                ]
                for case let id? in ends where !id.isTemporary {
                    cache.invalidate(id)
                    // An unordered list is no part of a row.
                    guard !inverse.isToMany || inverse.isOrdered, seen.insert(id).inserted,
                        let other = memory.registry[id]
                    else { continue }
                    if let found = try findConflict(ofOld: other) { all.append(found) }
                }
            }
        }
        return all
    }

    /// The objects whose rows, as they were read, lead to rows that are gone.
    ///
    /// - Complexity: O(objects in memory) if a row is gone.
    private func objectsLeading(to conflicts: [VersionConflict]) -> [ManagedObject] {
        let gone = Set(conflicts.lazy.filter { $0.stored == nil }.map(\.id))
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

    /// The conflict of a changed object whose row is old; an unchanged one becomes a fault, to take the newer row.
    private func findConflict(
        ofOld object: ManagedObject, isKnownToBeOld: Bool = false
    ) throws(ContextError) -> VersionConflict? {
        guard let row = object.row, !object.isInserted, !object.state.contains(.inaccessible) else { return nil }
        if object.hasChanges || !isKnownToBeOld {
            let stored = try storedRows(of: [object.storedID]).first ?? nil
            if stored?.version == row.version { return nil }
            if object.hasChanges {
                guard let stored else {
                    if noteGone(object) { forgetPairs(with: [object.storedID]) }
                    return nil
                }
                return VersionConflict(id: object.storedID, expectedVersion: row.version, stored: stored)
            }
        }
        takeNewestRow(ofUnchanged: object)
        return nil
    }

    /// Makes an unchanged object a fault, whose next use reads the newest row; a save that fails takes that back.
    func takeNewestRow(ofUnchanged object: ManagedObject) {
        assert(!object.hasChanges, "a changed object would lose its changes")
        refreshedBySave?.append(RefreshedObject(object))
        if !object.isFault { noteRefreshed(object) }
        cache.invalidate(object.storedID)
        object.turnIntoFault()
    }

    /// Makes an object that is about to change with another one, which took a newer row, take the newest one first: it
    /// must not be written as it was before.
    func takeNewestRow(ifUnchanged object: ManagedObject) {
        if object.isClean, object.hasRow { takeNewestRow(ofUnchanged: object) }
    }
}
