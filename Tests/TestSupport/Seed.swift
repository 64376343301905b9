// Seeded randomness for tests: a run is one integer, printed on failure and accepted through the environment.
//
// Invariants
//   1. The same seed gives the same sequence on every machine (SplitMix64, no platform state).

import Foundation

/// A small, fast, seeded random number generator (SplitMix64, Steele, Lea and Flood 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts the sequence that `seed` names.
    package init(seed: UInt64) { state = seed }

    /// The next 64 bits of the sequence.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The seed of this run: the value of `ESPALIER_SEED` if it is set, else `fallback`.
package func testSeed(default fallback: UInt64) -> UInt64 {
    ProcessInfo.processInfo.environment["ESPALIER_SEED"].flatMap { UInt64($0) } ?? fallback
}

/// The repetitions of a campaign: the number in the environment variable `name` if it is set, else `fallback`.
package func campaignCount(_ name: String, default fallback: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? fallback
}
