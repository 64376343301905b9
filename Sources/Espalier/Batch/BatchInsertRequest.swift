// A request that inserts many rows without making objects of them.
//
// Invariants
//   1. Rows are made one after the other, and only while the store writes them: no list of them is held.

public import EspalierModel
public import EspalierStore
public import FoundationEssentials

/// A request that inserts rows into a store (BR-01 to BR-03).
///
/// The rows are dictionaries, or what a closure fills until it says that there are no more:
///
/// ```swift
/// var lines = text.split(separator: "\n").makeIterator()
/// let request = BatchInsertRequest(Album.self) { row in
///     guard let line = lines.next() else { return true }
///     row.set(\.title, to: String(line))
///     return false
/// }
/// let count = try context.execute(request).count
/// ```
///
/// Attributes that a row does not name get their default values. To-one relationships may lead to stored objects, by
/// their IDs; to-many relationships cannot be set. The rows are in the store when the request returns, or none of them.
public struct BatchInsertRequest {
    /// Makes rows, until it returns `nil`.
    typealias NextRow = (inout RowDraft) throws -> Bool

    /// The entity of the rows.
    public let entityName: String
    /// Whether each row must follow the rules of the model: required values, and validation rules of attributes.
    ///
    /// Types, destinations and uniqueness are checked in any case. Hooks of the class are not called.
    public var validates = true
    /// The action for a row whose unique values another one has, if the constraint itself declares none; `nil` =
    /// that of the context's merge policy (BR-03).
    ///
    /// Under `.merge` the request inserts new rows and updates others. A row that is updated gets exactly the
    /// properties that the row of the request names, also if their value is the default or null.
    public var constraintAction: ConstraintAction?
    /// The identifiers of the stores of which the first writable one that accepts the entity gets the rows; `nil` = of
    /// all (FR-15).
    public var affectedStores: [UUID]?
    /// Whether the result has the IDs of the rows: 16 bytes for each row, which are all in memory.
    public var returnsObjectIDs = false
    /// Gets the number of rows that are done, and can cancel the request.
    public var progress: BatchProgress?
    /// Begins a run of the request.
    let begin: () -> NextRow

    private init(_ entityName: String, _ begin: @escaping () -> NextRow) {
        (self.entityName, self.begin) = (entityName, begin)
    }

    /// A request that inserts a row for each dictionary: values by name of the property (BR-01).
    ///
    /// The request keeps the dictionaries; a closure makes rows one by one.
    public init(entityName: String, objects: [[String: any PredicateArgument]]) {
        self.init(entityName) {
            var rest = objects.makeIterator()
            return { draft in
                guard let values = rest.next() else { return true }
                for (name, value) in values { draft.set(name, to: value) }
                return false
            }
        }
    }

    /// A request that inserts the rows that a closure fills, one in each call (BR-02).
    ///
    /// - Parameter fill: gets an empty dictionary, sets values by name of the property, and returns `false`; `true` if
    ///   there are no more rows: this dictionary is dropped. It is called while the store writes: a save or another
    ///   batch request to the same store throws `.alreadySaving` in it, and on another thread waits until it is over.
    ///   An error that it throws ends the request, and the store stays as it was.
    public init(entityName: String, fill: @escaping (inout [String: any PredicateArgument]) throws -> Bool) {
        self.init(entityName) {
            { draft in
                var values: [String: any PredicateArgument] = [:]
                if try fill(&values) { return true }
                for (name, value) in values { draft.set(name, to: value) }
                return false
            }
        }
    }

    /// A request that inserts the rows that a closure fills by key path, one in each call (BR-02).
    ///
    /// - Parameter fill: sets properties of the row and returns `false`; `true` if there are no more rows: this row is
    ///   dropped. It is called while the store writes: a save or another batch request to the same store throws
    ///   `.alreadySaving` in it, and on another thread waits until it is over. An error that it throws ends the
    ///   request, and the store stays as it was.
    public init<Object: ManagedObject>(_ type: Object.Type, fill: @escaping (inout BatchRow<Object>) throws -> Bool) {
        self.init(Object.entityName) {
            { draft in
                var row = BatchRow<Object>(draft: draft)
                defer { draft = row.draft }
                return try fill(&row)
            }
        }
    }
}
