// The request of a save and its result: plain values that name rows, versions and changes.
//
// Rules
//   1. IDs may be temporary anywhere in a request, if the object is among its `insertions`; the store assigns permanent
//      ones and returns the rows, in the order of the request.
//   2. To-one relationships are part of their row. The unordered to-many side of one is never sent: the store derives
//      it from the to-one side.
//   3. `links` has the rest: many-to-many pairs (either side or both may send a pair: adding an existing pair and
//      removing a missing one are no errors), to-many relationships without inverse, and the order of ordered ones. The
//      order may come with its differences (`OrderEdits`), from which it is made only if the store reads it.
//   4. The store applies delete rules to its rows and to the changes of the request, and its result tells which other
//      rows have changed or were deleted.
//   5. Every destination and every owner that a request names exists when the save ends, or the save fails.
//   6. An insertion whose unique values a row has already is merged into that row if `constraintActions` says so; the
//      result tells which insertions were merged.
//   7. An insertion under an ID that a row has is a conflict of versions: the expected one is 0.
//   8. The store ignores the derived values of the request and computes them itself. Of an application's data
//      (`IncrementalStore`), the store computes only those that follow from a row alone.

public import EspalierModel

/// Everything that one save writes to one store.
public struct SaveRequest: Sendable {
    /// A new row.
    public struct Insertion: Sendable {
        /// A temporary ID, or one that the store reserved.
        ///
        /// The row begins at version 1, or at a greater one if a row may have had the ID before: two rows with one ID
        /// never have the same version.
        public var id: ObjectID
        /// All values, which are shared and do not change.
        package private(set) var row: RowValues
        /// The properties whose values the sender has named; `nil` if it does not tell them from values by default.
        package private(set) var named: NamedProperties?

        /// One value for each attribute slot of the entity.
        ///
        /// - Complexity: O(values), to read as well as to change.
        public var values: [AttributeValue] {
            get { row.attributes }
            set { self = Insertion(id: id, RowValues(newValue, row.destinations), naming: named) }
        }
        /// One for each relationship slot; `nil` for to-many and empty ones.
        ///
        /// - Complexity: O(values), to read as well as to change.
        public var destinations: [ObjectID?] {
            get { row.destinations }
            set { self = Insertion(id: id, RowValues(row.attributes, newValue), naming: named) }
        }

        /// Inserts a row.
        public init(id: ObjectID, values: [AttributeValue], destinations: [ObjectID?]) {
            self.init(id: id, RowValues(values, destinations))
        }

        /// Inserts a row of a command.
        public init(id: ObjectID, _ row: StoreCommand.NewRow) { self.init(id: id, row.content, naming: row.named) }

        /// Inserts a row whose values are shared from now on.
        package init(id: ObjectID, _ row: RowValues, naming named: NamedProperties? = nil) {
            row.share()
            (self.id, self.row, self.named) = (id, row, named)
        }

        /// Whether a row into which the insertion is merged gets its value of an attribute (`ConstraintAction.merge`).
        ///
        /// A row of a command gives the values that it names, also the default value and null; an object gives those
        /// that differ from the default value. Derived values follow from the others. An insertion gives no value of an
        /// attribute that its row does not have, such as one of a subentity.
        ///
        /// - Complexity: O(1).
        public func merges(_ attribute: Attribute) -> Bool {
            guard attribute.slot < row.attributeCount, !attribute.isTransient, !attribute.isDerived else {
                return false
            }
            return named?.contains(.attribute(attribute.slot))
                ?? (row.attribute(at: attribute.slot) != attribute.defaultValue)
        }

        /// Whether a row into which the insertion is merged gets its destination of a to-one relationship.
        ///
        /// A row of a command gives the destinations that it names, also none; an object gives those that it has. An
        /// insertion gives no destination of a relationship that its row does not have, such as one of a subentity.
        ///
        /// - Complexity: O(1).
        public func merges(_ relationship: Relationship) -> Bool {
            guard !relationship.isToMany, relationship.slot < row.relationshipCount else { return false }
            return named?.contains(.relationship(relationship.slot))
                ?? (row.destination(at: relationship.slot) != nil)
        }
    }

    /// A changed row.
    ///
    /// Its version increases by one even if no value is listed (the sender lists the owner of an ordered list that has
    /// changed).
    public struct Update: Sendable {
        /// The ID of the row.
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

    /// A row to delete, or one that must not have changed.
    public struct Expectation: Sendable, Hashable {
        /// The ID of the row.
        public var id: ObjectID
        /// The version the caller knows.
        public var expectedVersion: UInt64

        /// Names a row at a version.
        public init(id: ObjectID, expectedVersion: UInt64) { (self.id, self.expectedVersion) = (id, expectedVersion) }
    }

    /// A change of one to-many relationship of one object.
    public struct LinkChange: Sendable {
        private enum Order {
            case unchanged
            case whole([ObjectID])
            case edited(OrderEdits)
        }

        /// The object whose relationship changes.
        public var owner: ObjectID
        /// The slot of the to-many relationship in the owner's entity.
        public var slot: Int
        /// The destinations to add.
        public var added: [ObjectID]
        /// The destinations to remove.
        public var removed: [ObjectID]
        /// The stored order on which `order` is based; `nil` = the one that is stored when the change is written.
        ///
        /// Destinations that only `order` has are added, and those that only `orderBase` has are removed. All other
        /// destinations that are stored by then remain, after those of `order`.
        public var orderBase: [ObjectID]?
        private var newOrder: Order

        /// All destinations in their new order, if the relationship is ordered; then `added` and `removed` are implied.
        ///
        /// - Complexity: O(n) to read, if there are `edits`.
        public var order: [ObjectID]? {
            get {
                switch newOrder {
                case .unchanged: nil
                case .whole(let order): order
                case .edited(let edits): edits.order
                }
            }
            set { newOrder = newValue.map(Order.whole) ?? .unchanged }
        }

        /// Whether there is a new order.
        package var hasOrder: Bool { if case .unchanged = newOrder { false } else { true } }

        /// The difference between `order` and the order that the sender has read at the version at which the request
        /// expects the owner's row; `nil` if the sender does not know it.
        ///
        /// A store may write the edits instead of the whole order if its list has the destinations that they name, each
        /// where they expect it. It may leave other destinations, with which that order has come to differ since, where
        /// they are. A store that writes `order` may ignore the edits.
        public var edits: OrderEdits? {
            if case .edited(let edits) = newOrder { edits } else { nil }
        }

        /// Changes a relationship.
        public init(
            owner: ObjectID, slot: Int, added: [ObjectID] = [], removed: [ObjectID] = [], order: [ObjectID]? = nil,
            orderBase: [ObjectID]? = nil
        ) {
            (self.owner, self.slot, self.added, self.removed) = (owner, slot, added, removed)
            (newOrder, self.orderBase) = (order.map(Order.whole) ?? .unchanged, orderBase)
        }

        /// Changes an ordered relationship.
        package init(owner: ObjectID, slot: Int, edits: OrderEdits, orderBase: [ObjectID]?) {
            (self.owner, self.slot, added, removed) = (owner, slot, [], [])
            (newOrder, self.orderBase) = (.edited(edits), orderBase)
        }
    }

    /// New rows.
    public var insertions: [Insertion] = []
    /// Changed rows.
    public var updates: [Update] = []
    /// Rows to delete.
    ///
    /// The changes of a row that is also in `updates`, or owns `links`, are not written: delete rules follow its
    /// relationships as changed, and ignore the destinations that it no longer has.
    public var deletions: [Expectation] = []
    /// Rows that must be unchanged, and are only checked (MC-35).
    public var locks: [Expectation] = []
    /// Changes of to-many relationships, which are not part of rows.
    public var links: [LinkChange] = []
    /// The actions on insertions whose values another row has; a constraint that is not named refuses them.
    ///
    /// An insertion is merged only if all of its unique values that are taken are taken by one row, this row is of the
    /// same entity or a subentity, and no action refuses it. A value is taken if a row has it after the deletions with
    /// their rules, and after the updates of the request. Of insertions that share values, the first creates a row, and
    /// the others are merged into that row.
    public var constraintActions: [ConstraintName: ConstraintAction] = [:]

    /// An empty request.
    public init() {}

    /// Whether there is nothing to write.
    public var isEmpty: Bool { insertions.isEmpty && updates.isEmpty && deletions.isEmpty && links.isEmpty }
}

/// The result of a save: the rows it wrote, as a fetch would return them.
public struct SaveResult: Sendable {
    /// The rows of the request's insertions with their permanent IDs, in the order of the request: new rows, and rows
    /// into which insertions were merged.
    public var inserted: SnapshotList
    /// The positions in `inserted`, ascending, of the rows into which insertions were merged.
    public var merged: [Int]
    /// The changed rows at their new versions, in the order of the request's updates.
    ///
    /// Rows that a delete rule has deleted are missing.
    public var updated: SnapshotList
    /// All deleted rows: those of the request's deletions, and those that delete rules have deleted.
    public var deleted: RowSet
    /// Other rows that the store has changed and not deleted: a to-one relationship is empty now or leads to an owner
    /// of the request, a list is shorter, or a derived value is another one, at the same version.
    ///
    /// A row may also be in `updated` or `inserted`, with the values of the request: it has changed again since.
    public var changed: RowSet
    /// The first generation that has the save (`StoreSnapshot.generation`); 0 if the save wrote nothing, or if the
    /// store does not tell.
    public var generation: UInt64 = 0

    /// Creates a result.
    public init(
        inserted: SnapshotList = SnapshotList(), merged: [Int] = [], updated: SnapshotList = SnapshotList(),
        deleted: RowSet = RowSet(), changed: RowSet = RowSet()
    ) {
        (self.inserted, self.merged, self.updated) = (inserted, merged, updated)
        (self.deleted, self.changed) = (deleted, changed)
    }

    /// The outcome of each insertion, in the order of the request.
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
