// The pages of a read transaction: one snapshot.
//
// Invariants
//   1. After its transaction has ended, an instance may rest in a slot of `IdleReads` until another transaction uses
//      it. A resting instance has one owner: the slot, or the thread that moves it to or from the slot.

import Synchronization

/// The pages that a read transaction sees.
package final class ReadPages: PageSource {
    let versions: PageVersions
    /// The records of the catalog that this transaction has looked up.
    let trees: TreeTable
    /// The number of open cursors and lookups, which may outlive the transaction.
    var cursorCount = 0
    private let mark: SnapshotMark
    private let ended = Atomic(false)

    /// Begins a snapshot of the newest commit.
    init(_ engine: Engine, label: String?) throws(StorageError) {
        let snapshot = try engine.board.begin(label: label)
        mark = snapshot.mark
        versions = PageVersions(engine, state: mark.state, index: snapshot.index, mark: mark)
        trees = TreeTable(engine.storeMark)
    }

    deinit { end() }

    package var canChange: Bool { false }
    package var pageSize: Int { versions.pool.pageSize }
    package var pageCount: UInt32 { versions.state.pageCount }
    package var changeCount: UInt64 { 0 }

    /// Whether the transaction is over.
    @inline(__always)
    var isEnded: Bool { ended.load(ordering: .relaxed) }

    /// Throws `transaction(.ended)` or `snapshotExpired`.
    @inline(__always)
    func checkUsable() throws(StorageError) {
        if isEnded { throw .transaction(.ended) }
        if mark.isExpired { throw .transaction(.snapshotExpired) }
    }

    /// Ends the transaction, if it has not ended yet.
    func end() {
        guard !ended.exchange(true, ordering: .relaxed) else { return }
        assert(cursorCount >= 0, "\(cursorCount) cursors")
        versions.engine.board.end(mark)
        versions.engine.closeIfAbandoned()
    }

    /// Ends the transaction, and keeps its pages for a later transaction if that can use them.
    ///
    /// Apart from cursors, only the caller refers to the pages.
    @inline(__always)
    func endAndRest() {
        let engine = versions.engine
        assert(!isEnded && cursorCount >= 0, "a transaction rests twice, or has \(cursorCount) cursors")
        guard cursorCount == 0, engine.board.rest(mark) else { return end() }
        ended.store(true, ordering: .relaxed)
        engine.idleReads.exchange(for: self)?.endSnapshot()
        engine.closeIfAbandoned()
    }

    /// Begins again after a rest; returns `false` if the snapshot no longer sees the newest commit, and then ends it.
    @inline(__always)
    func resume() -> Bool {
        assert(isEnded && cursorCount == 0, "a transaction that rests is not over, or has \(cursorCount) cursors")
        guard versions.engine.board.resume(mark) else {
            endSnapshot()
            return false
        }
        ended.store(false, ordering: .relaxed)
        return true
    }

    /// Ends a resting snapshot.
    func endSnapshot() { versions.engine.board.end(mark) }

    @inline(__always)
    package func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
        guard page != 0, page < versions.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        if let pin = versions.pinIfPresent(page) { return pin }
        return try load(page)
    }

    @inline(never)
    private func load(_ page: PageNumber) throws(StorageError) -> PagePin { try versions.load(page) }

    @inline(__always)
    package func pin(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        guard page != 0, page < versions.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        if let pin = versions.pinIfPresent(page) { return pin }
        return try load(page, ahead: ahead)
    }

    @inline(never)
    private func load(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        versions.readAhead(from: page, ahead)
        return try versions.load(page)
    }

    @inline(__always)
    package func prefetch(_ page: PageNumber) { versions.prefetch(page) }
}
