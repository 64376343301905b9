// What every fuzz body is: a function from bytes to nothing, that traps if a promise is broken.
//
// The bodies are an ordinary library: libFuzzer calls them through the ten-line targets beside them, and the test
// target FuzzCorpusTests replays corpus and past crashes through the same functions without libFuzzer.

/// One thing that is fuzzed.
public struct FuzzBody: Sendable {
    /// The name: of the target, of its corpus folder and of its folder of past crashes.
    public let name: String
    /// Does what an application might do with these bytes; traps if the outcome breaks a promise.
    public let run: @Sendable ([UInt8]) -> Void

    /// All bodies.
    public static let all: [FuzzBody] = [canary]
}

extension FuzzBody {
    /// The body that must fail: it shows that the harness notices a trap, and that libFuzzer finds its way through
    /// three nested comparisons.
    public static let canary = FuzzBody(name: "canary") { bytes in
        if bytes.count > 2, bytes[0] == 0x42, bytes[1] == 0x2D, bytes[2] == 0x54 {
            preconditionFailure("the canary was found, as it must be")
        }
    }
}
