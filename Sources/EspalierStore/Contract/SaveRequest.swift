// A save on its way down, and what comes back: plain values that name rows, versions and changes.
//
// Rules
//   1. IDs may be temporary anywhere in a request, as long as the object is among its `insertions`; the store gives
//      permanent ones and answers with the rows, in the order of the request.
//   2. To-one relationships travel with their row. The unordered to-many side of one is never sent: the store derives
//      it from the to-one side.
//   3. `links` says the rest: many-to-many pairs (either side may send a pair, both may: adding a pair that is there or
//      removing one that is not is no error), to-many relationships without inverse, and the order of ordered ones.
//   4. Delete rules are the store's business: it carries them out over what it holds and what the request brings, and
//      answers with what became of rows that the request does not name.
//   5. Every destination and every owner that a request names is there when the save ends, or the save fails.
//   6. An insertion whose unique values a row has already goes into that row if `constraintActions` says so; the answer
//      says which insertions did.

public import EspalierModel

/// Everything that one save writes to one store.
public struct SaveRequest: Sendable {
    /// A new row.
    public struct Insertion: Sendable {
        /// A temporary ID, or one that the store reserved.
        ///
        /// The row begins at version 1, and at a greater one if a row may have had the ID before: no two rows with one
        /// ID have the same version at different times.
        public var id: ObjectID
        /// All values, which are shared.
        package private(set) var row: RowValues

        /// One value for each attribute slot of the entity.
        ///
        /// - Complexity: O(values), to read as well as to change.
        public var values: [AttributeValue] {
            get { row.attributes }
            set { self = Insertion(id: id, values: newValue, destinations: row.destinations) }
        }
        /// One for each relationship slot; `nil` for to-many and empty ones.
        ///
        /// - Complexity: O(values), to read as well as to change.
        public var destinations: [ObjectID?] {
            get { row.destinations }
            set { self = Insertion(id: id, values: row.attributes, destinations: newValue) }
        }

        /// Inserts a row.
        public init(id: ObjectID, values: [AttributeValue], destinations: [ObjectID?]) {
            self.init(id: id, RowValues(values, destinations))
        }

        /// Inserts a row that somebody has and changes no more.
        package init(id: ObjectID, _ row: RowValues) {
            row.share()
            (self.id, self.row) = (id, row)
        }
    }

    /// A changed row.
    ///
    /// Its version goes up by one even if no value is listed (a change of links touches its owner).
    public struct Update: Sendable {
        /// Which row.
        public var id: ObjectID
        /// The version the changes are based on.
        public var expectedVersion: UInt64
        /// The changed attributes: slot and new value.
        public var values: [(slot: Int, value: AttributeValue)]
        /// The changed to-one relationships: slot and new destination.
        public var destinations: [(slot: Int, destination: ObjectID?)]

        /// Changes a row.
        public init(
            id: ObjectID, expectedVersion: UInt64, values: [(slot: Int, value: AttributeValue)] = [],
            destinations: [(slot: Int, destination: ObjectID?)] = []
        ) {
            (self.id, self.expectedVersion, self.values, self.destinations) = (
                id, expectedVersion, values, destinations
            )
        }
    }

    /// A row that goes, or that must not have changed.
    public struct Expectation: Sendable, Hashable {
        /// Which row.
        public var id: ObjectID
        /// The version the caller knows.
        public var expectedVersion: UInt64

        /// Names a row at a version.
        public init(id: ObjectID, expectedVersion: UInt64) { (self.id, self.expectedVersion) = (id, expectedVersion) }
    }

    /// A change of one to-many relationship of one object.
    public struct LinkChange: Sendable {
        /// The object whose relationship changes.
        public var owner: ObjectID
        /// The slot of the to-many relationship in the owner's entity.
        public var slot: Int
        /// Destinations that were not there before.
        public var added: [ObjectID]
        /// Destinations that are there no longer.
        public var removed: [ObjectID]
        /// All destinations in their new order, if the relationship is ordered; then `added` and `removed` are implied.
        public var order: [ObjectID]?
        /// The stored order that `order` was made from; `nil` = the one that is stored when the change is written.
        ///
        /// What `order` has and `orderBase` has not is added, and the other way round removed. What else is stored by
        /// then stays, behind what `order` names.
        public var orderBase: [ObjectID]?

        /// Changes a relationship.
        public init(
            owner: ObjectID, slot: Int, added: [ObjectID] = [], removed: [ObjectID] = [], order: [ObjectID]? = nil,
            orderBase: [ObjectID]? = nil
        ) {
            (self.owner, self.slot, self.added, self.removed) = (owner, slot, added, removed)
            (self.order, self.orderBase) = (order, orderBase)
        }
    }

    /// New rows.
    public var insertions: [Insertion] = []
    /// Changed rows.
    public var updates: [Update] = []
    /// Rows to delete.
    ///
    /// One that is also in `updates`, or owns `links`, is not written: delete rules follow what it was changed to lead
    /// to, and leave alone what it no longer leads to.
    public var deletions: [Expectation] = []
    /// Rows that are only checked for being unchanged (MC-35).
    public var locks: [Expectation] = []
    /// Changes of to-many relationships that rows do not carry.
    public var links: [LinkChange] = []
    /// What becomes of insertions whose values another row has; constraints that are not named refuse them.
    ///
    /// An insertion is merged only if all of its unique values that are taken are taken by one row, which is of the
    /// same entity or a subentity, and no action refuses it. Taken is what rows have after the deletions, with their
    /// rules, and after the updates of the request; of insertions that share values the first stays, and the others go
    /// into its row.
    public var constraintActions: [ConstraintName: ConstraintAction] = [:]

    /// An empty request.
    public init() {}

    /// Whether there is nothing to write.
    public var isEmpty: Bool { insertions.isEmpty && updates.isEmpty && deletions.isEmpty && links.isEmpty }
}

/// What a save has done: the rows it wrote, as a fetch would give them.
public struct SaveResult: Sendable {
    /// The rows of the request's insertions with their permanent IDs, in the order of the request: those that are new,
    /// and those that insertions went into.
    public var inserted: SnapshotList
    /// The positions in `inserted`, ascending, of rows that are not new: insertions went into them.
    public var merged: [Int]
    /// The changed rows at their new versions, in the order of the request's updates.
    ///
    /// Those of rows that a delete rule has taken with it are missing.
    public var updated: SnapshotList
    /// All rows that are gone: those of the request's deletions, and those that delete rules have taken with them.
    public var deleted: RowSet
    /// Rows that the store has changed besides, and which stay: a to-one relationship is empty now or leads to an owner
    /// of the request, or a list is shorter.
    ///
    /// One of them may be in `updated` or `inserted` with what the request made of it: it has changed again since.
    public var changed: RowSet
    /// The first generation that has what was saved (`StoreSnapshot.generation`); 0 if the store does not say.
    public var generation: UInt64 = 0

    /// Says what a save has done.
    public init(
        inserted: SnapshotList = SnapshotList(), merged: [Int] = [], updated: SnapshotList = SnapshotList(),
        deleted: RowSet = RowSet(), changed: RowSet = RowSet()
    ) {
        (self.inserted, self.merged, self.updated) = (inserted, merged, updated)
        (self.deleted, self.changed) = (deleted, changed)
    }

    /// What has become of each insertion, in the order of the request.
    ///
    /// - Complexity: O(insertions).
    public var insertions: [InsertionOutcome] {
        var outcomes = inserted.map { InsertionOutcome.inserted(version: $0.version) }
        for position in merged {
            let row = inserted[position]
            outcomes[position] = .merged(into: row.id, version: row.version)
        }
        return outcomes
    }
}
