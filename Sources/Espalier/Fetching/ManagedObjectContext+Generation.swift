// The generation of its stores that a context reads, and when it moves to a newer one (F-4, MC-51).
//
// A context reads everything from one generation, whatever other contexts save meanwhile: a row that another context
// deletes stays readable, and lists agree with the rows to which they refer. The context moves to the newest generation
//   - when its `save` has written;
//   - when it merges: in `mergeChanges(from:)`, and, if it merges automatically, at the end of an event,
//     which every fetch begins with;
//   - when it refreshes one object or all, in a fetch with `shouldRefreshRefetchedObjects`, and when it is reset;
//   - when a fault fires whose generation is older than `stalenessInterval`;
//   - when it reads of a generation that the store has discarded;
//   - at the end of an event with no object in memory;
//   - when the application calls `setQueryGeneration(from:)`.
// The move affects only later reads. An object in memory keeps its values until it is refreshed or merged (MC-20), and
// a save always checks it against the newest rows.

import EspalierStore

extension ManagedObjectContext {
    /// A token of the generation that the context reads; other contexts can read it too, on any thread (MC-51).
    ///
    /// - Throws: `ContextError.store` if a store could not be read.
    public var queryGenerationToken: QueryGenerationToken {
        get throws(ContextError) { QueryGenerationToken(moment: .snapshots(try snapshots())) }
    }

    /// Makes the context read another generation of its stores from now on (MC-51).
    ///
    /// A pinned context stays at its generation: it does not merge saves of other contexts automatically, and a refresh
    /// or `reset` reads the same generation again. Two calls move it, and pin it again where it arrives: its own `save`
    /// moves it to the generation that contains the saved changes, and `mergeChanges(from:)` to the newest one. A store
    /// whose log has reached its cap discards old generations. A context that is pinned to a discarded generation then
    /// gets `ContextError.queryGenerationExpired`.
    ///
    /// - Parameter token: a context's `queryGenerationToken`, or `.current` for the newest generation. `nil` unpins the
    ///   context and moves it to the newest generation, as a way to advance by hand.
    /// - Throws: `ContextError.queryGenerationOfOtherStores` if the token is of stores that are not open here; `.store`
    ///   if a store could not be read; `.alreadySaving` in a hook of a save that has not written yet, and in the
    ///   closure of a transaction, which return to their generation if they fail.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws(ContextError) {
        if mayTakeBack { try checkIsNotSaving() }
        switch token?.moment {
        case nil: moveToNewestGeneration()
        case .newest:
            moveToNewestGeneration()
            _ = try snapshots()
        case .snapshots(let snapshots):
            guard let hasChanged = generation.replace(by: snapshots) else { throw .queryGenerationOfOtherStores }
            if hasChanged { forgetReads() }
        }
        childSource?.tellEverything()
        generation.isPinned = token != nil
        // A pinned context merges nothing by itself, and reads no other generation.
        if generation.isPinned { leftGenerations = LeftGenerations() }
    }

    /// The snapshot of each open store, by number of the part; takes those that do not exist yet.
    private func snapshots() throws(ContextError) -> [UInt64: any StoreSnapshot] {
        var snapshots: [UInt64: any StoreSnapshot] = [:]
        for position in generation.positions {
            do {
                snapshots[generation.parts[position].part.number] = try generation.snapshot(at: position)
            } catch {
                throw ContextError(error)
            }
        }
        return snapshots
    }

    /// Moves to the newest generation, unless the application has pinned one.
    func advanceGeneration() {
        if !generation.isPinned { moveToNewestGeneration() }
    }

    /// Moves to the newest generation.
    ///
    /// - Parameter saved: by number of the part, the generation that a save of this context has just made. If no other
    ///   save was between, the rows in memory are as new as that generation.
    func moveToNewestGeneration(afterSaving saved: [UInt64: UInt64] = [:]) {
        let former = mailbox == nil ? [] : generation.parts
        guard generation.advance(afterSaving: saved) else { return }
        if !former.isEmpty { keepLeftGeneration(former) }
        forgetReads()
    }

    /// Returns to the generation that was read when the parts were these.
    func goBackToGeneration(_ parts: [ReadGeneration.PartRead]) {
        if generation.goBack(to: parts) { forgetReads() }
    }

    /// Releases the generation at the end of an event, unless an object in memory belongs to it, or a request that
    /// another thread reads: its rows would have to be read again.
    func endIdleGeneration() {
        guard memory.registry.count == 0, readsAside == 0, !generation.isPinned else { return }
        generation.end()
        cache.removeAll()
    }

    /// Empties the cache, which holds rows of a generation that is no longer read, and forgets the rows of it that
    /// cascades reach.
    ///
    /// Unfired faults drop their rows for the same reason, unless the context merges automatically: then it learns
    /// which rows have changed. The lists of changed objects whose rows are deleted stay, because a merge policy needs
    /// them to insert such objects again. Lists with unsaved changes may have another content below these changes.
    func forgetReads() {
        var lists: [ObjectID: [(slot: Int, list: [ObjectID])]] = [:]
        for object in memory.updated where object.hasRow {
            for relationship in object.entity.relationships where relationship.isToMany {
                guard let list = cache.list(of: object.storedID, at: relationship.slot) else { continue }
                lists[object.storedID, default: []].append((relationship.slot, list))
            }
        }
        for object in memory.updated { object.noteOtherLists() }
        cache.removeAll()
        memory.reached.forgetRows()
        if mailbox == nil {
            for object in memory.registry.objects where object.isClean && object.isFault { object.row = nil }
            childSource?.tellEverything()
        }
        let owners = lists.keys.compactMap { memory.registry[$0] }
        // If the rows cannot be read now, the next read reports the error.
        guard !owners.isEmpty, let rows = try? storedRows(ofObjects: owners) else { return }
        for (object, stored) in rows where stored == nil {
            for (slot, list) in lists[object.storedID] ?? [] {
                cohort(of: object).keep([list], of: [object.storedID], at: slot)
            }
        }
    }
}

extension ManagedObject {
    /// Whether it only shows its row, which may be read again: it has no changes, its row is not known to be deleted,
    /// and no hook is about to see its values.
    final var isClean: Bool {
        state.isDisjoint(with: [.inserted, .updated, .deleted, .inaccessible, .awakening])
    }
}
