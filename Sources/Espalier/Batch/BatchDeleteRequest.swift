// A request that deletes many rows without making objects of them.

public import EspalierModel
public import EspalierStore

/// A request that deletes rows, with the delete rules of their relationships (BR-05 to BR-07, F-7).
///
/// ```swift
/// var old = FetchRequest<Album>(try FetchPredicate(format: "year < 1960"))
/// old.fetchLimit = 1000
/// let count = try context.execute(BatchDeleteRequest(old)).count
/// ```
///
/// The store carries the rules out: cascades, emptied relationships, and rules that deny. The rows are gone when the
/// request returns, or none of them.
public struct BatchDeleteRequest: Sendable {
    /// The rows to delete.
    enum Selection: Sendable {
        case matching(FetchTerms)
        case ids([ObjectID])
    }

    let selection: Selection
    /// Whether the result has the IDs of the rows of the request; not of those that delete rules reach.
    ///
    /// They take 16 bytes for each row.
    public var returnsObjectIDs = false
    /// Gets the number of rows that are done, and can cancel the request.
    public var progress: BatchProgress?

    /// A request that deletes the rows that a fetch would find in the stores: its entity, condition, limit, offset,
    /// order, subentities and affected stores count, and unsaved changes do not.
    public init<Result>(_ request: FetchRequest<Result>) { selection = .matching(request.terms) }

    /// A request that deletes the rows with these IDs, of one entity or of several; those that do not exist are no
    /// error.
    public init(objectIDs: [ObjectID]) { selection = .ids(objectIDs) }
}
