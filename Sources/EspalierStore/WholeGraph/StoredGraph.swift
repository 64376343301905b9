// Everything that a store holds, as plain values: what a whole-graph store reads and writes at once (PS-12).

public import EspalierModel
public import FoundationEssentials

/// The whole content of a store.
public struct StoredGraph: Sendable {
    /// The destinations of a to-many relationship of one object.
    public struct List: Sendable {
        /// The object that has the relationship.
        public var owner: ObjectID
        /// The relationship.
        public var relationship: Relationship
        /// All destinations, in order if the relationship is ordered.
        public var destinations: [ObjectID]

        /// The destinations of a relationship of `owner`.
        public init(_ owner: ObjectID, _ relationship: Relationship, _ destinations: [ObjectID]) {
            (self.owner, self.relationship, self.destinations) = (owner, relationship, destinations)
        }
    }

    /// The numbers that a hierarchy of entities never uses again.
    public struct Counters: Sendable, Hashable {
        /// The greatest primary key that was ever given out.
        public var lastKey: UInt64
        /// The greatest version at which a row was deleted.
        public var goneVersion: UInt64

        /// Counters with these values.
        public init(lastKey: UInt64 = 0, goneVersion: UInt64 = 0) {
            (self.lastKey, self.goneVersion) = (lastKey, goneVersion)
        }
    }

    /// The UUID of the store, which the IDs of all rows have.
    public var identifier: UUID
    /// The values that the application keeps with the store.
    public var metadata: [String: AttributeValue] = [:]
    /// All rows.
    public var rows: [ObjectSnapshot] = []
    /// The lists of to-many relationships that are not empty: both sides of many-to-many relationships.
    ///
    /// A list whose inverse is to-one may be missing: it consists of the rows that lead to the owner.
    public var lists: [List] = []
    /// The counters by name of the topmost entity of each hierarchy; those that are missing follow from the rows.
    public var counters: [String: Counters] = [:]

    /// An empty store.
    public init(identifier: UUID) { self.identifier = identifier }
}
