// The body that must fail.

extension FuzzBody {
    /// Shows that the harness reports a trap, and that libFuzzer can pass three nested comparisons.
    public static let canary = FuzzBody(name: "canary") { bytes in
        if bytes.count > 2, bytes[0] == 0x42, bytes[1] == 0x2D, bytes[2] == 0x54 {
            preconditionFailure("the canary was found, as it must be")
        }
    }
}
