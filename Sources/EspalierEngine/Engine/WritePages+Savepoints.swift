// Savepoints in a write transaction: going back undoes what came after, page by page.
//
// Invariants
//   1. Only the newest savepoint takes notes. A page without a note is as it was when the savepoint was opened.
//   2. What a page was lies in a kept copy, in the log or in the store. Kept copies count as private copies; before any
//      private copy is spilled all kept ones are, so of each page the older version has the lower log position.
//   3. Going back does no I/O and so cannot fail: a page whose newest version in the log is of no more use is seen as
//      an older one, and logged once more when it is changed or the transaction is committed (`WriteSet.older`).
//   4. The number of the next tree does not go back: a handle of a tree that is undone never names another one.

import Synchronization

/// Numbers savepoints, so that one of another transaction is never taken for one of this.
private let savepointCount = Atomic<UInt64>(0)

extension WritePages {
    /// How many private copies are kept for savepoints.
    var keptCopyCount: Int { writes.savepoints.isEmpty ? 0 : writes.savepoints.reduce(0) { $0 + $1.copies.count } }

    // MARK: Opening and ending

    /// Opens a savepoint; gives its number.
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

    /// The place among the open savepoints of the one called `number`.
    ///
    /// - Throws: `noSuchSavepoint`, `transaction(.ended)`.
    func place(ofSavepoint number: UInt64) throws(StorageError) -> Int {
        try checkUsable()
        guard let place = writes.savepoints.lastIndex(where: { $0.number == number }) else {
            throw .transaction(.noSuchSavepoint)
        }
        return place
    }

    /// Forgets the savepoint at `place` and those behind it, and keeps the changes.
    func releaseSavepoints(from place: Int) {
        guard place < writes.savepoints.count else { return }
        let released = writes.savepoints[place...]
        writes.savepoints.removeSubrange(place...)
        let outer = writes.savepoints.last
        for notes in released {
            assert(notes.checkInvariants())
            let copies = notes.takeCopies()
            // What the outer one has no note of was as it is here when the outer one was opened.
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

    /// Undoes everything since the savepoint at `place`, which stays open; those behind it are forgotten.
    func goBack(toSavepoint place: Int) {
        assert(writes.savepoints.indices.contains(place), "savepoint \(place) of \(writes.savepoints.count)")
        // From the newest to the oldest, so that of each page the oldest note has the last word.
        for notes in writes.savepoints[place...].reversed() { restore(notes) }
        writes.savepoints.removeSubrange((place + 1)...)
        let notes = writes.savepoints[place]
        if notes.isAtBeginning { takeBackLog() }
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
        assert(notes.copies.isEmpty, "invariant 1: no page was touched since")
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

    /// Takes note of what `page` is, if the newest savepoint needs that before the page is changed or freed.
    ///
    /// - Returns: the page's private copy, if it was taken out to be kept.
    func keep(_ page: PageNumber) -> WriteSet.Copy? {
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

    /// Takes note that `page` is allocated: what it held before is of no interest.
    func addFresh(_ page: PageNumber) {
        if let notes = writes.savepoints.last, !notes.has(page) { notes.add(.free, of: page) }
        writes.addFresh(page)
    }

    /// Moves the kept copies to the log (invariant 2).
    func spillKeptCopies() throws(StorageError) {
        for notes in writes.savepoints {
            for spilled in try log(notes.copies) {
                notes.add(.spilled(UInt32(writes.spilled.count)), of: spilled.copy.page)
                writes.addSpilled(spilled.copy.page, at: spilled.place)
                share(spilled.copy, at: spilled.place)
            }
            _ = notes.takeCopies()
        }
        assert(keptCopyCount == 0, "invariant 2: \(keptCopyCount) copies are kept")
    }
}
