// What every fuzz body is: a function from bytes to nothing, that traps if a promise is broken.
//
// Architecture: the bodies are a target of the package, not a package of their own. They speak to the layers through
// `package` declarations (file systems, decoders, checksums), which a nested package could not see; and as an ordinary
// library they are replayed by `swift test` without libFuzzer. `Fuzz/run` compiles the same library with libFuzzer's
// instrumentation and links it with the ten-line targets beside it, which are no part of the package: the package
// builds on machines that have no fuzzer.
//
// Invariants
//   1. A body is a function of its bytes only: chance comes from the bytes, clock and random numbers are simulated.
//   2. A body traps exactly if the code under test breaks a promise; errors are answers.
//   3. Memory and time of a body are bounded whatever the bytes say.

/// One thing that is fuzzed.
public struct FuzzBody: Sendable {
    /// The name: of the target, of its corpus folder and of its folder of past crashes.
    public let name: String
    /// Does what an application might do with these bytes; traps if the outcome breaks a promise.
    public let run: @Sendable ([UInt8]) -> Void
    /// Inputs to begin with, by name.
    public let seeds: @Sendable () -> [String: [UInt8]]
    /// Makes the checksums of changed bytes right again, so that a change gets past them; `nil` = there are none.
    ///
    /// Returns where in the bytes something begins: places worth changing.
    package let repair: (@Sendable (inout [UInt8]) -> [Int])?

    /// A body.
    package init(
        name: String, seeds: @escaping @Sendable () -> [String: [UInt8]] = { [:] },
        repair: (@Sendable (inout [UInt8]) -> [Int])? = nil, run: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.name = name
        self.seeds = seeds
        self.repair = repair
        self.run = run
    }

    /// All bodies.
    public static let all: [FuzzBody] = [
        canary, storeImage, logImage, both, verdicts, operations, care, crash, derived, predicate, model, row, key,
        sqlite,
    ]
}
