// The steps that undo the changes of a context's current event.
//
// Invariants
//   1. A step is appended before its change, in order. Changes by merges, refreshes and stores have no steps: only
//      changes by the application, its hooks and delete rules can be undone. Changes by observers of a merge or
//      refresh have steps. Rules that run again after a merge append their steps to the action of the deletion
//      (UndoAction).
//   2. A save that fails removes its steps together with its changes.
//   3. The cost is that of the change: O(1) steps, but O(destinations) for an ordered relationship that is assigned as
//      a whole, and for the relationships of an object that is deleted.
//   4. Each change without a step, also while registration is off, begins another edition: steps of earlier editions
//      may not fit the objects any more. A deletion without a step marks its object (`unrecordedDeletion`), and so does
//      one whose step was dropped, also with all those of a former undo manager.
//   5. A hook may give the context another journal in the middle of a call: pauses and numbers of steps are those of
//      the context, and go on (`withoutSteps`, `undoStepCount`).
//   6. Objects of steps are released only after the access to the journal: freeing one may run application code.
// Not here: how steps are undone (Undoing).

import EspalierModel

/// The steps of a context that are not registered yet.
final class UndoJournal {
    let manager: UndoStack
    private(set) var steps: [UndoStep] = []
    /// Whether the event of these steps has its notice (`ManagedObjectContext.giveNotice`); `false` without steps.
    var hasNotice = false
    /// Counts the pauses and the changes without steps, after which the earlier steps may not fit any more.
    private(set) var edition = 0
    /// The edition in which the first of the steps was made: a merge in the middle of an event makes another one.
    private var firstEdition = 0
    private var pauseCount: Int
    /// The last step, if nothing has changed without a step since.
    private var latest: UndoStep?
    /// The deleted destinations that places have met, as far as nothing has changed without a step since.
    ///
    /// At the end of an event only those stay that its last step has deleted: the next deletion may be in another one.
    private var deletedRuns = DeletedRuns()
    /// The objects that became those of rows when a save merged them, and the edition of that save.
    private var takeovers: [ObjectIdentifier: (object: WeakObject, edition: Int)] = [:]
    /// The rows into which saves have merged new objects, and the edition of the last such save.
    private var mergedRows: [ObjectID: Int] = [:]
    /// For each object that an action has deleted, the last such action.
    private var deletions: [ObjectIdentifier: WeakAction] = [:]
    /// The action to which steps are appended while rules run again; `nil` otherwise.
    private(set) var reopened: UndoAction?

    private struct WeakObject {
        weak var object: ManagedObject?
    }

    private struct WeakAction {
        weak var action: UndoAction?
    }

    /// - Parameter pauseCount: the number of calls of `withoutSteps` that run: an application may set an undo manager
    ///   in a hook of a merge.
    init(_ manager: UndoStack, pauseCount: Int) { (self.manager, self.pauseCount) = (manager, pauseCount) }

    /// Whether changes append steps.
    var isRecording: Bool { pauseCount == 0 && (reopened != nil || manager.isUndoRegistrationEnabled) }

    func append(_ step: UndoStep) {
        assert(isRecording, "invariant 1: a step without registration")
        // It may have the last reference to an object (invariant 6).
        let former = (latest, deletedRuns.follow(step))
        defer { withExtendedLifetime(former) {} }
        latest = step
        if let reopened {
            reopened.append(step)
            return note(step, of: reopened)
        }
        if steps.isEmpty { firstEdition = edition }
        if steps.last?.covers(step) != true { steps.append(step) }
    }

    /// Notes that a change has no step, or none any more.
    func skip() {
        let former = latest
        latest = nil
        edition += 1
        endDeletedRuns()
        withExtendedLifetime(former) {}
    }

    /// Stops appending steps until `resume` was called as often.
    func pause() {
        pauseCount += 1
        skip()
    }

    func resume() {
        assert(pauseCount > 0, "a journal resumes that was not paused")
        pauseCount -= 1
    }

    // MARK: Merged insertions

    /// Notes that a save has merged a new object into the row that has its ID now.
    ///
    /// - Complexity: O(1), amortized.
    func noteMerge(of object: ManagedObject) {
        mergedRows[object.storedID] = edition
        guard !object.state.contains(.merged) else { return }
        if takeovers.count == takeovers.capacity { takeovers = takeovers.filter { $0.value.object.object != nil } }
        takeovers[ObjectIdentifier(object)] = (WeakObject(object: object), edition)
    }

    /// Whether this object was new in that edition, and has become that of a row since.
    ///
    /// Changes of the new object cannot be undone: that would delete the row, or take its values.
    func hasTakenOver(_ object: ManagedObject, since edition: Int) -> Bool {
        guard !takeovers.isEmpty, let takeover = takeovers[ObjectIdentifier(object)] else { return false }
        return takeover.object.object === object && edition < takeover.edition
    }

    /// Whether a new object was merged into this row since that edition.
    ///
    /// The object may have related objects that were related to the row before; all are related to the row now.
    func hasMerged(into id: ObjectID, since edition: Int) -> Bool {
        !mergedRows.isEmpty && mergedRows[id].map { edition < $0 } == true
    }

    /// Removes all steps after the first `count`.
    func truncate(to count: Int) {
        assert(count >= 0, "\(count) steps")
        let former = (steps: steps, latest: latest)
        if count < former.steps.count { steps = Array(former.steps.prefix(count)) }
        if steps.isEmpty { hasNotice = false }
        latest = nil
        endDeletedRuns()
        withExtendedLifetime(former) {}
    }

    /// Removes all steps and returns them as an action.
    func takeAction() -> UndoAction {
        assert(steps.isEmpty || firstEdition <= edition, "steps of edition \(firstEdition) in edition \(edition)")
        let action = UndoAction(steps, firstEdition, isRedo: manager.isUndoing)
        for step in steps { note(step, of: action) }
        (steps, hasNotice) = ([], false)
        let former = (latest: latest, runs: deletedRuns)
        deletedRuns = former.runs.only(of: former.latest)
        latest = nil
        withExtendedLifetime(former) {}
        return action
    }

    // MARK: Deletions

    /// The deleted destinations that are known in an ordered relationship; `nil` if none are.
    func deletedRun(of owner: ManagedObject, at slot: Int) -> DeletedRun? { deletedRuns.run(of: owner, at: slot) }

    /// Forgets which destinations are deleted, because a deletion is taken back.
    func endDeletedRuns() {
        let former = deletedRuns
        deletedRuns = DeletedRuns()
        withExtendedLifetime(former) {}
    }

    /// The last action that has deleted an object, if it can still be undone.
    func action(deleting object: ManagedObject) -> UndoAction? { deletions[ObjectIdentifier(object)]?.action }

    private func note(_ step: UndoStep, of action: UndoAction) {
        guard case .deleted = step.change else { return }
        if deletions.count == deletions.capacity { deletions = deletions.filter { $0.value.action != nil } }
        // The action retains the object, so no other one gets its identifier meanwhile.
        deletions[ObjectIdentifier(step.object)] = WeakAction(action: action)
    }

    /// Appends the steps of `body` to the action that has deleted `object`; without one they cannot be undone.
    func reopenDeletion(of object: ManagedObject, _ body: () -> Void) {
        let former = reopened
        reopened = action(deleting: object)
        let isPaused = reopened == nil
        if isPaused { pause() }
        body()
        if isPaused { resume() }
        reopened = former
    }

    /// Removes all steps of an action after the first `count`: what rules that ran again have changed was taken back.
    func truncate(_ action: UndoAction, to count: Int) {
        let removed = action.removeSteps(after: count)
        for step in removed {
            if case .deleted = step.change { deletions[ObjectIdentifier(step.object)] = nil }
        }
    }
}

extension ManagedObjectContext {
    /// Calls `body`, whose changes cannot be undone, whatever journal the context has meanwhile.
    ///
    /// Observers are told afterwards, so that their changes can be undone.
    func withoutSteps<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
        journalPauseCount += 1
        journal?.pause()
        defer {
            // A hook may have set another undo manager: its journal has begun with all pauses that have not ended.
            journal?.resume()
            journalPauseCount -= 1
        }
        return try body()
    }

    /// The number of steps that are not registered yet, plus those of former journals.
    var undoStepCount: Int { formerStepCount + (journal?.steps.count ?? 0) }

    /// Removes all steps after the first ones, to return to the state at which `undoStepCount` was `count`.
    func truncateJournal(to count: Int) { journal?.truncate(to: max(0, count - formerStepCount)) }

    /// Marks all unsaved deletions as ones without a step, because their steps are gone.
    ///
    /// - Complexity: O(deleted objects).
    func markDeletionsUnrecorded() {
        for object in memory.deleted { object.state.insert(.unrecordedDeletion) }
    }
}

extension ManagedObject {
    /// Appends the step that undoes the next change, if the context has an undo manager, and records the property if
    /// the application asks for it.
    @inline(__always)
    final func willChange(_ change: (ManagedObject) -> UndoStep.Change?) {
        withContext { context in
            if context.memory.notesChanges { note(change, in: context) }
        }
    }

    @inline(never)
    private final func note(_ change: (ManagedObject) -> UndoStep.Change?, in context: ManagedObjectContext) {
        let isRecording = context.journal?.isRecording == true
        if !isRecording { context.journal?.skip() }
        let isFollowed = context.memory.hasObserved && context.observed?.follows(self) == true
        guard isRecording || context.eventRecord != nil || isFollowed else { return }
        // Values that `awakeFromFetch` sets are no changes.
        guard state.isDisjoint(with: .awakening), let change = change(self) else { return }
        var beginsEvent = false
        if let record = context.eventRecord {
            let wasEmpty = record.isEmpty
            record.note(change, of: self)
            beginsEvent = wasEmpty && !record.isEmpty
        }
        if isRecording, let journal = context.journal {
            if context.eventDepth == 0 {
                // The first step may have come inside a call, whose end has not given the notice yet.
                beginsEvent = beginsEvent || !journal.hasNotice
                journal.hasNotice = true
            }
            journal.append(UndoStep(object: self, change: change))
        }
        if beginsEvent { context.noteBeginOfEvent() }
        if isFollowed, let property = change.property { context.observed?.noteChange(property, of: self) }
    }

    /// The other end of a relationship, as a step keeps it.
    final func end(_ id: ObjectID) -> UndoStep.End {
        let object = withContext { $0.memory.registry[id] } ?? nil
        return object.map { .object($0) } ?? .row(id)
    }

    /// The step for a destination that leaves a to-many relationship; `nil` if an ordered one does not have it.
    final func removal(of id: ObjectID, from relationship: Relationship) -> UndoStep.Change? {
        guard relationship.isOrdered else { return .removed(relationship.slot, end(id), nil) }
        // The order is about to change anyway, and an order with changes finds places faster.
        beginChange(of: relationship)
        return place(of: id, at: relationship.slot).map { .removed(relationship.slot, end(id), $0) }
    }

    /// The place of a destination in an ordered relationship.
    ///
    /// - Complexity: that of `destinationIndex`, plus O(1) for each deleted destination directly before it, up to those
    ///   that are known (`DeletedRun`).
    final func place(of id: ObjectID, at slot: Int) -> UndoStep.Place? {
        guard let index = destinationIndex(of: id, inOrder: slot) else { return nil }
        assert(destinationID(at: index, inOrder: slot) == id, "\(id) is not at its index \(index)")
        let run = deletedRun(at: slot)
        var start = index
        var predecessor: UndoStep.End?
        while start > 0, let id = destinationID(at: start - 1, inOrder: slot) {
            if let run, run.reaches(start) {
                (start, predecessor) = (run.range.lowerBound, run.predecessor)
                break
            }
            assert(StepCount.note())
            let end = end(id)
            guard case .object(let object) = end, object.state.contains(.deleted) else {
                predecessor = end
                break
            }
            start -= 1
        }
        return UndoStep.Place(index: index, deletedCount: index - start, predecessor: predecessor)
    }

    /// The deleted destinations that are known in this ordered relationship, unless the one before them is deleted.
    private final func deletedRun(at slot: Int) -> DeletedRun? {
        withContext { context -> DeletedRun? in
            guard let run = context.journal?.deletedRun(of: self, at: slot) else { return nil }
            guard let id = run.predecessor?.id else { return run }
            let isDeleted = context.memory.registry.withObject(id) { $0.state.contains(.deleted) }
            return isDeleted == true ? nil : run
        } ?? nil
    }

    /// The destinations of each relationship, by slot.
    ///
    /// If another context has deleted the row, that has emptied the to-one relationships which led here: those objects
    /// are left out.
    final var relations: [[UndoStep.Relation]] {
        let isGone = state.contains(.gone)
        let hasLaterRules = withContext({ !$0.propagatesDeletesAtEndOfEvent }) == true
        return entity.relationships.map { relationship in
            let slot = relationship.slot
            let ids = relationship.isToMany ? destinationIDs(at: slot) : destinationID(at: slot).map { [$0] } ?? []
            let inverse = withShape { $0.inverses[slot] }
            let isLeft =
                (isGone || hasLaterRules || [.noAction, .deny].contains(relationship.deleteRule))
                && inverse?.isOrdered == true
            let isDefinedThere = relationship.isToMany && inverse?.isToMany == false
            return ids.compactMap { id in
                guard isLeft || isGone && isDefinedThere, let inverse, let context = managedObjectContext else {
                    return UndoStep.Relation(end: end(id), place: nil)
                }
                let other = context.object(for: id, from: self, across: relationship)
                if isGone, isDefinedThere, other.destinationID(at: inverse.slot) != storedID { return nil }
                let place = isLeft ? other.place(of: storedID, at: inverse.slot) : nil
                return UndoStep.Relation(end: .object(other), place: place)
            }
        }
    }

    /// Appends steps for changes that lead to objects which leave the context without having been saved.
    final func willForget(_ gone: Set<ObjectID>) {
        guard let journal = withContext({ $0.journal }) ?? nil else { return }
        guard journal.isRecording else { return journal.skip() }
        for (slot, destination) in changes?.values.destinations.pairs ?? [] {
            if let id = destination, gone.contains(id) { willChange { .destination(slot, $0.end(id)) } }
        }
        for (slot, change) in changes?.values.toMany.pairs ?? [] {
            let members = change.list ?? change.added.ids
            let leaving = members.filter(gone.contains)
            if change.isWhole, !leaving.isEmpty { willChange { object in .order(slot, members.map(object.end)) } }
            for id in leaving { willChange { .removed(slot, $0.end(id), nil) } }
        }
    }
}
