// An integrity check in slices, all on one snapshot.
//
// Invariants
//   1. The slices together report what one check of the snapshot would report.
//   2. The snapshot lives until the check is complete or the session ends. Meanwhile it keeps part of the log, and it
//      can expire like any snapshot; the check then ends and reports that (`isSnapshotExpired`).

/// An integrity check that can be interrupted and resumed.
///
/// Use it from one thread at a time.
public final class CheckSession {
    private var check: IntegrityCheck
    private let clock: any FileSystem

    init(_ engine: Engine) throws(StorageError) {
        check = try IntegrityCheck(engine)
        clock = engine.fileSystem
    }

    deinit { end() }

    /// Releases the snapshot, even if the check is not over.
    public func end() { check.end() }

    /// The findings and counts so far.
    public var report: CheckReport { check.report }

    /// Whether nothing is left to do: the check is complete, its snapshot has expired, or the catalog is too damaged to
    /// list the trees.
    public var isOver: Bool { check.isOver }

    /// Continues the check until it is complete or a budget is used up.
    ///
    /// - Parameters:
    ///   - pages: the maximum number of pages to check; a bitmap page counts as one.
    ///   - milliseconds: the maximum time to spend; the read of a single page can exceed it.
    /// - Returns: the findings and counts so far; `isComplete` tells whether the whole store was checked. If
    ///   `isSnapshotExpired` is set, the rest cannot be checked: begin another session for the newest commit.
    /// - Throws: `io`, `closed`, `transaction(.ended)` after ``end()``. Damage is reported, not thrown.
    public func resume(pages: Int = .max, milliseconds: Int = .max) throws(StorageError) -> CheckReport {
        let begin = clock.now()
        var stepCount = 0
        do throws(StorageError) {
            while stepCount < pages, try check.step() {
                stepCount += 1
                // The clock may be set back; then only `pages` limits the slice.
                let now = clock.now()
                if now > begin, (now - begin) / 1_000_000 >= UInt64(clamping: milliseconds) { break }
            }
        } catch .transaction(.snapshotExpired) {
            check.expire()
        }
        assert(stepCount == 0 || stepCount <= pages, "\(stepCount) of \(pages) steps")
        if check.isOver { check.end() }
        return check.report
    }
}
