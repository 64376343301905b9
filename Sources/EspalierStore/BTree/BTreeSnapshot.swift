// One generation of a B-tree store: an open read transaction, and the planner's statistics of its commit.
//
// Invariants
//   1. The transaction begins with the snapshot and ends with it, or earlier when the store is closed.
//   2. One thread reads at a time; between two calls only the planner's statistics are kept.
// Not here: how questions are answered (+Fetch, +Values, +Destinations, PlanAnalysis).

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

/// The contents of a B-tree store at one commit.
public final class BTreeSnapshot: StoreSnapshot, BuiltInSnapshot {
    /// The number of the commit.
    public let generation: UInt64
    let store: BTreeStore
    private let shared: SharedSession

    init(_ store: BTreeStore, _ session: SharedSession) {
        (self.store, shared, generation) = (store, session, session.commit)
    }

    deinit { store.end(shared) }

    /// Whether no later commit exists; if another process writes the file, the answer is read from the file.
    public var isNewest: Bool { store.isNewest(generation) }

    var catalog: StoreCatalog { store.catalog }

    /// Calls `body` with the session and with `question`, which it gets as an argument, because a closure that
    /// captured the question would copy it.
    ///
    /// - Parameter isCancelled: whether the answer is no longer wanted; `nil` if the call cannot be cancelled.
    /// - Throws: the errors of `body`; `.closed` if the store was closed; `.storage(.transaction(.snapshotExpired))` if
    ///   closing the store failed, because that ends the transaction too.
    func withSession<Question, Answer: Sendable>(
        for question: Question, isCancelled: (@Sendable () -> Bool)? = nil,
        _ body: (ReadSession, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try store.withPath { () throws(StoreError) in
            guard case .migrationTransaction(let migration) = store.transactionUse else {
                return try answer(question, isCancelled, body)
            }
            return try migration.exclusively { () throws(StoreError) in try answer(question, isCancelled, body) }
        }
    }

    @inline(__always)
    private func answer<Question, Answer: Sendable>(
        _ question: Question, _ isCancelled: (@Sendable () -> Bool)?,
        _ body: (ReadSession, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try shared.session.withLock { session throws(StoreError) in
            guard let session else {
                try store.checkOpen()
                throw StoreError(.transaction(.snapshotExpired))
            }
            assert(session.isFresh, "invariant 2: rows of an earlier fetch are kept")
            guard isCancelled != nil else { return try body(session, question) }
            session.isCancelled = isCancelled
            defer { session.isCancelled = nil }
            return try body(session, question)
        }
    }
}

/// The session of a snapshot; the store and the snapshot share it, so that either can end it.
final class SharedSession: Sendable {
    let commit: UInt64
    /// Guards the session; `nil` = its transaction has ended.
    let session: Mutex<ReadSession?>

    init(_ session: ReadSession) {
        commit = session.transaction.number
        self.session = Mutex(session)
    }

    /// Ends the transaction; waits until the current reader has finished.
    func end() { session.withLock { $0 = nil } }
}
