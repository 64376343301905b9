// The write transaction of a migration that runs code of the application: saves write into it, readers see what they
// have written, and one commit ends it.
//
// Invariants
//   1. Nothing is committed before `commit`: after a crash the file is as it was before the migration.
//   2. Half of a save cannot be committed: after a save that failed, either the save is undone and the transaction goes
//      on (`servesWork`), or the transaction is rolled back and every later call throws the first error.
//   3. One thread at a time uses the transaction and its readers: every call holds the lock.

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

/// An open write transaction that several saves share.
final class MigrationTransaction: Sendable {
    // SAFETY: @unchecked Sendable, because it is touched only under the lock of its `MigrationTransaction`.
    private final class State: @unchecked Sendable {
        /// `nil` after the end.
        var transaction: StoreTransaction<WriteTransaction>?
        var failure: StoreError?
        /// The number of saves, which counts as the number of commits for snapshots.
        var saveCount: UInt64 = 0

        init(_ transaction: consuming StoreTransaction<WriteTransaction>) { self.transaction = consume transaction }

        /// Carries a save out; after an error there is no transaction any more, unless the error was undone.
        func carryOut(
            _ request: SaveRequest, _ catalog: StoreCatalog, servesWork: Bool
        ) throws(StoreError) -> SaveResult {
            guard var open = transaction.take() else { throw failure ?? .closed }
            let savepoint = servesWork ? try open.savepoint() : nil
            var execution = SaveExecution(consume open, catalog)
            let saved: Result<SaveResult, StoreError>
            do throws(StoreError) {
                saved = .success(try execution.carryOut(request))
            } catch {
                guard savepoint != nil else { throw error }
                saved = .failure(error)
            }
            var after = execution.handBack()
            if let savepoint {
                if case .failure = saved { try after.undo(to: savepoint) } else { try after.release(savepoint) }
            }
            transaction = consume after
            return try saved.get()
        }
    }

    private let state: Mutex<State>
    /// The newest commit when the transaction began.
    private let firstNumber: UInt64
    /// Whether work of the application uses the transaction as it uses a store: a save that fails is undone, so that
    /// the work can correct it and save again; IDs can be reserved, and metadata can be read and set.
    let servesWork: Bool

    /// - Parameter servesWork: also keeps the older versions of the pages that a save changes, until the save ends.
    init(
        _ transaction: consuming StoreTransaction<WriteTransaction>, after number: UInt64, servesWork: Bool = false
    ) {
        state = Mutex(State(transaction))
        firstNumber = number
        self.servesWork = servesWork
    }

    /// Runs `body` while nothing else uses the transaction.
    func exclusively<Answer: Sendable>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
        try state.withLock { _ throws(StoreError) in try body() }
    }

    /// A reader of the transaction, and the number of the newest save.
    func beginRead() throws(StoreError) -> StoreTransaction<ReadSource> {
        try state.withLock { state throws(StoreError) in
            let number = firstNumber + state.saveCount
            guard let transaction = state.transaction.take() else { throw state.failure ?? .closed }
            let reader = transaction.reader
            state.transaction = consume transaction
            return StoreTransaction(.migration(MigrationReader(reader: reader, number: number)))
        }
    }

    /// The number that stands for the newest save.
    var number: UInt64 { state.withLock { firstNumber + $0.saveCount } }

    /// Saves without a commit.
    func save(_ request: SaveRequest, _ catalog: StoreCatalog) throws(StoreError) -> SaveResult {
        try state.withLock { state throws(StoreError) in
            do throws(StoreError) {
                var result = try state.carryOut(request, catalog, servesWork: servesWork)
                state.saveCount += 1
                result.generation = firstNumber + state.saveCount
                return result
            } catch {
                if !servesWork { state.failure = error }
                throw error
            }
        }
    }

    /// Changes the transaction without a save.
    ///
    /// - Throws: the error of `body`; then the transaction is rolled back.
    func change<Answer: Sendable>(
        _ body: (inout StoreTransaction<WriteTransaction>) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try state.withLock { state throws(StoreError) in
            guard var transaction = state.transaction.take() else { throw state.failure ?? .closed }
            do throws(StoreError) {
                let answer = try body(&transaction)
                state.transaction = consume transaction
                return answer
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
