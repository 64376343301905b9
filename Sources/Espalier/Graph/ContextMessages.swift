// The messages of a context to the closures that observe it (NT-01 to NT-06).

public import EspalierModel

extension ManagedObjectContext {
    /// The context is about to save; the save includes changes made now (NT-01).
    public struct WillSaveMessage {
        /// The context that saves.
        public let context: ManagedObjectContext
    }

    /// The context has saved (NT-02, NT-03).
    public struct DidSaveMessage {
        /// The context that has saved.
        public let context: ManagedObjectContext
        /// The IDs of the written objects, which may leave the context's isolation.
        public let changes: SavedChanges
        /// The objects that are new in the store.
        public let inserted: Set<ManagedObject>
        /// The objects whose changes were written.
        public let updated: Set<ManagedObject>
        /// The objects that are deleted from the store; they no longer belong to a context.
        public let deleted: Set<ManagedObject>
        /// The generation that the save has made, or a newer one if another context has saved meanwhile; `nil` if a
        /// store could not be read.
        ///
        /// Another context that gets it by `setQueryGeneration(from:)` reads what the save has written. As long as the
        /// token is retained, the stores' logs keep the pages of the generation.
        public let generation: QueryGenerationToken?
    }

    /// An event has given objects values that must be unique and that others have: the next save would refuse them
    /// (F-6).
    ///
    /// Each conflict has an object that was inserted in the event, or whose values of the constraint were set in it.
    /// Violations that a declared action or a merge policy would resolve are left out. In a child, the objects of its
    /// parents count as rows.
    public struct DidBreakConstraintsMessage {
        /// The context whose objects break constraints.
        public let context: ManagedObjectContext
        /// The values, each with the objects and the row that share them.
        public let conflicts: [UniquenessConflict]
    }

    /// Objects in memory have changed since the last such message (NT-04).
    ///
    /// Fetching objects and firing faults are not changes. An object that was inserted and deleted in between is left
    /// out.
    public struct ObjectsDidChangeMessage {
        /// The context whose objects have changed.
        public let context: ManagedObjectContext
        /// Objects that were inserted.
        public let inserted: Set<ManagedObject>
        /// Objects with a property that was set.
        public let updated: Set<ManagedObject>
        /// Objects that had values, and either read the store's at their next use or have their committed ones again.
        public let refreshed: Set<ManagedObject>
        /// Objects that were deleted, here or by a save that was merged.
        public let deleted: Set<ManagedObject>
        /// New objects that `rollback` removed from the context.
        public let invalidated: Set<ManagedObject>
        /// The IDs of all objects that `reset` made the context forget; the sets then contain only later changes.
        public let invalidatedAll: [ObjectID]
    }

    /// The context has moved to the newest generation because a store has discarded the one that it read (MC-51).
    ///
    /// A store discards generations when its log has reached its cap. Unchanged objects have become faults, which
    /// `ObjectsDidChangeMessage` contains; changed ones keep their changes.
    public struct DidLoseGenerationMessage {
        /// The context that has moved.
        public let context: ManagedObjectContext
    }

    /// A save that the context made of its own accord has failed; its changes are as they were (SD-16).
    public struct DidFailToAutosaveMessage {
        /// The context with the changes.
        public let context: ManagedObjectContext
        /// The error that `save()` would have thrown.
        public let error: ContextError
    }

    /// The context has merged saves of other contexts (NT-05).
    public struct DidMergeChangesMessage {
        /// The context that has merged.
        public let context: ManagedObjectContext
        /// The changes that the other contexts have saved.
        public let changes: SavedChanges
    }
}
