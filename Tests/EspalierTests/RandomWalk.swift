// Random walks over beads, one for each seed: the first failure is told with its seed and its last steps.

import Testing

/// A walk of random steps, which ends at its first failure.
protocol RandomWalk {
    var failure: String? { get }
    /// The steps so far.
    var log: [String] { get }
    var rulesText: String { get }

    /// Takes `count` steps, and what a walk does at its end.
    mutating func go(_ count: Int)
}

extension RandomWalk {
    /// Makes and takes `count` walks with seeds from `seed` on, until one fails.
    static func take(_ count: Int, seed: UInt64, steps: Int, _ walk: (UInt64) throws -> Self) rethrows {
        for seed in (0..<count).map({ seed &+ UInt64($0) }) {
            var walk = try walk(seed)
            walk.go(steps)
            guard let failure = walk.failure else { continue }
            let tail = walk.log.suffix(40).joined(separator: "\n")
            Issue.record("seed \(seed): \(failure)\n\(walk.rulesText)\n\(tail)")
            return
        }
    }
}
