// The pages of the write transaction: private copies, which are spilled to the log when they become too many.
//
// Invariants
//   1. A page is copied at the first `edit`; other transactions keep seeing the committed version.
//   2. At most `Engine.privateCopyMax` copies are in memory, including those kept for savepoints but not pinned ones.
//      Spilled versions are in the log without a commit: recovery ignores them unless the commit follows.
//   3. A rollback resets the log to its end before the first spilled version. The cache forgets the spilled versions
//      first, so that none can be mistaken for a version of a later transaction.

import Synchronization

/// The pages that the write transaction sees and changes.
package final class WritePages: WritablePageSource {
    let versions: PageVersions
    /// The changes of this transaction.
    let writes: WriteSet
    /// The records of the catalog that this transaction has looked up or changed.
    var trees: TreeTable
    /// How often trees were dropped, renamed or undone, or their roots moved.
    var treeChangeCount: UInt64 = 0
    /// The end of the log before the first spilled version; `nil` if nothing is spilled.
    private var logEnd: Log.End?
    private let ended = Atomic(false)

    /// Begins a writer on top of `state`, the newest appended state.
    init(_ engine: Engine, state: StoreState, index: LogIndex) {
        versions = PageVersions(engine, state: state, index: index, mark: nil)
        writes = WriteSet(state: state)
        trees = TreeTable(engine.storeMark)
    }

    package var canChange: Bool { true }
    package var pageSize: Int { versions.pool.pageSize }
    package var pageCount: UInt32 { writes.state.pageCount }
    package var changeCount: UInt64 { writes.changeCount }
    var engine: Engine { versions.engine }
    var pool: BufferPool { versions.pool }

    /// Whether the transaction is over.
    @inline(__always)
    var isEnded: Bool { ended.load(ordering: .relaxed) }

    /// Throws `transaction(.ended)`.
    @inline(__always)
    func checkUsable() throws(StorageError) {
        if isEnded { throw .transaction(.ended) }
    }

    /// Ends the transaction; `false` if it has ended before.
    func end() -> Bool {
        // Cursors that are still open then check again, and find that the transaction has ended.
        writes.changeCount &+= 1
        return !ended.exchange(true, ordering: .relaxed)
    }

    @inline(__always)
    package func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
        if let copy = writes.copy(of: page) { return copy.pin() }
        try checkUsable()
        if let place = writes.spilledPlace(of: page) { return try pinSpilled(page, at: place) }
        guard page != 0, page < writes.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        if let pin = versions.pinIfPresent(page) { return pin }
        return try load(page)
    }

    @inline(never)
    private func load(_ page: PageNumber) throws(StorageError) -> PagePin { try versions.load(page) }

    package func pin(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        // Pages that this transaction has changed are read in vain: `pin` finds its own versions first.
        if writes.copy(of: page) == nil, !isEnded, page != 0, page < versions.state.pageCount,
            writes.spilledPlace(of: page) == nil, !versions.isPresent(page)
        {
            versions.readAhead(from: page, ahead)
        }
        return try pin(page)
    }

    private func pinSpilled(_ page: PageNumber, at place: LogPlace) throws(StorageError) -> PagePin {
        let pin = try pool.pin(page, version: place.lsn) { target throws(StorageError) in
            try versions.files.readFrame(of: page, at: place, to: target)
        }
        guard let pin else {
            throw .corrupt(.logFrame, page: page, byteOffset: Int(truncatingIfNeeded: place.fileOffset), file: .log)
        }
        return pin
    }

    package func edit(_ page: PageNumber) throws(StorageError) -> PagePin {
        assert(!isEnded, "page \(page) is changed after the end of the transaction")
        writes.changeCount &+= 1
        if let copy = writes.copy(of: page), copy.epoch == writes.epoch { return copy.pin() }
        return try makeEditable(page)
    }

    package func editAgain(_ page: PageNumber) throws(StorageError) -> PagePin? {
        assert(!isEnded, "page \(page) is changed after the end of the transaction")
        guard let copy = writes.copy(of: page), copy.epoch == writes.epoch else { return nil }
        writes.changeCount &+= 1
        return copy.pin()
    }

    /// Pins a page for writing that has no private copy, or one that a savepoint may have to keep.
    @inline(never)
    private func makeEditable(_ page: PageNumber) throws(StorageError) -> PagePin {
        guard page != 0, page < writes.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        if writes.copyCount + keptCopyCount >= engine.privateCopyMax { try spill() }
        if let kept = noteForSavepoint(page) {
            let copy = allocateCopy(of: page)
            copy.view.copy(from: kept.view, at: 0, to: 0, count: pageSize)
            writes.add(copy)
            return copy.pin()
        }
        if let copy = writes.copy(of: page) {
            writes.setEpoch(of: page)
            return copy.pin()
        }
        if writes.isFresh(page) {
            let copy = allocateCopy(of: page)
            copy.view.clear(0..<pageSize)
            writes.add(copy)
            return copy.pin()
        }
        let source = try pin(page)
        let copy = allocateCopy(of: page)
        copy.view.copy(from: source.view, at: 0, to: 0, count: pageSize)
        writes.add(copy)
        return copy.pin()
    }

    /// Allocates a private copy: a frame of the pool, or separate memory if all frames are pinned.
    private func allocateCopy(of page: PageNumber) -> WriteSet.Copy {
        // SAFETY: this transaction is the only owner of a frame that `takeFrame` returned, and of a new loose page.
        if let frame = pool.takeFrame() {
            return unsafe WriteSet.Copy(
                page: page, frame: frame, view: pool.view(of: frame), counter: pool.pinCounter(of: frame))
        }
        let loose = pool.makeLoosePage(pins: BufferPool.exclusive)
        return unsafe WriteSet.Copy(page: page, frame: -1, view: loose.view, counter: loose.counter)
    }

    /// Releases the memory of a private copy.
    func release(_ copy: WriteSet.Copy) {
        assert(copy.hasOwner, "the copy of page \(copy.page) is released twice")
        // SAFETY: the copy left the write set; a cursor that still pins it keeps the memory until it moves.
        unsafe copy.counter.pointee.subtract(BufferPool.exclusive, ordering: .releasing)
    }

    /// Makes a private copy the shared version of its page at `place`.
    func share(_ copy: WriteSet.Copy, at place: LogPlace) {
        assert(copy.view.lsn == place.lsn, "page \(copy.page) at \(place.lsn) states the position \(copy.view.lsn)")
        assert(copy.view.storedNumber == copy.page, "page \(copy.page) states the number \(copy.view.storedNumber)")
        if copy.frame >= 0 {
            pool.share(copy.frame, as: copy.page, version: place.lsn)
        } else {
            release(copy)
        }
    }

    /// Moves the copies kept for savepoints to the log, and half of the private copies if they are many.
    private func spill() throws(StorageError) {
        try spillKeptCopies()
        guard writes.copyCount >= engine.privateCopyMax / 2 else { return }
        let victims = writes.copies.prefix((writes.copyCount + 1) / 2).filter { !$0.isPinned }
        for spilled in try writeToLog(victims) {
            _ = writes.removeCopy(of: spilled.copy.page)
            writes.addSpilled(spilled.copy.page, at: spilled.place)
            share(spilled.copy, at: spilled.place)
        }
        assert(writes.isLarge || writes.checkInvariants())
    }

    /// Writes copies to the log, in the order of page numbers.
    func writeToLog(_ copies: [WriteSet.Copy]) throws(StorageError) -> [(copy: WriteSet.Copy, place: LogPlace)] {
        guard !copies.isEmpty else { return [] }
        // Notes of savepoints name versions by 30-bit numbers: 4 TiB of pages.
        guard writes.spilled.count + copies.count < SavepointNotes.numberEnd else { throw .transaction(.logFull) }
        let sorted = copies.sorted { $0.page < $1.page }
        if logEnd == nil { logEnd = engine.log?.end }
        assert(zip(sorted, sorted.dropFirst()).allSatisfy { $0.page < $1.page }, "a page is logged twice")
        let places = try engine.spill(sorted.map { LoggedPage(number: $0.page, view: $0.view) })
        return Array(zip(sorted, places)).map { (copy: $0.0, place: $0.1) }
    }

    /// Makes the newest version of each page the one that this transaction sees: in the log or in a private copy.
    func prepareCommit() throws(StorageError) {
        try trees.writeChangedRecords(to: self)
        releaseSavepoints(from: 0)
        for page in writes.pagesToLogAgain { _ = try edit(page) }
        assert(
            writes.pagesToLogAgain.isEmpty && writes.savepoints.isEmpty,
            "the transaction sees pages that it will not commit")
        assert(writes.checkInvariants())
    }

    /// Discards all changes.
    func discardWrites() {
        releaseSavepoints(from: 0)
        for copy in writes.removeAllCopies() { release(copy) }
        removeSpilledFromLog()
        assert(logEnd == nil && writes.copyCount == 0 && writes.spilled.isEmpty, "invariant 3: something is left")
    }

    /// Resets the log to its end before the first spilled version; none of the spilled versions counts any more.
    func removeSpilledFromLog() {
        guard let end = logEnd else { return }
        for version in writes.spilled { pool.forget(version.page, version: version.place.lsn) }
        assert(engine.log != nil, "pages were spilled without a log")
        engine.log?.rewind(to: end)
        writes.forgetSpilled()
        logEnd = nil
    }
}
