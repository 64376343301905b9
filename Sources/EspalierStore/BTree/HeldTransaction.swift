// The write transaction of a migration that runs code of the application: saves write into it, readers see what they
// have written, and one commit ends it.
//
// Invariants
//   1. Nothing is committed before `commit`: after a crash the file is as it was before the migration.
//   2. After a save that failed, the transaction is rolled back, and every later call throws the first error: half of a
//      save cannot be committed.
//   3. One thread at a time uses the transaction and its readers: every call holds the lock.

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

/// An open write transaction that several saves share.
final class HeldTransaction: Sendable {
    // SAFETY: @unchecked Sendable, because it is touched only under the lock of its `HeldTransaction`.
    private final class State: @unchecked Sendable {
        /// `nil` after the end.
        var transaction: StoreTransaction<WriteTransaction>?
        var failure: StoreError?
        /// The number of saves, which counts as the number of commits for snapshots.
        var saveCount: UInt64 = 0

        init(_ transaction: consuming StoreTransaction<WriteTransaction>) { self.transaction = consume transaction }
    }

    private let state: Mutex<State>
    /// The newest commit when the transaction began.
    private let firstNumber: UInt64

    init(_ transaction: consuming StoreTransaction<WriteTransaction>, after number: UInt64) {
        state = Mutex(State(transaction))
        firstNumber = number
    }

    /// Runs `body` while nothing else uses the transaction.
    func exclusively<Answer: Sendable>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
        try state.withLock { _ throws(StoreError) in try body() }
    }

    /// A reader of the transaction, and the number of the newest save.
    func beginRead() throws(StoreError) -> StoreTransaction<SessionSource> {
        try state.withLock { state throws(StoreError) in
            let number = firstNumber + state.saveCount
            guard let transaction = state.transaction.take() else { throw state.failure ?? .closed }
            let reader = transaction.reader
            state.transaction = consume transaction
            return StoreTransaction(.held(HeldReader(reader: reader, number: number)))
        }
    }

    /// The number that stands for the newest save.
    var number: UInt64 { state.withLock { firstNumber + $0.saveCount } }

    /// Saves without a commit.
    func save(_ request: SaveRequest, _ catalog: StoreCatalog) throws(StoreError) -> SaveResult {
        try state.withLock { state throws(StoreError) in
            guard let transaction = state.transaction.take() else { throw state.failure ?? .closed }
            do throws(StoreError) {
                var execution = SaveExecution(consume transaction, catalog)
                var result = try execution.carryOut(request)
                state.transaction = execution.handBack()
                state.saveCount += 1
                result.generation = firstNumber + state.saveCount
                return result
            } catch {
                state.failure = error
                throw error
            }
        }
    }

    /// Takes the transaction out; later calls throw `.closed`.
    ///
    /// - Throws: the error of a save that failed.
    func end() throws(StoreError) -> StoreTransaction<WriteTransaction> {
        try state.withLock { state throws(StoreError) in
            guard let transaction = state.transaction.take() else { throw state.failure ?? .closed }
            return transaction
        }
    }

    /// Rolls back, if the transaction has not ended.
    func rollBack() { state.withLock { $0.transaction = nil } }
}
