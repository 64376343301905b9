// The whole content of an in-memory store: plain tables, which are easy to verify.
//
// Invariants
//   1. `lists` holds exactly the non-empty to-many lists; unordered ones are in ascending key order.
//   2. `groups[g]` maps values to the rows that have them, for uniqueness constraints and rows without a null in them.
//   3. Copying the state is O(1) and the copy never changes: it is a snapshot. A change copies what it changes, a list
//      as a whole, and shares the rest with all copies.

internal import EspalierModel

struct MemoryState: Sendable {
    /// One row.
    struct Row: Sendable {
        let id: ObjectID
        let entity: ManagedObjectModel.EntityIndex
        var version: UInt64
        var values: [AttributeValue]
        var destinations: [ObjectID?]

        var snapshot: ObjectSnapshot {
            assert(version > 0, "\(id) has no version")
            return ObjectSnapshot(id: id, version: version, values: values, destinations: destinations)
        }

        func value(of property: Entity.Property) -> AttributeValue {
            switch property {
            case .attribute(let slot): values[slot]
            case .relationship(let slot): destinations[slot].map(AttributeValue.objectID) ?? .null
            }
        }
    }

    /// The keys that rows can have; greater ones stand for references that are no keys (`ReferenceTable`).
    static let keys: ClosedRange<UInt64> = 1...ReferenceTable.firstKey - 1

    /// The schema of the store's model.
    let schema: StoreSchema
    /// The rows of each hierarchy, by the index of its root entity and by primary key.
    var rows: [KeyTable<Row>]
    /// The greatest primary key that was allocated in each hierarchy, by the index of its root entity.
    var lastKeys: [UInt64]
    /// The greatest version at which a row of each hierarchy was deleted, by the index of its root entity.
    var goneVersions: [UInt64]
    /// The lists of to-many relationships.
    var lists = HashedTable<ListID, [ObjectID]>()
    /// For each relationship without inverse, the owners that lead to an object, by primary key.
    private(set) var owners = HashedTable<ListID, KeyTable<ObjectID>>()
    /// The rows that have certain values, for each uniqueness constraint.
    private(set) var groups: [HashedTable<[UniqueValue], Set<ObjectID>>]
    /// The application's metadata.
    var metadata: [String: AttributeValue] = [:]
    /// Increases by one with each save.
    var generation: UInt64 = 0
    /// Whether the store was closed.
    var isClosed = false
    /// During a save: the changes from which derived values follow.
    var derivedChanges = DerivedChanges()
    /// During a save: the links that delete rules have removed from `lists`, until `settleLinks`.
    var removedLinks = RemovedLinks()
    /// During a save: the rows whose unique values are checked in the end, because they follow from other rows.
    var deferred: DeferredConstraints

    init(schema: StoreSchema) {
        self.schema = schema
        rows = Array(repeating: KeyTable(), count: schema.model.entities.count)
        lastKeys = Array(repeating: 0, count: schema.model.entities.count)
        goneVersions = lastKeys
        groups = Array(repeating: HashedTable(), count: schema.groups.count)
        deferred = DeferredConstraints(schema.lateConstraints)
    }

    func row(_ id: ObjectID) -> Row? {
        guard let entity = schema.entity(of: id), let row = rows[entity.root][id.key], row.id == id else { return nil }
        assert(row.entity == entity.index && row.values.count == entity.attributes.count, "\(id) is of another entity")
        return row
    }

    // MARK: Owners

    /// Notes that a relationship without inverse leads from an owner to a row.
    mutating func insert(owner: ObjectID, leadingTo destination: ObjectID, _ relationship: Relationship) {
        assert(relationship.inverse == nil, "\(relationship.name) has an inverse, whose lists have the owners")
        owners.update(ListID(relationship, of: destination)) { owners in
            var table = owners.take() ?? KeyTable()
            table[owner.key] = owner
            owners = table
        }
    }

    /// Notes that a relationship does not lead from an owner to a row any more.
    mutating func remove(owner: ObjectID, leadingTo destination: ObjectID, _ relationship: Relationship) {
        assert(relationship.inverse == nil, "\(relationship.name) has an inverse, whose lists have the owners")
        owners.update(ListID(relationship, of: destination)) { owners in
            guard var table = owners.take() else { return }
            table[owner.key] = nil
            if !table.isEmpty { owners = table }
        }
    }

    // MARK: Uniqueness

    /// The uniqueness constraints that a row belongs to.
    func constraints(of row: Row) -> [Int] {
        schema.groupsByEntity[row.entity].filter { schema.groups[$0].isUnique }
    }

    /// The values of a row in a group; `nil` if one of them is null.
    func key(_ row: Row, _ group: Int) -> [UniqueValue]? {
        assert(schema.groups[group].isUnique, "invariant 2: \(schema.groups[group].name) is no constraint")
        let values = schema.groups[group].elements.compactMap(\.property).map { row.value(of: $0) }
        return values.contains(where: \.isNull) ? nil : values.map(UniqueValue.init)
    }

    /// The conflict of two rows that have these values in a group.
    func conflict(
        of id: ObjectID, with other: ObjectID, _ values: [UniqueValue], inGroup group: Int
    ) -> ConstraintConflict {
        assert(id != other, "\(id) is in conflict with itself")
        let constraint = schema.groups[group]
        return ConstraintConflict(
            entityName: schema.model.entities[constraint.entity].name, properties: constraint.properties,
            values: values.map(\.value), object: id, other: other)
    }

    /// Checks the constraints that were deferred, over the rows as they are; for each, conflicts are by ascending key.
    mutating func deferredConflicts() -> [ConstraintConflict] {
        var conflicts: [ConstraintConflict] = []
        for (group, noted) in deferred.takeRows() {
            assert(schema.groups[group].isUnique, "invariant 2: \(schema.groups[group].name) is no constraint")
            let start = conflicts.count
            // Of the values that rows share, so that all of these rows are looked at only twice.
            var lowest: [[UniqueValue]: ObjectID] = [:]
            for id in noted where conflicts.count < DeferredConstraints.reportCountMax {
                guard let row = row(id), let values = key(row, group), let holders = groups[group][values],
                    holders.count > 1, let first = lowest[values] ?? holders.min(by: { $0.key < $1.key })
                else { continue }
                lowest[values] = first
                // The row with the lowest key is reported for any other row; and it may be reported itself.
                let others = first == id ? holders.filter { !noted.contains($0) } : [first]
                guard let other = others.min(by: { $0.key < $1.key }) else { continue }
                assert(DeferredConstraints.reports(id, sharingWith: other, among: noted), "\(id) comes before \(other)")
                conflicts.append(conflict(of: id, with: other, values, inGroup: group))
            }
            // The rows of one entity come after those of another one.
            conflicts[start...].sort { $0.object.key < $1.object.key }
        }
        return conflicts
    }

    /// Adds a row to those that have certain values in a group.
    mutating func insert(_ id: ObjectID, having values: [UniqueValue], inGroup group: Int) {
        assert(schema.groups[group].isUnique, "invariant 2: \(schema.groups[group].name) is no constraint")
        groups[group].update(values) { holders in
            var ids = holders.take() ?? []
            ids.insert(id)
            holders = ids
        }
    }

    /// Removes a row from those that have its values in a group.
    mutating func remove(_ row: Row, from group: Int) {
        guard let values = key(row, group) else { return }
        assert(
            groups[group][values]?.contains(row.id) == true, "invariant 2: \(row.id) is not among those with its values"
        )
        groups[group].update(values) { holders in
            guard var ids = holders.take() else { return }
            ids.remove(row.id)
            if !ids.isEmpty { holders = ids }
        }
    }

    // MARK: Invariants

    /// Asserts that hierarchies and constraints have their tables, and invariant 1 for some lists; to be called in
    /// `assert`.
    ///
    /// O(hierarchies): of many lists, 64 are checked.
    func checkInvariants() -> Bool {
        let entities = schema.model.entities
        assert(rows.count == entities.count && lastKeys.count == entities.count, "\(rows.count) hierarchies")
        assert(goneVersions.count == entities.count && groups.count == schema.groups.count, "\(groups.count) groups")
        for entity in entities where entity.root != entity.index {
            assert(rows[entity.index].isEmpty && lastKeys[entity.index] == 0, "rows of \(entity.name) are at its root")
        }
        for (position, group) in schema.groups.enumerated() {
            assert(group.isUnique || groups[position].isEmpty, "invariant 2: \(group.name) is no constraint")
        }
        assert(removedLinks.isEmpty, "links are removed that lists still have")
        assert(lists.prefix(64).allSatisfy { !$0.value.isEmpty }, "invariant 1: a list is empty")
        return true
    }
}
