// The error of a derivation that no store can compute.

/// The reason why an attribute cannot be derived in this way (MD-27).
public struct DerivationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The expression, in Core Data's spelling.
    public let expression: String
    /// A clause that names the problem and the remedy.
    public let problem: String

    init(_ expression: String, _ problem: String) { (self.expression, self.problem) = (expression, problem) }

    /// The expression and the problem.
    public var description: String { "cannot be derived by '\(expression)': \(problem)" }
}
