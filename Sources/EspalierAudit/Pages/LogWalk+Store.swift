// The decision whether the log beside a store counts: the newest slot requires it, and its header must fit the store.

extension LogWalk {
    /// The walk over the log beside a store; `nil` if the log does not count.
    static func beside(
        store superblock: Superblock, _ slot: CheckpointSlot, _ log: (any ByteSource)?, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> LogWalk? {
        guard !slot.isClosedCleanly else {
            if let log { try checkNothingNewer(in: log, superblock, slot, &findings) }
            return nil
        }
        guard let log else {
            findings.add(60, .log(offset: 0), "the store was not closed cleanly, and its log is missing")
            return nil
        }
        let bytes = try log.read(at: 0, count: Int(LogHeader.byteCount))
        let header: LogHeader
        do throws(Breach) {
            header = try LogHeader(bytes, superblock, slot)
        } catch {
            findings.add(error.rule, .log(offset: UInt64(error.offset)), error.text)
            return nil
        }
        return try LogWalk(log, header, superblock, slot, &findings)
    }

    /// Reports a slot that says "closed cleanly" if the log has a later commit that says that more was durable.
    private static func checkNothingNewer(
        in log: any ByteSource, _ superblock: Superblock, _ slot: CheckpointSlot, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        // A file without a valid header of a log of this store is ignored.
        let bytes = try log.read(at: 0, count: Int(LogHeader.byteCount))
        guard let header = try? LogHeader(bytes, superblock, nil) else { return }
        let commits = LogCommits(log: log, header: header, segments: try SegmentTable(log, header, superblock))
        guard try commits.hasAcknowledgedCommit(after: slot.lsn) else { return }
        findings.add(
            12, .page(0, offset: 0),
            "the newest slot says that the store was closed cleanly, but the log has a later durable commit")
    }
}
