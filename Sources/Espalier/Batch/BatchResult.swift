// The result of a batch request.

public import EspalierModel

/// The result of a batch request (BR-10).
///
/// The stores have it when the request returns: nothing is left to save.
public struct BatchResult: Sendable, Hashable {
    /// The number of rows of the request: inserted or merged into others, updated, or deleted.
    ///
    /// Rows that only delete rules have reached do not count.
    public internal(set) var count: Int
    /// The IDs of these rows, if the request asks for them: of an insertion in the order of the request, of others by
    /// store, entity and ascending key; `nil` otherwise.
    ///
    /// For a new row that was merged into another one, it is the ID of that row.
    public internal(set) var objectIDs: [ObjectID]?

    /// A result, to compare with.
    public init(count: Int = 0, objectIDs: [ObjectID]? = nil) { (self.count, self.objectIDs) = (count, objectIDs) }
}
