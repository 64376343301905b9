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
public final class BTreeSnapshot: StoreSnapshot {
    /// The number of the commit.
    public let generation: UInt64
    let store: BTreeStore
    private let read: SnapshotRead

    init(_ store: BTreeStore, _ read: SnapshotRead) {
        (self.store, self.read, generation) = (store, read, read.commit)
    }

    deinit { store.end(read) }

    /// Whether no later commit exists; if another process writes the file, the answer is read from the file.
    public var isNewest: Bool { store.isNewest(generation) }

    var catalog: StoreCatalog { store.catalog }

    /// Calls `body` with the transaction and with `question`, which it gets as an argument, because a closure that
    /// captured the question would copy it.
    ///
    /// - Throws: the errors of `body`; `.closed` if the store was closed; `.storage(.snapshotExpired)` if closing the
    ///   store failed, because that ends the transaction too.
    func withState<Question, Answer: Sendable>(
        for question: Question, _ body: (SnapshotRead.State, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try store.withPath { () throws(StoreError) in
            guard case .migrationTransaction(let held) = store.access else { return try answer(question, body) }
            return try held.exclusively { () throws(StoreError) in try answer(question, body) }
        }
    }

    @inline(__always)
    private func answer<Question, Answer: Sendable>(
        _ question: Question, _ body: (SnapshotRead.State, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try read.state.withLock { state throws(StoreError) in
            guard let state else {
                try store.checkOpen()
                throw StoreError(.transaction(.snapshotExpired))
            }
            assert(state.session.isFresh, "invariant 2: rows of an earlier fetch are kept")
            return try body(state, question)
        }
    }
}

/// The read transaction of a snapshot; the store and the snapshot share it, so that either can end it.
final class SnapshotRead: Sendable {
    // SAFETY: @unchecked Sendable, because it is touched only under the lock of its `SnapshotRead`.
    /// The transaction, and the planner for its commit.
    final class State: @unchecked Sendable {
        let session: ReadSession
        /// Created by the first fetch.
        private var planner: FetchPlanner?

        init(_ session: ReadSession) { self.session = session }

        /// The planner with the statistics of the commit.
        func planner(_ store: BTreeStore) throws(StoreError) -> FetchPlanner {
            if let planner { return planner }
            let made = try store.planner(session)
            planner = made
            return made
        }
    }

    let commit: UInt64
    /// Guards the transaction; `nil` = it has ended.
    let state: Mutex<State?>

    init(_ session: ReadSession) {
        commit = session.transaction.number
        state = Mutex(State(session))
    }

    /// Ends the transaction; waits until the current reader has finished.
    func end() { state.withLock { $0 = nil } }
}
