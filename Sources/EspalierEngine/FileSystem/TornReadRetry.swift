// How long a reader doubts what looks damaged, because another process may be in the middle of writing it.
//
// Invariants
//   1. Ends: after half a second, whatever the other process does, damage is believed.
//   2. Where nobody held the lock for writing, neither before a read nor after it, what it found is believed at once.

/// The doubts about one read.
struct TornReadRetry {
    /// So many times at once, since most writes are over in microseconds; then with waits.
    private static let quickMax = 20
    private static let waitMax = 50
    private static let waitMilliseconds = 10

    private let store: any StorageFile
    private var attempts = 0
    /// Whether another process held the lock before the last read; nobody asked before the first.
    private var wasLocked = true

    /// Doubts about what is read of the store in `store`, or of its log.
    init(_ store: any StorageFile) { self.store = store }

    /// Whether to read again; waits until then.
    mutating func shouldReadAgain() -> Bool {
        attempts += 1
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
