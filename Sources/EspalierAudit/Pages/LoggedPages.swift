// The pages that a log adds to its store file, for tools that show bytes.

/// The commits of a log that the store file does not contain yet.
package struct LoggedPages {
    /// The number of pages in the newest state.
    package let pageCount: UInt32
    /// The number of the newest transaction.
    package let transaction: UInt64
    /// The number of valid commits in the log.
    package let commitCount: Int
    /// The bytes of the log from the checkpoint to the end of the newest commit.
    package let liveByteCount: UInt64
    private let walk: LogWalk?

    /// Reads the log beside a store; `nil` if page 0 has no valid slot or no valid page size.
    ///
    /// - Parameter log: the log file. It is evaluated after page 0 is read, as in `StoreAudit.run`.
    /// - Throws: `AuditFailure` if the bytes are not a store or cannot be read. A damaged log ends where the damage
    ///   begins.
    /// - Complexity: O(bytes of the log); memory of some bytes per page in the log.
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
        // Without a valid commit the walk may begin after the slot's LSN.
        liveByteCount = walk.map { $0.commitCount == 0 ? 0 : $0.commitLSN - $0.startLSN } ?? 0
    }

    /// The newest version of a page in the log; `nil` if the log does not hold the page.
    package func page(_ number: UInt32) throws(AuditFailure) -> [UInt8]? { try walk?.page(number) }
}
