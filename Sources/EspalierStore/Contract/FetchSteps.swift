// The steps of a fetch, and the way to end it before its answer is complete.
//
// Invariants
//   1. A loop makes at most `stepCountMax` steps between two questions whether the answer is still wanted.

/// The rows and entries that a loop of a fetch has visited.
struct FetchSteps {
    /// The most steps between two questions.
    static let stepCountMax = 256

    private let isCancelled: (@Sendable () -> Bool)?
    private var left = FetchSteps.stepCountMax

    /// - Parameter isCancelled: whether the answer is no longer wanted; `nil` if the fetch cannot be cancelled.
    init(_ isCancelled: (@Sendable () -> Bool)?) { self.isCancelled = isCancelled }

    /// Counts a row or an entry.
    ///
    /// - Throws: `.fetchCancelled` if the answer is no longer wanted.
    mutating func count() throws(StoreError) {
        guard isCancelled != nil else { return }
        left -= 1
        assert(left >= 0, "invariant 1: \(-left) steps too many")
        guard left == 0 else { return }
        left = Self.stepCountMax
        if isCancelled?() == true { throw .fetchCancelled }
    }
}
