// The positions in the log that readers of committed changes have reached.
//
// Invariants
//   1. A position is listed from `add` until `remove` or `removeAll`; it only grows.

import Synchronization

/// The positions that the change feeds of a store have reached.
final class FeedBoard: Sendable {
    private struct Shared {
        var positions: [UInt64: UInt64] = [:]
        var nextName: UInt64 = 0
    }

    private let shared = Mutex(Shared())

    func add(_ lsn: UInt64) -> UInt64 {
        shared.withLock { shared in
            shared.nextName += 1
            shared.positions[shared.nextName] = lsn
            return shared.nextName
        }
    }

    func move(_ name: UInt64, to lsn: UInt64) {
        shared.withLock { shared in
            guard let old = shared.positions[name] else { return }
            assert(old <= lsn, "invariant 1: feed \(name) goes back from \(old) to \(lsn)")
            shared.positions[name] = lsn
        }
    }

    func remove(_ name: UInt64) { shared.withLock { $0.positions[name] = nil } }

    /// Removes all positions, because a commit needs the log's space.
    func removeAll() { shared.withLock { $0.positions.removeAll() } }

    /// The lowest position that is at most `byteCount` bytes before `end`: the log is kept from there; `nil` if none
    /// is.
    func keptPosition(before end: UInt64, byteCount: Int) -> UInt64? {
        let lowest = shared.withLock { shared in
            shared.positions.values.filter { $0 + UInt64(byteCount) >= end }.min()
        }
        assert(lowest.map { $0 + UInt64(byteCount) >= end } ?? true, "more than \(byteCount) bytes are kept")
        return lowest
    }
}
