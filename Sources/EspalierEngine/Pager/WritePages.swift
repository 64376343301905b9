// The writer's side of the pages: private copies, and spilling them when they become too many.
//
// Invariants
//   1. A page is copied at the first `edit`, and the committed version stays as it is for everyone else.
//   2. At most `Engine.privateCopyMax` copies are in memory, pinned ones aside. What is spilled lies in the log
//      without a commit: recovery passes over it unless the commit comes.
//   3. Log positions are not taken back when a transaction is given up, so a cached spilled version can never be
//      mistaken for a version of a later transaction.

import Synchronization

/// The pages that the write transaction sees and changes.
package final class WritePages: WritablePageSource {
    let versions: PageVersions
    /// What was changed.
    let writes: WriteSet
    /// What this transaction looked up in the catalog, and changed of it.
    var trees = TreeTable()
    private let ended = Atomic(false)

    /// A writer on top of `state`, the newest that was appended.
    init(_ engine: Engine, state: StoreState, index: LogIndex) {
        versions = PageVersions(engine, state: state, index: index, mark: nil)
        writes = WriteSet(state: state)
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

    /// Throws `transactionEnded`.
    @inline(__always)
    func checkUsable() throws(StorageError) {
        if isEnded { throw .transactionEnded }
    }

    /// Ends the transaction; `false` if it has ended before.
    func end() -> Bool {
        // Cursors that are still around look again, and find that the transaction has ended.
        writes.changeCount &+= 1
        return !ended.exchange(true, ordering: .relaxed)
    }

    @inline(__always)
    package func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
        if let copy = writes.copy(of: page) { return copy.pin() }
        try checkUsable()
        if let place = writes.spilledPlace(of: page) { return try pinSpilled(page, at: place) }
        guard page != 0, page < writes.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        return try versions.pin(page)
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
        writes.changeCount &+= 1
        if let copy = writes.copy(of: page) { return copy.pin() }
        guard page != 0, page < writes.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        if writes.copies.count >= engine.privateCopyMax { try spill() }
        if writes.isFresh(page) {
            let copy = makeCopy(of: page)
            copy.view.clear(0..<pageSize)
            writes.add(copy)
            return copy.pin()
        }
        let source = try pin(page)
        let copy = makeCopy(of: page)
        copy.view.copy(from: source.view, at: 0, to: 0, count: pageSize)
        writes.add(copy)
        return copy.pin()
    }

    /// Memory for a private copy: a frame of the pool, or its own if all frames are pinned.
    private func makeCopy(of page: PageNumber) -> WriteSet.Copy {
        // SAFETY: a frame that was taken, and a loose page that was made, are this transaction's alone.
        if let frame = pool.takeFrame() {
            return unsafe WriteSet.Copy(
                page: page, frame: frame, view: pool.view(of: frame), counter: pool.pinCounter(of: frame))
        }
        let loose = pool.makeLoosePage(pins: BufferPool.exclusive)
        return unsafe WriteSet.Copy(page: page, frame: -1, view: loose.view, counter: loose.counter)
    }

    /// Gives the memory of a private copy back.
    func release(_ copy: WriteSet.Copy) {
        // SAFETY: the copy left the write set; a cursor that still pins it keeps the memory until it moves.
        unsafe copy.counter.pointee.subtract(BufferPool.exclusive, ordering: .releasing)
    }

    /// Makes a private copy the shared version of its page at `place`.
    func share(_ copy: WriteSet.Copy, at place: LogPlace) {
        if copy.frame >= 0 {
            pool.share(copy.frame, as: copy.page, version: place.lsn)
        } else {
            release(copy)
        }
    }

    /// Moves the older half of the private copies to the log.
    private func spill() throws(StorageError) {
        let victims = writes.copies.prefix((writes.copies.count + 1) / 2).filter { !$0.isPinned }
            .sorted { $0.page < $1.page }
        guard !victims.isEmpty else { return }
        let places = try engine.spill(victims.map { LoggedPage(number: $0.page, view: $0.view) })
        for (copy, place) in zip(victims, places) {
            _ = writes.removeCopy(of: copy.page)
            writes.addSpilled(copy.page, at: place)
            share(copy, at: place)
        }
    }

    /// Gives all changes up.
    func discardWrites() {
        for copy in writes.removeAllCopies() { release(copy) }
    }
}
