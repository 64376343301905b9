// Repeats a read whose result looks damaged, because another process may be in the middle of a write.
//
// Invariants
//   1. The retries end after half a second, whatever the other process does; the reader then reports the damage.
//   2. If no process held the writer lock before a read and after it, the reader reports the damage at once.

/// The retries of one read.
struct TornReadRetry {
    /// The retries without a wait, because most writes end within microseconds; later ones wait.
    private static let quickMax = 20
    private static let waitMax = 50
    private static let waitMilliseconds = 10

    private let store: any StorageFile
    private var attempts = 0
    /// Whether another process held the lock before the last read; assumed before the first, which is not checked.
    private var wasLocked = true

    /// The retries of a read from the store file `store`, or from its log.
    init(_ store: any StorageFile) { self.store = store }

    /// Whether to read again; waits before it returns `true`.
    mutating func shouldReadAgain() -> Bool {
        attempts += 1
        assert(attempts <= Self.quickMax + Self.waitMax, "attempt \(attempts)")
        let isLocked = store.isLockedByWriter
        defer { wasLocked = isLocked }
        guard attempts < Self.quickMax + Self.waitMax, isLocked || wasLocked else { return false }
        if attempts < Self.quickMax {
            Platform.yield()
        } else {
            Platform.pause(milliseconds: Self.waitMilliseconds)
        }
        return true
    }
}
