// What the log of a store adds to its file: for tools that look at bytes.

/// The commits in a log that the store file does not have yet.
package struct LoggedPages {
    /// Pages of the newest state.
    package let pageCount: UInt32
    /// The newest transaction.
    package let transaction: UInt64
    /// Commits in the log that count.
    package let commitCount: Int
    /// Bytes of the log from the checkpoint to the end of the newest commit.
    package let liveByteCount: UInt64
    private let walk: LogWalk?

    /// Reads the log beside a store; nothing if page 0 has no slot that counts.
    ///
    /// - Parameter log: asked for when page 0 was read, as in `StoreAudit.run`.
    /// - Throws: why the bytes are no store, or cannot be read. A damaged log ends where the damage begins.
    /// - Complexity: O(bytes of the log); some bytes of memory for each page in it.
    package init?(store: any ByteSource, log: @autoclosure () -> (any ByteSource)?) throws(AuditFailure) {
        let page0 = try store.read(at: 0, count: 4096)
        let log = log()
        var findings = AuditFindings()
        let superblock = try Superblock(page0, &findings)
        guard superblock.hasValidPageSize,
            let slot = CheckpointSlot.newest(in: page0, hasLog: log != nil, &findings)
        else { return nil }
        walk = try LogWalk.beside(store: superblock, slot, log, &findings)
        let state = walk?.state ?? slot.state
        (pageCount, transaction) = (state.pageCount, state.transaction)
        commitCount = walk?.commitCount ?? 0
        // Without a commit that counts the walk may begin behind the slot's position.
        liveByteCount = walk.map { $0.commitCount == 0 ? 0 : $0.commitLSN - $0.startLSN } ?? 0
    }

    /// The newest version of a page in the log; nothing if the log has none.
    package func page(_ number: UInt32) throws(AuditFailure) -> [UInt8]? { try walk?.page(number) }
}
