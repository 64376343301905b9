// The formats of rows that this layer knows.

enum StoreFormat {
    /// The format before this one, whose rows opening a store to write brings up to date.
    static let first: UInt16 = 1
    /// The format that is written.
    static let newest: UInt16 = 2
}
