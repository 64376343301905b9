// The form in which a store answers a fetch.

/// The form in which a store answers a fetch.
///
/// The plan depends on it: an index has the IDs of rows, and their number, without the rows.
public enum FetchForm: Sendable, CaseIterable {
    /// The rows.
    case rows
    /// The IDs of the rows.
    case ids
    /// The number of the rows, which have no order.
    case count
}
