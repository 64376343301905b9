// Tells at run time whether a type is an optional, and of which content.

/// An optional type.
protocol OptionalType {
    /// The type of the value that an optional may have.
    static var content: Any.Type { get }
}

extension Optional: OptionalType {
    static var content: Any.Type { Wrapped.self }
}
