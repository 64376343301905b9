// The pages of a read transaction: one snapshot.

import Synchronization

/// The pages that a read transaction sees.
package final class ReadPages: PageSource {
    let versions: PageVersions
    /// What this transaction looked up in the catalog.
    var trees = TreeTable()
    private let ended = Atomic(false)

    /// A snapshot of the newest commit.
    init(_ engine: Engine) throws(StorageError) {
        let snapshot = try engine.board.begin()
        versions = PageVersions(engine, state: snapshot.state, index: snapshot.index, mark: snapshot.mark)
    }

    deinit { end() }

    package var canChange: Bool { false }
    package var pageSize: Int { versions.pool.pageSize }
    package var pageCount: UInt32 { versions.state.pageCount }
    package var changeCount: UInt64 { 0 }

    /// Whether the transaction is over.
    @inline(__always)
    var isEnded: Bool { ended.load(ordering: .relaxed) }

    /// Throws `transactionEnded` or `snapshotExpired`.
    @inline(__always)
    func checkUsable() throws(StorageError) {
        if isEnded { throw .transactionEnded }
        if let mark = versions.mark, mark.isExpired { throw .snapshotExpired }
    }

    /// Ends the transaction, if it has not ended yet.
    func end() {
        guard !ended.exchange(true, ordering: .relaxed), let mark = versions.mark else { return }
        versions.engine.board.end(mark)
    }

    @inline(__always)
    package func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
        try checkUsable()
        guard page != 0, page < versions.state.pageCount else { throw .corrupt(.pageBeyondEnd, page: page) }
        return try versions.pin(page)
    }
}
