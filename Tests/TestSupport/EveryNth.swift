// One call in n: the calls of a long sequence that a campaign examines, so that each of its seeds examines some.

import Synchronization

/// Takes every n-th call, starting at a random one of the first n.
package final class EveryNth: Sendable {
    private let period: Int
    private let first: Int
    private let count = Atomic(0)

    /// Takes one call in `period`; `seed` decides which of the first `period` calls it is.
    package init(_ period: Int, seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        self.period = max(period, 1)
        first = Int.random(in: 0..<max(period, 1), using: &chance)
    }

    /// Whether this call is taken.
    package func takesNext() -> Bool { count.wrappingAdd(1, ordering: .relaxed).oldValue % period == first }
}
