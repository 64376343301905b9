// States of stores that never were, for what only looks at their numbers.

import EspalierEngine

extension StoreState {
    /// The state of commit `number`, which lies at a thousand times its number in the log.
    init(commit number: UInt64) {
        self.init(
            CheckpointSlot(
                sequence: 1, checkpointLSN: number * 1000, transactionID: number, pageCount: 3, freeCount: 0,
                catalogRoot: 2, isClean: true, logIdentifier: [UInt8](repeating: 0, count: 16), logStartSegment: 1,
                chainSeed: 0, nextTreeID: 2))
    }
}
