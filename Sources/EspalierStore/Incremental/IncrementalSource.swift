// The protocols with which an application makes a store whose rows are loaded when they are asked for.
//
// Rules for sources (a source that breaks one makes the call fail with `StoreError.brokenContract`)
//   1. A row has one ID and one reference, and is returned at most once in an answer. No two rows of a hierarchy of
//      entities have the same reference.
//   2. Values are of the types of their attributes; destinations are of the entities to which relationships lead.
//   3. The version of a row is from 1 to 2^63 - 1, and never less than it was at an earlier generation.
//   4. An answer is filtered, sorted or cut if it says so; a row that an answer names exists.
// Both sides of a relationship are read from the source, and it gets both sides when they change.

public import EspalierModel
public import FoundationEssentials

/// The data of a store of an application (PS-13): a folder, a server, an archive.
///
/// `IncrementalStore` makes a store of it: it translates requests, checks every answer, filters and sorts what the
/// source leaves, and carries out the rules of the model when it saves. A source that can only be read needs
/// `identifier` and `makeReader()`. It is called from several threads.
public protocol IncrementalSource: AnyObject, Sendable {
    /// The UUID of the data: the same whenever the same data is opened, because IDs of objects have it.
    var identifier: UUID { get }
    /// The place of the data, for messages; by default `nil`.
    var path: String? { get }
    /// Whether nothing can be saved; by default `true`.
    var isReadOnly: Bool { get }

    /// Something that reads the data; if possible, the data of one moment, whatever is saved afterwards.
    ///
    /// A context reads from one reader until it moves to a newer generation. A reader of data that change under it
    /// shows newer rows beside older ones.
    func makeReader() throws -> any IncrementalReader

    /// References for new rows, which no row has had before.
    func newReferences(for entity: Entity, count: Int) throws -> [RowReference]
    /// Writes all changes or none.
    ///
    /// Saves come one after the other. A source that others change as well compares `changes.expectations` with its
    /// rows in the same transaction, and throws `StoreError.conflict` if a row has another version.
    func save(_ changes: IncrementalChanges) throws

    /// The values that the application keeps with the store; by default none.
    func metadata() throws -> [String: AttributeValue]
    /// Replaces these values.
    func setMetadata(_ metadata: [String: AttributeValue]) throws
    /// Called once, when the store is closed.
    func close() throws
}

extension IncrementalSource {
    /// `nil`.
    public var path: String? { nil }
    /// `true`.
    public var isReadOnly: Bool { true }
    /// Throws `StoreError.readOnly`.
    public func newReferences(for entity: Entity, count: Int) throws -> [RowReference] {
        throw StoreError.readOnly(path: path)
    }
    /// Throws `StoreError.readOnly`.
    public func save(_ changes: IncrementalChanges) throws { throw StoreError.readOnly(path: path) }
    /// None.
    public func metadata() throws -> [String: AttributeValue] { [:] }
    /// Throws `StoreError.readOnly`.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws { throw StoreError.readOnly(path: path) }
    /// Does nothing.
    public func close() throws {}
}

/// Reads the data of a source.
public protocol IncrementalReader: Sendable {
    /// The rows of an entity that match.
    ///
    /// The answer may have more rows than the query asks for, in any order: it says what it leaves to the caller.
    func find(_ query: IncrementalQuery) throws -> FoundRows
    /// The rows with these IDs, in this order; `nil` where there is none.
    func rows(_ ids: [ObjectID]) throws -> [ObjectSnapshot?]
    /// The destinations of a to-many relationship, in the kept order if it is ordered.
    func destinations(of relationship: Relationship, for owner: ObjectID) throws -> [ObjectID]
}

/// A question to a source, in the names that the application used.
public struct IncrementalQuery: Sendable {
    /// The entity whose rows are wanted.
    public let entity: Entity
    /// Whether rows of entities that inherit from it are wanted too.
    public let includesSubentities: Bool
    /// The condition; `nil` = all rows.
    public let predicate: FetchPredicate?
    /// The order by key paths, most significant first; empty if an expression is part of it, because the store sorts
    /// the rows then.
    public let sort: [SortKey]
    /// How many matching rows are skipped.
    public let offset: Int
    /// The greatest number of rows; `nil` = all.
    public let limit: Int?
    /// Whether the query asks for all that the fetch does: a condition that a context has made of IDs is left out, and
    /// with it the limits.
    let isWhole: Bool

    /// The entities whose rows are wanted.
    ///
    /// - Parameter model: the model of the store.
    public func entities(in model: ManagedObjectModel) -> [Entity] {
        let family = includesSubentities ? entity.family.map { model.entities[$0] } : [entity]
        return family.filter { !$0.isAbstract }
    }
}

/// The answer to a query: rows, or only their IDs, and what has been done already (SD-32).
public struct FoundRows: Sendable {
    enum Rows: Sendable {
        case ids([ObjectID])
        case loaded([ObjectSnapshot])
    }

    let rows: Rows
    /// Whether all rows match the predicate; otherwise the store tests them.
    public var isFiltered: Bool
    /// Whether the rows are in the order of the sort keys; otherwise the store sorts them.
    public var isSorted: Bool
    /// Whether offset and limit have been applied, which needs `isFiltered` and `isSorted` if there is anything to
    /// filter or sort.
    public var isCut: Bool

    /// An answer whose rows are loaded if they are needed.
    public init(ids: [ObjectID], isFiltered: Bool = false, isSorted: Bool = false, isCut: Bool = false) {
        rows = .ids(ids)
        (self.isFiltered, self.isSorted, self.isCut) = (isFiltered, isSorted, isCut)
    }

    /// An answer of rows.
    public init(_ rows: [ObjectSnapshot], isFiltered: Bool = false, isSorted: Bool = false, isCut: Bool = false) {
        self.rows = .loaded(rows)
        (self.isFiltered, self.isSorted, self.isCut) = (isFiltered, isSorted, isCut)
    }
}

/// Everything that a save writes to a source: rows as they are afterwards, with all that the rules of the model change.
public struct IncrementalChanges: Sendable {
    /// The destinations of a to-many relationship after the save.
    public struct List: Sendable {
        /// The object that has the relationship.
        public let owner: ObjectID
        /// The relationship.
        public let relationship: Relationship
        /// All destinations, in order if the relationship is ordered.
        public let destinations: [ObjectID]
    }

    /// New rows.
    public var inserted: [ObjectSnapshot] = []
    /// Changed rows at their new versions.
    public var updated: [ObjectSnapshot] = []
    /// Rows to remove, with their lists.
    public var deleted: [ObjectID] = []
    /// All to-many relationships that change, also those whose inverse is to-one.
    public var lists: [List] = []
    /// The rows on which the save is based, which must still be at these versions.
    public var expectations: [SaveRequest.Expectation] = []
}
