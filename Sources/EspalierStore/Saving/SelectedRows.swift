// The rows that a command deletes, in the place of the deletions of a request: a bit for each, and no version.

/// Rows that exist and are deleted at whatever version they have.
struct SelectedRows {
    /// The rows.
    let rows: RowSet
    /// The most rows that are read at a time.
    var chunkCountMax = StoreCommand.chunkCountMax
    /// Told of each chunk; may cancel.
    var progress: BatchProgress?

    /// No rows.
    static let none = SelectedRows(rows: RowSet())
}
