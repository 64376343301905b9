// Repeats a read from the start if another process has overwritten the store meanwhile.
//
// Invariants
//   1. A read has printed nothing when it is repeated.
//   2. A read that fails in every attempt ends with the exit code of a store that another process holds. It never ends
//      with the exit code of damage.

import EspalierEngine
import EspalierStore

extension ToolError {
    /// Whether another process overwrote or replaced the pages that were being read.
    var isCausedByOtherWriter: Bool {
        switch self {
        case .storage(.transaction(.snapshotExpired), _), .storage(.database(.storeReplaced), _): true
        case .store(.storage(.transaction(.snapshotExpired), _), _), .store(.storage(.database(.storeReplaced), _), _):
            true
        default: false
        }
    }
}

/// The number of attempts to read a store that another process changes.
let readAttemptMax = 5

/// Runs `body`, which reads a store and prints nothing, and repeats it while another process overwrites what it reads.
///
/// - Throws: what `body` throws; after `readAttemptMax` attempts also the error that another process caused.
func repeatingRead<R>(_ body: () throws(ToolError) -> R) throws(ToolError) -> R {
    for _ in 1..<readAttemptMax {
        do throws(ToolError) {
            return try body()
        } catch {
            guard error.isCausedByOtherWriter else { throw error }
        }
    }
    return try body()
}
