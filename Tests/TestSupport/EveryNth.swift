// One of so many: which calls of a long row a campaign looks at, so that none of its seeds looks at nothing.

import Synchronization

/// Takes every n-th call, from a random one of the first n on.
package final class EveryNth: Sendable {
    private let period: Int
    private let first: Int
    private let count = Atomic(0)

    /// One call of `period`; `seed` decides which is the first.
    package init(_ period: Int, seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        self.period = max(period, 1)
        first = Int.random(in: 0..<max(period, 1), using: &chance)
    }

    /// Whether this call is taken.
    package func takesNext() -> Bool { count.wrappingAdd(1, ordering: .relaxed).oldValue % period == first }
}
