// The formats of rows that this layer knows.

enum StoreFormat {
    /// The first format: opening a store to write converts its rows to the newest one.
    static let first: UInt16 = 1
    /// The format that is written.
    static let newest: UInt16 = 2
}
