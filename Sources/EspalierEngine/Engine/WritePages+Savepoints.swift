// Savepoints in a write transaction: a rollback to a savepoint undoes the later changes, page by page.
//
// Invariants
//   1. Only the newest savepoint records notes. A page without a note is as it was when the savepoint was opened.
//   2. The earlier version of a page is in a kept copy, in the log or in the store file. Kept copies count as private
//      copies. All kept copies are spilled before any private copy, so the older version of a page has the lower log
//      position.
//   3. A rollback to a savepoint does no I/O and so cannot fail. If the newest version of a page in the log no longer
//      counts, the transaction sees an older one, and logs the page again when it is changed or committed
//      (`WriteSet.restored`).
//   4. A rollback does not reset the number of the next tree: a handle of an undone tree never names another tree.

import Synchronization

/// Numbers savepoints, so that a savepoint of another transaction is never mistaken for one of this transaction.
private let savepointCount = Atomic<UInt64>(0)

extension WritePages {
    /// How many private copies are kept for savepoints.
    var keptCopyCount: Int { writes.savepoints.isEmpty ? 0 : writes.savepoints.reduce(0) { $0 + $1.copies.count } }

    // MARK: Opening and ending

    /// Opens a savepoint; returns its number.
    func openSavepoint() -> UInt64 {
        let number = savepointCount.add(1, ordering: .relaxed).newValue
        writes.savepoints.append(
            SavepointNotes(
                number: number, state: writes.state, freeCounts: writes.freeCounts,
                allocationGroup: writes.allocationGroup, trees: trees.copied(), isAtBeginning: writes.isEmpty))
        writes.beginEpoch()
        assert(writes.savepoints.count < 2 || number > writes.savepoints[writes.savepoints.count - 2].number)
        return number
    }

    /// The index of the savepoint `number` among the open ones.
    ///
    /// - Throws: `noSuchSavepoint`, `transaction(.ended)`.
    func place(ofSavepoint number: UInt64) throws(StorageError) -> Int {
        try checkUsable()
        guard let place = writes.savepoints.lastIndex(where: { $0.number == number }) else {
            throw .transaction(.noSuchSavepoint)
        }
        return place
    }

    /// Discards the savepoint at index `place` and the later ones, and keeps the changes.
    func releaseSavepoints(from place: Int) {
        guard place < writes.savepoints.count else { return }
        let released = writes.savepoints[place...]
        writes.savepoints.removeSubrange(place...)
        let outer = writes.savepoints.last
        for notes in released {
            assert(notes.checkInvariants())
            let copies = notes.takeCopies()
            // If the outer savepoint has no note of a page, the page was the same when the outer one was opened.
            notes.forEach { page, before in
                let isKept = outer.map { !$0.has(page) } ?? false
                switch before {
                case .copy(let number) where isKept: outer?.keep(copies[Int(number)])
                case .copy(let number): release(copies[Int(number)])
                case .free, .fresh, .committed, .spilled: if isKept { outer?.add(before, of: page) }
                }
            }
        }
        writes.beginEpoch()
        assert(outer?.checkInvariants() ?? true)
        assert(writes.isLarge || writes.checkInvariants())
    }

    /// Undoes all changes since the savepoint at index `place`, which stays open; the later ones are discarded.
    func goBack(toSavepoint place: Int) {
        assert(writes.savepoints.indices.contains(place), "savepoint \(place) of \(writes.savepoints.count)")
        // Restore from the newest to the oldest, so that the oldest note of each page is applied last.
        for notes in writes.savepoints[place...].reversed() { restore(notes) }
        writes.savepoints.removeSubrange((place + 1)...)
        let notes = writes.savepoints[place]
        if notes.isAtBeginning { removeSpilledFromLog() }
        let nextTreeID = writes.state.nextTreeID
        writes.state = notes.state
        writes.state.nextTreeID = nextTreeID
        writes.freeCounts = notes.freeCounts
        writes.allocationGroup = notes.allocationGroup
        writes.hasFailed = false
        trees = notes.trees.copied()
        treeChangeCount &+= 1
        writes.changeCount &+= 1
        writes.beginEpoch()
        assert(notes.copies.isEmpty, "invariant 1: a page was touched since")
        assert(writes.isLarge || writes.checkInvariants())
    }

    private func restore(_ notes: SavepointNotes) {
        assert(notes.checkInvariants())
        let copies = notes.takeCopies()
        notes.forEach { page, before in
            if let copy = writes.removeCopy(of: page) { release(copy) }
            writes.forget(page)
            switch before {
            case .free: break
            case .fresh: writes.addFresh(page)
            case .committed: writes.show(nil, of: page)
            case .spilled(let number): writes.show(number, of: page)
            case .copy(let number): writes.add(copies[Int(number)])
            }
        }
        notes.removeAll()
    }

    // MARK: Taking notes

    /// Records the version of `page`, if the newest savepoint needs it before the page is changed or freed.
    ///
    /// - Returns: the page's private copy, if the savepoint keeps it now.
    func noteForSavepoint(_ page: PageNumber) -> WriteSet.Copy? {
        guard let notes = writes.savepoints.last, !notes.has(page) else { return nil }
        if let copy = writes.removeCopy(of: page) {
            notes.keep(copy)
            return copy
        }
        if writes.isFresh(page) {
            notes.add(.fresh, of: page)
        } else if let number = writes.spilledNumber(of: page) {
            notes.add(.spilled(number), of: page)
        } else {
            notes.add(.committed, of: page)
        }
        return nil
    }

    /// Records that `page` is allocated; its earlier content does not matter.
    func addFresh(_ page: PageNumber) {
        if let notes = writes.savepoints.last, !notes.has(page) { notes.add(.free, of: page) }
        writes.addFresh(page)
    }

    /// Moves the kept copies to the log (invariant 2).
    func spillKeptCopies() throws(StorageError) {
        for notes in writes.savepoints {
            for spilled in try writeToLog(notes.copies) {
                notes.add(.spilled(UInt32(writes.spilled.count)), of: spilled.copy.page)
                writes.addSpilled(spilled.copy.page, at: spilled.place)
                share(spilled.copy, at: spilled.place)
            }
            _ = notes.takeCopies()
        }
        assert(keptCopyCount == 0, "invariant 2: \(keptCopyCount) copies are kept")
    }
}
