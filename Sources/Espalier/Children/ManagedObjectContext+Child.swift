// Child contexts: drafts on top of another context's unsaved state (MC-06, MC-43 to MC-46).

import EspalierModel

extension ManagedObjectContext {
    /// Makes a child context: a draft of changes to what `parent` shows, at any depth (MC-06).
    ///
    /// The child reads its parent's unsaved state: fetches, counts, faults and relationships find the objects that the
    /// parent has inserted, changed or deleted. Its own changes are invisible to the parent until the child saves. A
    /// save goes one level up: the changes become unsaved changes of the parent, and one step of the parent's undo
    /// manager. A store is written when a context without a parent saves. To cancel the draft, release the child.
    ///
    /// ```swift
    /// let draft = ManagedObjectContext(parent: context)
    /// let person = try draft.existingObject(with: id) as? Person
    /// person?.name = "Ada"
    /// try draft.save()  // `context` has the change now
    /// try context.save()  // and now the store
    /// ```
    ///
    /// Each save and each read works as with a store. If the parent or another child has changed or deleted an object
    /// that the child has changed, the child's save reports the conflict or asks the child's ``mergePolicy``. A child
    /// merges the changes of its parent at each fetch, save and `processPendingChanges`, below its own changes; set
    /// ``automaticallyMergesChangesFromParent`` to `false` for a child that reads one moment of its parent.
    ///
    /// The events of a child end together with those of the context at the root, and before them: when the main actor
    /// is free, after a block of a ``BackgroundContext``, or after a job of a ``ContextActor``. Then delete rules run,
    /// changes form an undo group, observers are told, and a child with `autosaveEnabled` saves to its parent (MC-36).
    ///
    /// A child is used where its parent is: the child retains its parent and is not Sendable, so the compiler keeps
    /// both in one isolation region. For work in the background make a context on the coordinator instead.
    ///
    /// A new object of the parent gets its permanent ID as soon as a child reads it, and one of the child when it is
    /// saved to the parent: its ID does not change any more when the root saves (MC-45).
    public convenience init(parent: ManagedObjectContext) {
        let source: ParentSource
        if let known = parent.childSource {
            source = known
        } else {
            source = ParentSource(parent)
            parent.childSource = source
            parent.runAllDeleteRules()
        }
        self.init(childOf: source)
        automaticallyMergesChangesFromParent = true
        // In an initializer, setting the property does not run its observer.
        if mailbox == nil { mailbox = source.subscribe(notice: mergeNotice) }
    }

    /// Runs the delete rules of all deleted objects again.
    ///
    /// For rows that are not in memory the context has left them to the store, but a child sees their effects before.
    private func runAllDeleteRules() {
        guard !memory.deleted.isEmpty else { return }
        for object in memory.deleted where object.state.contains(.propagated) {
            object.state.remove(.propagated)
            unpropagated.append(object)
        }
        replaceReached(by: ReachedRows())
        runDeleteRules()
    }
}
