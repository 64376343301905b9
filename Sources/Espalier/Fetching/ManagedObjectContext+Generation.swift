// The generation of its stores that a context reads, and when it moves to a newer one (F-4, MC-51).
//
// A context reads everything from one generation, whatever others save meanwhile: a row that another context deletes
// stays readable, and lists agree with the rows they lead to. The context moves to the newest generation
//   - when its `save` has written;
//   - when it merges: at `processPendingChanges`, with which fetches begin, if it merges by itself, and in
//     `mergeChanges(from:)`;
//   - when it refreshes one object or all, and when it is reset;
//   - when the application says so, by `setQueryGeneration(from:)`.
// The move affects what is read afterwards. An object in memory keeps its values until it is refreshed or merged
// (MC-20), and a save checks it against the newest rows in any case.

import EspalierStore

extension ManagedObjectContext {
    /// The generation that the context reads, for others to read it too, on any thread (MC-51).
    ///
    /// - Throws: `ContextError.store` if a store could not be read.
    public var queryGenerationToken: QueryGenerationToken {
        get throws(ContextError) { QueryGenerationToken(moment: .snapshots(try snapshots())) }
    }

    /// Makes the context read another generation of its stores from now on (MC-51).
    ///
    /// Pinned to one, the context stays there: saves of others are not merged, and refreshing reads the same generation
    /// again. Only its own `save` moves it on, to the generation that has what it saved, where it is pinned again. A
    /// store whose log has reached its cap gives old generations up. A context that is pinned to such a generation then
    /// gets `ContextError.queryGenerationExpired`.
    ///
    /// - Parameter token: a context's `queryGenerationToken`, or `.current` for the newest generation. `nil` unpins the
    ///   context and moves it to the newest one: how to advance by hand.
    /// - Throws: `ContextError.queryGenerationOfOtherStores` if the token is of stores that are not open here; `.store`
    ///   if one could not be read.
    public func setQueryGeneration(from token: QueryGenerationToken?) throws(ContextError) {
        switch token?.moment {
        case nil: moveToNewestGeneration()
        case .newest:
            moveToNewestGeneration()
            _ = try snapshots()
        case .snapshots(let snapshots):
            guard let isOther = generation.read(snapshots) else { throw .queryGenerationOfOtherStores }
            if isOther { forgetReads() }
        }
        generation.isPinned = token != nil
    }

    /// What is read of each open store, by number of the part, from now on if nothing was read yet.
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

    /// Moves to the newest generation, unless the application has chosen one.
    func advanceGeneration() {
        if !generation.isPinned { moveToNewestGeneration() }
    }

    /// Moves to the newest generation.
    ///
    /// - Parameter saved: by number of the part, the generation that a save of this context has just made: what is in
    ///   memory is as new, if nothing else lies between.
    func moveToNewestGeneration(afterSaving saved: [UInt64: UInt64] = [:]) {
        if generation.advance(afterSaving: saved) { forgetReads() }
    }

    /// Goes back to the generation that was read when the parts were these.
    func goBackToGeneration(_ parts: [ReadGeneration.Part]) {
        if generation.goBack(to: parts) { forgetReads() }
    }

    /// Releases the generation at the end of an event, if no object in memory belongs to it.
    func endIdleGeneration() {
        guard memory.registry.count == 0, !generation.isPinned else { return }
        generation.end()
        cache.removeAll()
    }

    /// Empties the cache: what it holds is of another generation than the one that is read now.
    ///
    /// So are rows of unfired faults, unless the context merges by itself and so is told of those that have changed.
    /// The lists of changed objects whose rows are gone stay: with them a merge policy inserts such objects again.
    /// Lists that are changed here may be others below these changes.
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
        if mailbox == nil {
            for object in memory.registry.objects where object.isClean && object.isFault { object.row = nil }
        }
        let owners = lists.keys.compactMap { memory.registry[$0] }
        // If they cannot be read now, the next reader reports why.
        guard !owners.isEmpty, let rows = try? storedRows(ofObjects: owners) else { return }
        for (object, stored) in rows where stored == nil {
            for (slot, list) in lists[object.storedID] ?? [] {
                cohort(of: object).keep([list], of: [object.storedID], at: slot)
            }
        }
    }
}

extension ManagedObject {
    /// Whether it only shows its row, which may be read again: it has no changes, is not known to be gone, and no hook
    /// is about to see its values.
    final var isClean: Bool {
        state.isDisjoint(with: [.inserted, .updated, .deleted, .inaccessible, .awakening])
    }
}
