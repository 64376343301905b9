// Saving: the steps in which changes are written to the stores (steps: README).
//
// Invariants
//   1. A save that fails leaves context and objects exactly as they were (F-5): it reverts all effects of steps 1 to 9.
//   2. Only one place decides durability: the store's transaction in steps 6 to 9.
//   3. Stores are saved one after the other, each in a transaction of its own (MC-40).
// Not here: validation (+Validation), the request (+Freeze), conflicts (+Conflicts), reverting (ContextCheckpoint).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Writes all changes, in one transaction per store (MC-39); does nothing if there are none.
    ///
    /// - Throws: `ContextError` with all errors, not only the first: broken rules and refused changes (`.violations`),
    ///   `.conflicts`, `.constraints`, or the store's error. The context is as it was before. Refused changes are
    ///   reported once and then forgotten, because they never took effect.
    ///   `.alreadySaving` in a hook of a save of this context: the call does nothing, and that save continues.
    public func save() throws(ContextError) {
        try checkIsNotSaving()
        try source.checkIsNotSaving()
        mergeWaitingSaves()
        guard hasChanges || !recorded.isEmpty else { return }
        beginEvent()
        defer { endEvent() }
        stage = SaveStage(.willSaveObserver)
        defer { stage = nil }
        let event = eventChanges
        let checkpoint = ContextCheckpoint(self)
        refreshedBySave = []
        defer { refreshedBySave = nil }
        let stepCount = journal?.steps.count ?? 0
        var changes: ChangeSet
        let outcome: SaveOutcome
        do {
            tellWillSave()
            changes = try settle()  //                                  1 collect, 2 propagate deletes, 3 validate
            stage = SaveStage(.storing)
            journal?.pause()
            defer { journal?.resume() }
            outcome = try write(&changes)  //                           4 freeze, 5 route, 6 ... 9 in each store
        } catch {
            checkpoint.restore(self)
            journal?.truncate(to: stepCount)
            eventChanges = event
            if case .violations = error { recorded.removeAll() }
            noteReported(error)
            throw error
        }
        journal?.pause()
        let seen = childSource?.seen(of: outcome.saved)
        let told = apply(outcome)  //                                  10
        if let seen { childSource?.noteSaved(seen) }
        journal?.resume()
        registerUndoOfSave()
        forgetDestinations()
        source.tell(told, except: mailbox)  //                         11
        stage = SaveStage(.changeObserver)
        tellChanges()
        for part in outcome.saved {
            for object in part.changes.all {
                stage = SaveStage(.didSave, object)
                object.didSave()
            }
        }
        stage = SaveStage(.didSaveObserver)
        tellDidSave(told, outcome.saved.map(settled))
        if let failure = outcome.failure { throw .partlySaved(underlying: failure) }
    }

    /// The parts of a save that stores have written.
    struct SaveOutcome {
        struct Part {
            let part: SourcePart
            let changes: ChangeSet
            let result: SaveResult
        }
        var saved: [Part] = []
        /// The error of the store after the last one in `saved`, if it failed.
        var failure: ContextError?
    }

    /// All changes, validated, including those that hooks make (MO-31).
    ///
    /// `willSave` is called again until it changes nothing. Objects that a validation hook inserts, deletes or is the
    /// first to change are part of the save, too.
    private func settle() throws(ContextError) -> ChangeSet {
        var rounds = HookRounds()
        while true {
            let changes = try collect(&rounds)
            let count = changeCount
            try validate(changes)
            if changeCount == count || changes.hasSameObjects(as: ChangeSet(self)) { return changes }
        }
    }

    /// All changes, including those that delete rules and `willSave` make, until no object changes any more (MO-31).
    private func collect(_ rounds: inout HookRounds) throws(ContextError) -> ChangeSet {
        while true {
            stage = SaveStage(.deleteRules)
            runDeleteRules()
            let count = changeCount
            let changes = ChangeSet(self)
            try rounds.begin(with: changes)
            for object in changes.all {
                stage = SaveStage(.willSave, object)
                object.willSave()
            }
            stage = SaveStage(.willSave)
            if changeCount == count { return changes }
        }
    }

    /// Counts the calls of `willSave` in a save, so that hooks which change objects in every round end the save with an
    /// error, and not the program.
    private struct HookRounds {
        private static let roundCountMax = 1000
        private var roundCount = 0
        private var callCount = 0
        private var callCountMax = 0

        /// - Throws: `ContextError.unsettledSave` after 1,000 rounds, or after 1,000 times as many calls as in the
        ///   first round, which counts as at least 100.
        mutating func begin(with changes: ChangeSet) throws(ContextError) {
            let count = changes.inserted.count + changes.updated.count + changes.deleted.count
            if roundCount == 0 { callCountMax = Self.roundCountMax * max(count, 100) }
            callCount += count
            guard roundCount < Self.roundCountMax, callCount <= callCountMax else {
                throw .unsettledSave(rounds: roundCount)
            }
            roundCount += 1
        }
    }

    /// Sends the changes to their stores; resolves conflicts by the merge policy, and then sends them again.
    ///
    /// - Throws: the error of the first store; the error of a later store is part of the outcome.
    private func write(_ changes: inout ChangeSet) throws(ContextError) -> SaveOutcome {
        let attemptCountMax = 10
        var attempt = 1
        while true {
            let refusal: Refusal
            switch try send(changes) {
            case .written(let outcome): return outcome
            case .refused(let found): refusal = found
            }
            guard attempt < attemptCountMax else { throw contextError(refusal.error) }
            for conflict in refusal.conflicts { if let object = memory.registry[conflict.id] { noteRefreshed(object) } }
            if !refusal.conflicts.isEmpty { try resolve(refusal.conflicts) }
            if !refusal.missing.isEmpty { try resolve(refusal.missing) }
            attempt += 1
            changes = ChangeSet(self)
            try validate(changes)
            stage = SaveStage(.storing)
        }
    }

    /// The conflicts that the merge policy has to resolve.
    private struct Refusal {
        var conflicts: [VersionConflict] = []
        var missing: [ReferenceConflict] = []
        var isEmpty: Bool { conflicts.isEmpty && missing.isEmpty }
        var error: StoreError { conflicts.isEmpty ? .references(missing) : .conflict(conflicts) }
    }

    private enum Attempt {
        case written(SaveOutcome)
        case refused(Refusal)
    }

    /// Sends the changes to their stores, once.
    private func send(_ changes: ChangeSet) throws(ContextError) -> Attempt {
        assert(stage?.hook == .storing && memory.checkInvariants(), "changes are sent while a save runs")
        var refusal = Refusal(conflicts: mergeConflicts(among: changes.updated))
        guard refusal.isEmpty else { return .refused(refusal) }
        var outcome = SaveOutcome()
        for (store, part) in try route(changes) {
            let request = try freeze(part, for: store, gone: &refusal.conflicts)
            if refusal.isEmpty {
                do {
                    let isNothing = request.isEmpty && request.locks.isEmpty
                    let result = isNothing ? SaveResult() : try source.save(request, in: store)
                    outcome.saved.append(.init(part: store, changes: part, result: result))
                    continue
                } catch {
                    switch error {
                    case .conflict(let found):
                        var seen = Set<ObjectID>()
                        refusal.conflicts = found.filter { seen.insert($0.id).inserted }
                    case .references(let found): refusal.missing = found
                    default:
                        guard !outcome.saved.isEmpty else { throw contextError(error) }
                        outcome.failure = ContextError(error)
                        return .written(outcome)
                    }
                }
            }
            guard outcome.saved.isEmpty else {
                outcome.failure = contextError(refusal.error)
                return .written(outcome)
            }
            return .refused(refusal)
        }
        return .written(outcome)
    }

    /// The changes that belong to each store.
    private func route(
        _ changes: ChangeSet
    ) throws(ContextError) -> [(store: SourcePart, changes: ChangeSet)] {
        let stores = source.parts
        if stores.count == 1 {
            var seen = Set<ManagedObjectModel.EntityIndex>()
            var last: EntityShape?
            for object in changes.inserted where object.withShape({ $0 !== last }) {
                last = object.shape
                if seen.insert(object.shape.entity.index).inserted { _ = try part(of: object) }
            }
            return [(stores[0], changes)]
        }
        var storeOf: [ManagedObject: UInt64] = [:]
        for object in changes.all { storeOf[object] = try part(of: object).number }
        var parts: [(store: SourcePart, changes: ChangeSet)] = []
        for store in stores {
            let part = changes.filter { storeOf[$0] == store.number }
            if !part.isEmpty {
                parts.append((store, part))
            } else if !locked.isEmpty, !locked(in: store).isEmpty {
                // First, so that its locks are checked before any store writes.
                parts.insert((store, part), at: 0)
            }
        }
        return parts
    }

    /// Records the conflicts that a save reports: a refresh settles them.
    private func noteReported(_ error: ContextError) {
        guard case .conflicts(let conflicts) = error else { return }
        reportedConflicts = [:]
        for conflict in conflicts { reportedConflicts[conflict.object] = conflict.newVersion }
    }

    /// The part of the source that has an object's row or will have it.
    func part(of object: ManagedObject) throws(ContextError) -> SourcePart {
        let id = object.storedID
        if id.isTemporary { return try source.partForNewObjects(of: object.entity) }
        guard let part = source.part(holding: id) else { throw .noStore(entity: object.entity.name) }
        return part
    }

    /// Makes the rows that the stores have written the committed state (MC-41).
    ///
    /// - Returns: the changes of which other contexts are notified.
    private func apply(_ outcome: SaveOutcome) -> SavedChanges {
        var told = SavedChanges(inserted: [], updated: [], deleted: [], contextName: name)
        var generations: [UInt64: UInt64] = [:]
        for saved in outcome.saved { generations[saved.part.number] = saved.result.generation }
        moveToNewestGeneration(afterSaving: generations)
        // If one of several stores has failed, `freeze` has applied them already.
        memory.unreadInverses.removeAll()
        for part in outcome.saved {
            let insertedIDs = part.result.inserted.ids
            assert(insertedIDs.count == part.changes.inserted.count, "\(insertedIDs.count) rows were inserted")
            assert(insertedIDs.allSatisfy { !$0.isTemporary }, "a stored row has a temporary ID")
            // Objects that are saved together are likely to be read together.
            let cohort = Cohort(insertedIDs, cache: cache)
            var (position, merged) = (0, part.result.merged[...])
            for index in 0..<part.result.inserted.partCount {
                let rows = part.result.inserted.part(index)
                for row in position..<rows.end {
                    if row == merged.first {
                        merged.removeFirst()
                        continue
                    }
                    let object = part.changes.inserted[row]
                    if object.storedID == insertedIDs[row] {
                        // Reads of the row that had this ID before are outdated.
                        cache.invalidate(object.storedID)
                        noteOwners(of: object, in: &told)
                    }
                    memory.registry.rename(object, insertedIDs[row])
                    object.setRow(rows.content, part.result.inserted.places[row])
                    object.becomeCommitted()
                    object.cohort = cohort
                }
                position = rows.end
            }
            let newIDs = part.result.newIDs
            if told.inserted.isEmpty { told.inserted = newIDs } else { told.inserted += newIDs }
            // The rows that were written, in the order of the objects; not every changed object writes its row.
            var written = part.result.updated.makeIterator()
            var next = written.next()
            cache.invalidate(part.changes.updated.lazy.map(\.storedID))
            for object in part.changes.updated {
                if let row = next, row.id == object.storedID {
                    object.row = row
                    object.state.remove(.gone)
                    next = written.next()
                }
                object.becomeCommitted()
                object.becomeInaccessibleIfGone()
                told.updated.append(object.storedID)
            }
            takeMerged(part, into: &told)
            take(part.result, namedCount: part.changes.deleted.count, into: &told)
            cache.invalidate(part.changes.deleted.lazy.map(\.storedID))
            for object in part.changes.deleted {
                memory.registry.remove(object)
                told.deleted.append(object.storedID)
                object.leaveContext()
            }
        }
        replace(\.inserted, by: memory.inserted.keeping(\.isInserted))
        replace(\.updated, by: memory.updated.keeping { $0.state.contains(.updated) })
        replace(\.deleted, by: memory.deleted.keeping { $0.state.contains(.deleted) })
        locked.removeAll()
        leavesCascadesToStore = false
        if memory.updated.isEmpty { (hasBases, hasMergedSets) = (false, false) }
        reportedConflicts.removeAll()
        changeCount &+= 1
        return told
    }
}

extension ManagedObjectContext {
    /// Adds to `told` the owners of the lists that contain an object again after its insertion under its former ID;
    /// this context has not changed those lists.
    private func noteOwners(of object: ManagedObject, in told: inout SavedChanges) {
        for relationship in object.entity.relationships where !relationship.isToMany {
            let slot = relationship.slot
            guard let id = object.destinationID(at: slot), !id.isTemporary,
                object.withShape({ $0.inverses[slot]?.isToMany }) == true
            else { continue }
            cache.invalidate(id)
            told.updated.append(id)
        }
    }
}

extension ManagedObject {
    /// Discards the changes after a save has written them.
    func becomeCommitted() {
        discardPersistentChanges()
        state.subtract([.inserted, .updated])
    }

    /// Discards all changes except the values of transient attributes.
    func discardPersistentChanges() {
        guard changes != nil || newValues != nil else { return }
        var kept = ObjectChanges.Values()
        if shape.hasTransientAttributes {
            for slot in entity.attributes.indices where entity.attributes[slot].isTransient {
                kept.attributes[slot] = unsavedAttribute(at: slot)
            }
        }
        newValues = nil
        changes = kept.isEmpty ? nil : ObjectChanges(kept)
    }
}

extension SaveResult {
    /// The IDs of the new rows.
    fileprivate var newIDs: [ObjectID] {
        if merged.isEmpty { return inserted.ids }
        let others = Set(merged)
        return inserted.ids.indices.filter { !others.contains($0) }.map { inserted.ids[$0] }
    }
}
