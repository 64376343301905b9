// The stream of changes: delivers each durable commit of the log once, in order.
//
// The consumer pulls. A commit never waits for it: while a feed lives, the log keeps the commits that it has not read,
// up to the log's soft cap. A feed that falls further behind, or that continues from before the store was closed, gets
// `changesGone` and must continue from an increment.
//
// Invariants
//   1. A change is delivered only after a sync covered it, so no crash can undo it.
//   2. A frame counts only if it is where its position says, with the salt of its segment and the right hash. So the
//      walk notices a segment that was recycled meanwhile, and throws `changesGone`.

/// Delivers the commits of an open store, oldest first.
///
/// Use it from one thread at a time.
public final class ChangeFeed {
    /// The newest commit that was delivered; before the first delivery, the point that the feed was made with.
    public private(set) var point: BackupPoint
    private let engine: Engine
    private let name: UInt64

    init(_ engine: Engine, after point: BackupPoint) throws(StorageError) {
        let state = engine.board.state
        let here = BackupPoint(engine.superblock, origin: engine.superblock.storeIdentifier, state, increments: 0)
        guard point.isOfSameStore(as: here) else { throw .backup(.otherStore) }
        guard point.lsn <= here.lsn, point.transactionID <= here.transactionID else { throw .backup(.otherBase) }
        self.engine = engine
        self.point = point
        name = engine.feeds.add(point.lsn)
        assert(point.lsn <= engine.board.state.commitLSN, "invariant 1: \(point.lsn) is not committed")
    }

    deinit { engine.feeds.remove(name) }

    /// The durable commits after `point`, oldest first; none if there is nothing new.
    ///
    /// - Parameter byteCount: the call ends after so many bytes of pages, and leaves the rest to the next call; a
    ///   commit is never split.
    /// - Throws: `changesGone`, `closed`, `io`.
    /// - Complexity: O(bytes delivered).
    public func next(upTo byteCount: Int = 16 << 20) throws(StorageError) -> [CommittedChange] {
        let end = min(engine.board.state.commitLSN, engine.queue.durablePosition)
        guard end > point.lsn else { return [] }
        guard let log = engine.log else { throw .maintenance(.changesGone) }
        var walk = LogWalk(log, after: point, storeSeed: engine.superblock.hashSeed)
        var changes: [CommittedChange] = []
        var last = point
        var left = byteCount
        while let change = try walk.nextCommit(before: end) {
            changes.append(change)
            last = change.point
            left -= change.pages.reduce(1) { $0 + $1.bytes.count }
            if left <= 0 { break }
        }
        assert(last.lsn >= point.lsn && last.lsn <= end, "invariant 1: \(end) is durable, \(last.lsn) is delivered")
        point = last
        engine.feeds.move(name, to: point.lsn)
        return changes
    }
}

extension Database {
    /// A feed of the commits after `point`, which is the end of a backup of this store.
    ///
    /// - Throws: `backup(.otherStore)`, `backup(.otherBase)`, `readOnly`, `closed`.
    public func changes(after point: BackupPoint) throws(StorageError) -> ChangeFeed {
        try checkOpen()
        guard !engine.isReadOnly else { throw .database(.readOnly) }
        return try ChangeFeed(engine, after: point)
    }
}
