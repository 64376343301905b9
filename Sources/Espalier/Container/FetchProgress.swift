// The progress of an asynchronous fetch: any thread may read it, and may cancel the fetch.
//
// Invariants
//   1. `completedCount` never descends.

internal import Synchronization

/// The progress of an asynchronous fetch, and the way to cancel it (FR-22).
///
/// Safe to use from several threads. One value serves one fetch.
public final class FetchProgress: Sendable {
    private struct State {
        var completedCount = 0
        var totalCount: Int?
        var isCancelled = false
    }

    private let state = Mutex(State())
    /// Called on the thread that reads.
    private let onChange: (@Sendable (FetchProgress) -> Void)?

    /// Makes the progress of a fetch that begins later.
    ///
    /// - Parameter onChange: called after each thousand rows on the thread that reads; it may call `cancel`.
    public init(onChange: (@Sendable (FetchProgress) -> Void)? = nil) { self.onChange = onChange }

    /// The number of rows that were read.
    public var completedCount: Int { state.withLock(\.completedCount) }
    /// The number of rows that match; `nil` as long as it is not known.
    public var totalCount: Int? { state.withLock(\.totalCount) }
    /// Whether `cancel` was called.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Asks the fetch to stop: it throws `ContextError.fetchCancelled`.
    ///
    /// A store of this package stops after some hundred rows or index entries, or after the sort of the rows that it
    /// has in memory; one of an application stops after its answer.
    public func cancel() { state.withLock { $0.isCancelled = true } }

    /// `isCancelled`, as stores ask it.
    var cancellation: @Sendable () -> Bool { { [self] in isCancelled } }

    /// Notes that a store has so many rows, some of which were read before if the fetch begins again.
    func expect(_ count: Int) { state.withLock { $0.totalCount = ($0.totalCount ?? $0.completedCount) + count } }

    /// Notes rows that were read; returns whether the fetch goes on.
    func advance(by count: Int) -> Bool {
        state.withLock { $0.completedCount += count }
        if count > 0 { onChange?(self) }
        return !isCancelled
    }

    /// Forgets the number of rows, because the fetch begins again.
    func beginAgain() { state.withLock { $0.totalCount = nil } }
}
