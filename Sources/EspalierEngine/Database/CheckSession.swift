// A check in slices: so much now, the rest later, all on one snapshot.
//
// Invariants
//   1. What the slices report together is what one check of the snapshot would report.
//   2. The snapshot lives until the check is complete, or the session ends; it keeps part of the log meanwhile, and may
//      be given up for that, as any snapshot: then the check ends, and says so.

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

    /// Lets the snapshot go, also if the check is not over.
    public func end() { check.end() }

    /// What was found and counted so far.
    public var report: CheckReport { check.report }

    /// Whether there is nothing left to do: the check is complete, its snapshot was given up, or the catalog is too
    /// damaged to tell which trees there are.
    public var isOver: Bool { check.isOver }

    /// Goes on with the check until it is complete or a budget is used up.
    ///
    /// - Parameters:
    ///   - pages: the most pages to look at; a bitmap page counts as one.
    ///   - milliseconds: the longest time to take, as far as single reads allow.
    /// - Returns: what was found and counted so far; `isComplete` tells whether the whole store was checked, and
    ///   `isSnapshotExpired` that the rest cannot be: begin another session for the newest commit.
    /// - Throws: `io`, `closed`, `transaction(.ended)` after ``end()``. Damage is reported, not thrown.
    public func resume(pages: Int = .max, milliseconds: Int = .max) throws(StorageError) -> CheckReport {
        let begin = clock.now()
        var stepCount = 0
        do throws(StorageError) {
            while stepCount < pages, try check.step() {
                stepCount += 1
                // A clock may be set back; then the slice is as long as its pages last.
                let now = clock.now()
                if now > begin, (now - begin) / 1_000_000 >= UInt64(clamping: milliseconds) { break }
            }
        } catch .transaction(.snapshotExpired) {
            check.expire()
        }
        if check.isOver { check.end() }
        return check.report
    }
}
