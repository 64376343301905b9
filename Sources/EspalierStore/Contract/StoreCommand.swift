// A set-based change as a store gets it: which rows, and what happens to them. The store finds the rows and changes
// them in one transaction; no row crosses the seam.
//
// Rules
//   1. The rows are found in the state before the command, and expressions are computed from it: no change that the
//      command makes affects which rows it changes, and to which values.
//   2. Delete rules, uniqueness constraints with their actions, versions, lists and the existence of destinations are
//      those of a save with the same changes (F-7). The order in which rows are changed has no effect, but for one: if
//      insertions are merged into rows, new and merged rows join an ordered list in an order that is not fixed.
//   3. An error leaves the store unchanged.

public import EspalierModel

/// A change of many rows (BR-01 to BR-07).
public struct StoreCommand {
    /// The rows that a command updates or deletes.
    public enum Rows: Sendable {
        /// The rows that match, within offset and limit.
        case matching(StoreFetch)
        /// The rows with these IDs, as far as they exist.
        case ids([ObjectID])
    }

    /// The values of one new row.
    public struct NewRow: Sendable {
        package let content: RowValues
        /// The properties that the row names; `nil` if it does not tell them from values by default.
        package let named: NamedProperties?

        /// One value for each attribute slot of the entity.
        public var values: [AttributeValue] { content.attributes }
        /// One for each relationship slot; `nil` for to-many and empty ones.
        public var destinations: [ObjectID?] { content.destinations }

        /// Makes a row of these values.
        public init(values: [AttributeValue], destinations: [ObjectID?]) {
            self.init(RowValues(values, destinations))
        }

        /// Makes a row of values that are shared from now on.
        package init(_ content: RowValues, naming named: NamedProperties? = nil) {
            content.share()
            (self.content, self.named) = (content, named)
        }
    }

    /// The kinds of changes.
    public enum Change {
        /// New rows of an entity: those that `next` returns until it returns `nil`.
        ///
        /// A store may call `next` while its transaction is open: the closure must not write to the store.
        case insert(Entity, next: () throws(StoreError) -> NewRow?)
        /// Sets properties of rows.
        case update(Rows, [ResolvedAssignment])
        /// Deletes rows, and those that delete rules reach.
        case delete(Rows)
    }

    /// The most rows of a chunk, if no row is long.
    static let chunkCountMax = 8192

    /// The change.
    public var change: Change
    /// Whether new values must follow the rules of the model: that a property must have a value, and the validation
    /// rules of attributes (MD-16).
    ///
    /// Types, destinations, delete rules and uniqueness constraints always hold.
    public var validates = true
    /// The actions on new rows whose unique values a row has already, as in `SaveRequest`.
    public var constraintActions: [ConstraintName: ConstraintAction] = [:]
    /// Whether the result has the IDs of the rows.
    public var returnsIDs = false
    /// Gets the number of rows that are done, and can cancel the command.
    public var progress: BatchProgress?
    /// The most rows that a store which works in chunks has in memory at a time.
    package var chunkCountMax = StoreCommand.chunkCountMax

    /// Makes a command.
    public init(_ change: Change) { self.change = change }
}

/// The result of a command.
public struct CommandResult: Sendable {
    /// The number of rows that the command names: inserted or merged, updated, or deleted, without those that only
    /// rules have reached.
    public var count = 0
    /// The IDs of these rows if the command asks for them: new rows in the order of the command, others by entity and
    /// ascending key.
    ///
    /// For a new row that was merged into another one, it is the ID of that row.
    public var ids: [ObjectID] = []
    /// The rows that the command has created.
    public var inserted = RowSet()
    /// All other rows that have changed and still exist.
    public var updated = RowSet()
    /// All rows that were deleted, by the command or by rules.
    public var deleted = RowSet()
    /// The first generation that has the changes; 0 if the store does not tell.
    public var generation: UInt64 = 0

    /// The result of a command that changes nothing.
    public init() {}
}

extension StoreCommand.Rows {
    /// Finds the rows by `body`, while the command can be cancelled.
    ///
    /// - Throws: `.commandCancelled`, or the errors of `body`.
    func found<Answer>(
        _ progress: BatchProgress?, _ body: (StoreCommand.Rows) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        guard let progress, case .matching(var fetch) = self else { return try body(self) }
        fetch.isCancelled = { progress.isCancelled }
        do throws(StoreError) { return try body(.matching(fetch)) } catch {
            if case .fetchCancelled = error { throw .commandCancelled(path: nil) }
            throw error
        }
    }
}
