// The form of every fuzz body: a function from bytes to nothing, which traps if a promise is broken.
//
// Architecture: the bodies are a target of the package, not a package of their own. They use the layers through
// `package` declarations (file systems, decoders, checksums), which a nested package could not see; and as an ordinary
// library they can be replayed by `swift test` without libFuzzer. `Fuzz/run` compiles the same library with libFuzzer's
// instrumentation and links it with the ten-line targets beside it. Those are no part of the package, which therefore
// builds on machines without a fuzzer.
//
// Invariants
//   1. A body is a function of its bytes only: chance comes from the bytes, clock and random numbers are simulated.
//   2. A body traps exactly if the code under test breaks a promise; errors are valid answers.
//   3. Memory and time of a body are bounded for all bytes.

/// One subject of fuzzing.
public struct FuzzBody: Sendable {
    /// The name: of the target, of its corpus folder and of its folder of past crashes.
    public let name: String
    /// Uses these bytes as an application might; traps if the result breaks a promise.
    public let run: @Sendable ([UInt8]) -> Void
    /// The initial inputs, by name.
    public let seeds: @Sendable () -> [String: [UInt8]]
    /// Corrects the checksums of changed bytes, so that the change passes their checks; `nil` if there are none.
    ///
    /// Returns the offsets at which structures begin, near which changes are useful.
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
        sqlite, modelFile, compiledModel, mappingFile, xmlStore,
    ]
}
