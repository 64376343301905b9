// Saving: the steps in which changes are written to the stores.
//
//   1 merge      what other contexts have saved meanwhile, if the context merges automatically
//   2 collect    the changes, with those that delete rules and `willSave` make, until nothing changes any more
//   3 validate   them, and find everything that is wrong
//   4 route      them to the parts of the source: its stores, or the parent context
//   5 freeze     a request for each part, all of them before the first one is sent
//   6 send       each request, which is one transaction; after conflicts that the merge policy resolves, run delete
//                rules, collect again without `willSave`, and go on at step 3
//   7 apply      the IDs, rows and versions that the parts have written
//   8 notify     other contexts, observers, and the objects by `didSave`
//
// Invariants
//   1. If no part has written, a save that fails reverts all effects of steps 2 to 6 (F-5). If a later part fails, the
//      save applies what was written, and throws `partlySaved` (MC-40).
//   2. Only one place decides durability: the store's transaction in step 6.
//   3. Parts are saved one after the other, each in a transaction of its own (MC-40).
// Not here: validation (+Validation), the request (+Freeze), conflicts (+Conflicts), the written rows (+Apply), and
// reverting (ContextCheckpoint).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Writes all changes, in one transaction per store (MC-39); does nothing if there are none.
    ///
    /// - Throws: `ContextError` with all errors, not only the first: broken rules and refused changes (`.violations`),
    ///   `.conflicts`, `.constraints`, or the store's error. The context is as it was before, except after
    ///   `.partlySaved`. Refused changes are reported once and then forgotten, because they never took effect.
    ///   `.alreadySaving` in a hook of a save of this context: the call does nothing, and that save continues.
    /// - Complexity: O(c) in the context, and O(c log n) in the stores for each index, for c changed objects and those
    ///   that delete rules reach, and n rows. The objects in memory that have not changed cost nothing.
    public func save() throws(ContextError) {
        try checkIsNotSaving()
        try source.checkIsNotSaving()
        mergeWaitingSaves()
        guard holdsChanges || !recorded.isEmpty else {
            givenIDs = nil
            return
        }
        beginEvent()
        defer { endEvent() }
        // Rules that run again because of a merge are no part of the save. A transaction takes back all that it does.
        if eventDepth == 1, propagatesDeletesAtEndOfEvent { runRulesAgain() }
        stage = SaveStage(.willSaveObserver)
        defer { stage = nil }
        // The state to which a save that fails returns.
        let checkpoint = ContextCheckpoint(self)
        let outcome: SaveOutcome
        let number = source.beginWriting()
        saveRun = SaveRun(writer: number)
        defer {
            source.endWriting(number)
            endRun()
        }
        do {
            tellWillSave()
            let changes = try validatedChanges()
            stage = SaveStage(.storing)
            // Changes by merge policies and by the store cannot be undone.
            outcome = try withoutSteps { () throws(ContextError) in try write(changes) }
        } catch let first {
            let error = withOtherFindings(first)
            checkpoint.restore(self)
            if case .violations = first { recorded.removeAll() }
            noteReported(error)
            throw error
        }
        let savedChanges = withoutSteps { applyForAll(outcome) }
        registerUndoOfSave()
        forgetDestinations()
        uniqueCheck?.renew(self)
        notify(of: outcome, savedChanges)
        if let failure = outcome.failure { throw .partlySaved(underlying: failure) }
    }

    /// Applies what the parts have written, to this context and to the state that its children read (step 7).
    private func applyForAll(_ outcome: SaveOutcome) -> SavedChanges {
        let seen = childSource?.seen(of: outcome.saved)
        let savedChanges = apply(outcome)
        // The last pair first: an insertion may have been united with another one that a later pair unites again.
        for (object, other) in saveRun?.united.reversed() ?? [] {
            if object !== other { object.storedID = other.storedID }
            journal?.noteMerge(of: object)
        }
        if let seen {
            let hasMerged = saveRun?.hasMerged == true || outcome.saved.contains { !$0.result.merged.isEmpty }
            childSource?.noteSaved(seen, hasMerged: hasMerged)
        }
        return savedChanges
    }

    /// Notifies other contexts, observers, and the saved objects (step 8).
    private func notify(of outcome: SaveOutcome, _ savedChanges: SavedChanges) {
        source.tell(savedChanges, except: mailbox)
        stage = SaveStage(.changeObserver)
        eventRecord?.beginTelling()
        tellChanges()
        eventRecord?.endTelling()
        for saved in outcome.saved {
            for object in saved.changes.all {
                stage = SaveStage(.didSave, object)
                object.didSave()
            }
        }
        stage = SaveStage(.didSaveObserver)
        tellDidSave(savedChanges, outcome.saved.map(settled))
    }

    /// The result of step 6.
    struct SaveOutcome {
        /// The changes that one part has written, and its answer.
        struct PartSave {
            let part: SourcePart
            let changes: ChangeSet
            let result: SaveResult
        }
        var saved: [PartSave] = []
        /// The error of the part after the last one in `saved`, if it failed.
        var failure: ContextError?
    }

    /// All changes, validated, including those that hooks make (MO-31).
    ///
    /// `willSave` is called again until it changes nothing. Objects that a validation hook inserts, deletes or is the
    /// first to change are part of the save, too.
    private func validatedChanges() throws(ContextError) -> ChangeSet {
        var rounds = HookRounds()
        while true {
            let changes = try collect(&rounds)
            if try validateUntilSettled(changes, &rounds) { return changes }
        }
    }

    /// Validates changes, again and again until no hook sets another value than the one that is there: what is saved
    /// was validated after its last change, whatever the order of the objects.
    ///
    /// - Returns: `false` if a hook has changed other objects, so that the changes must be collected again.
    private func validateUntilSettled(_ changes: ChangeSet, _ rounds: inout HookRounds) throws(ContextError) -> Bool {
        // Hooks that change nothing need no watch, and no second call.
        var watch: ChangeWatch?
        while true {
            let count = changeCount
            try validate(changes, watch)
            if changeCount == count { return true }
            let hasSameObjects = changes.hasSameObjects(as: ChangeSet(self))
            if hasSameObjects, watch?.isQuiet == true { return true }
            try rounds.begin(with: changes)
            guard hasSameObjects else { return false }
            watch = ChangeWatch(changes, in: self)
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

    /// Sends the changes to their parts; resolves conflicts by the merge policy, and then sends the changes as they are
    /// after that.
    ///
    /// - Throws: the error of the first part; the error of a later one is in the outcome.
    private func write(_ validated: ChangeSet) throws(ContextError) -> SaveOutcome {
        var changes = validated
        var (limit, rounds) = (AttemptLimit(), HookRounds())
        while true {
            let refusal: Refusal
            switch try attempt(changes) {
            case .written(let outcome): return outcome
            case .refused(let found): refusal = found
            }
            guard limit.allowsAnother(after: refusal.conflicts) else { throw contextError(refusal.error) }
            for conflict in refusal.conflicts { if let object = memory.registry[conflict.id] { noteRefreshed(object) } }
            if !refusal.conflicts.isEmpty { try resolve(refusal.conflicts) }
            if !refusal.references.isEmpty { try resolve(refusal.references) }
            if !refusal.constraints.isEmpty { try resolve(refusal.constraints) }
            repeat {
                // A validation hook may have deleted an object.
                stage = SaveStage(.deleteRules)
                runDeleteRules()
                changes = ChangeSet(self)
            } while try !validateUntilSettled(changes, &rounds)
            stage = SaveStage(.storing)
        }
    }

    /// The conflicts that the merge policy has to resolve.
    private struct Refusal {
        var conflicts: [VersionConflict] = []
        var references: [ReferenceConflict] = []
        var constraints: [ConstraintConflict] = []
        var isEmpty: Bool { conflicts.isEmpty && references.isEmpty && constraints.isEmpty }
        var error: StoreError {
            if !conflicts.isEmpty { return .conflict(conflicts) }
            return references.isEmpty ? .constraint(constraints) : .references(references)
        }
    }

    private enum Attempt {
        case written(SaveOutcome)
        case refused(Refusal)
    }

    /// Sends the changes to their parts, once (steps 4 to 6).
    private func attempt(_ all: ChangeSet) throws(ContextError) -> Attempt {
        assert(stage?.hook == .storing && memory.checkInvariants(), "changes are sent while no save runs")
        var refusal = Refusal(conflicts: mergeConflicts(among: all.updated))
        guard refusal.isEmpty else { return .refused(refusal) }
        // All requests are made before the first one is sent: an error in the last one is found before any is written.
        var requests: [(part: SourcePart, changes: ChangeSet, request: SaveRequest)] = []
        for (part, changes) in try route(all) {
            requests.append((part, changes, try freeze(changes, for: part, gone: &refusal.conflicts)))
        }
        guard refusal.isEmpty else { return .refused(refusal) }
        var outcome = SaveOutcome()
        // A part that only checks locks writes nothing: a save that a later part refuses is then undone as a whole.
        var hasWritten = false
        for (part, changes, request) in requests {
            do throws(StoreError) {
                if let result = try result(of: request, changes, from: part, &refusal) {
                    outcome.saved.append(.init(part: part, changes: changes, result: result))
                    if !request.isEmpty { hasWritten = true }
                    continue
                }
                if !hasWritten { return .refused(refusal) }
                // A later part has failed; those before it have written.
                outcome.failure = contextError(refusal.error)
            } catch {
                if !hasWritten { throw ContextError(error) }
                outcome.failure = ContextError(error)
            }
            return .written(outcome)
        }
        return .written(outcome)
    }

    /// The result of a request that its part has executed; `nil` if there are conflicts, which are in `refusal` then.
    private func result(
        of request: SaveRequest, _ changes: ChangeSet, from part: SourcePart, _ refusal: inout Refusal
    ) throws(StoreError) -> SaveResult? {
        if request.isEmpty && request.locks.isEmpty { return SaveResult() }
        do {
            let result = try send(request, SaveOrigin(changes: changes, generation: generation), to: part)
            try checkNewIDs(in: result, of: request, from: part)
            return result
        } catch {
            switch error {
            case .conflict(let found):
                var seen = Set<ObjectID>()
                refusal.conflicts = found.filter { seen.insert($0.id).inserted }
            case .references(let found): refusal.references = found
            case .constraint(let found): refusal.constraints = found
            default: throw error
            }
            return nil
        }
    }

    /// Requires of a store of an application that it gives new rows IDs of their own.
    private func checkNewIDs(
        in result: SaveResult, of request: SaveRequest, from part: SourcePart
    ) throws(StoreError) {
        guard part.outsideType != nil else { return }
        let merged = Set(result.merged)
        for (position, insertion) in request.insertions.enumerated() where insertion.id.isTemporary {
            if !merged.contains(position) { try checkIsFree(result.inserted.ids[position], in: part) }
        }
    }

    /// Sends a request to its part; the log reports it, if there is one.
    private func send(
        _ request: SaveRequest, _ origin: SaveOrigin, to part: SourcePart
    ) throws(StoreError) -> SaveResult {
        guard let requestLog else { return try source.save(request, from: origin, in: part) }
        return try loggedSave(requestLog, request) { () throws(StoreError) in
            try source.save(request, from: origin, in: part)
        }
    }

    /// The changes that belong to each part.
    func route(
        _ changes: ChangeSet
    ) throws(ContextError) -> [(part: SourcePart, changes: ChangeSet)] {
        let parts = source.parts
        if parts.count == 1 {
            var seen = Set<ManagedObjectModel.EntityIndex>()
            var last: EntityShape?
            // Each entity is asked for once, only for its error: it is in no part, or the part is read-only.
            for object in changes.inserted where object.withShape({ $0 !== last }) {
                last = object.shape
                if seen.insert(object.shape.entity.index).inserted { _ = try part(of: object) }
            }
            return [(parts[0], changes)]
        }
        var partNumbers: [ManagedObject: UInt64] = [:]
        for object in changes.all { partNumbers[object] = try part(of: object).number }
        var routed: [(part: SourcePart, changes: ChangeSet)] = []
        for part in parts {
            let own = changes.filter { partNumbers[$0] == part.number }
            if !own.isEmpty {
                routed.append((part, own))
            } else if !locked.isEmpty, !locked(in: part).isEmpty {
                // First, so that its locks are checked before any part writes.
                routed.insert((part, own), at: 0)
            }
        }
        return routed
    }

    /// Records the conflicts that a save tells whole: a refresh settles them.
    ///
    /// Nobody has seen the values of those that a report only counts. They stay until a save tells them.
    private func noteReported(_ error: ContextError) {
        if case .several(let errors) = error { return errors.forEach(noteReported) }
        guard case .conflicts(let conflicts) = error else { return }
        reportedConflicts = [:]
        for conflict in conflicts where conflict.moreCount == 0 {
            reportedConflicts[conflict.object] = conflict.newVersion
        }
    }

    /// The part of the source that has an object's row or will have it.
    func part(of object: ManagedObject) throws(ContextError) -> SourcePart {
        let id = object.storedID
        if id.isTemporary { return try source.partForNewObjects(of: object.entity) }
        guard let part = source.part(holding: id) else { throw .noStore(entity: object.entity.name) }
        return part
    }
}
