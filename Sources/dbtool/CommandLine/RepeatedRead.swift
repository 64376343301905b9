// Reading a store that another process changes so fast that it overwrites what is read: once more, from the start.
//
// Invariants
//   1. What is repeated has printed nothing yet.
//   2. A run that is outrun each time ends with the exit code of a store that another process holds, never with damage.

import EspalierEngine
import EspalierStore

extension ToolError {
    /// Whether another process overwrote, or replaced, what was being read.
    var isOutrun: Bool {
        switch self {
        case .storage(.transaction(.snapshotExpired), _), .storage(.database(.storeReplaced), _): true
        case .store(.storage(.transaction(.snapshotExpired), _), _), .store(.storage(.database(.storeReplaced), _), _):
            true
        default: false
        }
    }
}

/// How often a store is read that another process changes meanwhile.
let readAttemptMax = 5

/// Runs `body`, which reads a store and prints nothing, until it is not outrun by another process, or too often.
func unlessOutrun<R>(_ body: () throws(ToolError) -> R) throws(ToolError) -> R {
    for _ in 1..<readAttemptMax {
        do throws(ToolError) {
            return try body()
        } catch {
            guard error.isOutrun else { throw error }
        }
    }
    return try body()
}
