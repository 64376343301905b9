// The progress of a batch request: any thread may read it, and may cancel the request.
//
// Invariants
//   1. `completedCount` never descends.
//   2. A request that is cancelled leaves the store as it was. After the last call of `advance` it cannot be cancelled
//      any more.

internal import Synchronization

/// The progress of a batch request, and the way to cancel it (F-7).
///
///     let progress = BatchProgress { progress in print(progress.completedCount, "rows") }
///     request.progress = progress
///
/// Safe to use from several threads. One value serves one request.
public final class BatchProgress: Sendable {
    private struct State {
        var completedCount = 0
        var totalCount: Int?
        var isCancelled = false
    }

    private let state = Mutex(State())
    /// Called on the thread of the request.
    private let onChange: (@Sendable (BatchProgress) -> Void)?

    /// Makes the progress of a request that begins later.
    ///
    /// - Parameter onChange: called now and then on the thread of the request; it may call `cancel`.
    public init(onChange: (@Sendable (BatchProgress) -> Void)? = nil) { self.onChange = onChange }

    /// The number of rows that are done.
    ///
    /// They are not stored before the request has returned.
    public var completedCount: Int { state.withLock(\.completedCount) }

    /// The number of rows of the request; `nil` as long as it is not known, which it never is for rows of a closure.
    public var totalCount: Int? { state.withLock(\.totalCount) }

    /// Whether `cancel` was called.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Asks the request to stop: it throws, and the store stays as it was.
    ///
    /// Has no effect once the store commits. In a request to several stores those that are done stay done.
    public func cancel() { state.withLock { $0.isCancelled = true } }

    /// Notes that the request has more rows.
    package func expect(_ count: Int) {
        assert(count >= 0, "\(count) more rows are expected")
        state.withLock { $0.totalCount = ($0.totalCount ?? 0) + count }
    }

    /// Notes rows that are done; throws if the request was cancelled.
    package func advance(by count: Int) throws(StoreError) {
        assert(count >= 0, "\(count) rows are done")
        state.withLock { $0.completedCount += count }
        if count > 0 { onChange?(self) }
        guard !isCancelled else { throw .commandCancelled(path: nil) }
    }
}
