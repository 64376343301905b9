// Invented states of stores, for code that looks only at their numbers.

import EspalierEngine

extension StoreState {
    /// The state of commit `number`, whose log position is 1,000 times its number.
    init(commit number: UInt64) {
        self.init(
            CheckpointSlot(
                sequence: 1, checkpointLSN: number * 1000, transactionID: number, pageCount: 3, freeCount: 0,
                catalogRoot: 2, isClean: true, logIdentifier: [UInt8](repeating: 0, count: 16), logStartSegment: 1,
                chainSeed: 0, nextTreeID: 2))
    }
}
