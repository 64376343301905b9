// The state of an application's data in the course of a save: what the source has, below what the save changes.
//
// Invariants
//   1. `rows` and `lists` have the changes; everything else is read from the source when a rule asks for it.
//      A list in `lists` may still have destinations of `removedLinks`, until `settleLinks`.
//   2. `holders` has the changed rows by their unique values, as far as none of these is null.

internal import EspalierModel

/// Rows and lists as they are after the steps of a save so far.
struct IncrementalState: SaveState {
    static var heldCountMax: Int { .max }

    /// A row that the save has changed, or removed.
    private enum Change {
        case row(ObjectSnapshot)
        case gone(ObjectSnapshot)
    }

    private let snapshot: IncrementalSnapshot
    private let schema: StoreSchema
    private var rows = ObjectIDTable<Change>()
    private(set) var lists: [ListID: (relationship: Relationship, destinations: [ObjectID])] = [:]
    private var removedLinks = RemovedLinks()
    private var holders: [[[UniqueValue]: Set<ObjectID>]]

    init(_ snapshot: IncrementalSnapshot) {
        (self.snapshot, schema) = (snapshot, snapshot.store.schema)
        holders = Array(repeating: [:], count: schema.groups.count)
    }

    // MARK: Reading

    /// The row as the save leaves it so far; `nil` if there is none.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectSnapshot? {
        switch rows[id] {
        case .row(let row): row
        case .gone: nil
        case nil: try snapshot.snapshots(of: [id])[0]
        }
    }

    func rows(_ ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        let stored = ids.filter { rows[$0] == nil }
        let found = try snapshot.snapshots(of: stored)
        assert(found.count == stored.count, "\(found.count) rows were read by \(stored.count) IDs")
        var others = found.makeIterator()
        return ids.map { id in
            switch rows[id] {
            case .row(let row): row
            case .gone: nil
            case nil: others.next() ?? nil
            }
        }
    }

    func missing(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID] {
        zip(ids, try rows(ids)).filter { $1 == nil }.map { $0.0 }
    }

    func destinations(of owner: ObjectID, _ relationship: Relationship) throws(StoreError) -> [ObjectID] {
        try destinations(of: owner, relationship, countMax: .max)
    }

    /// A list with the destinations that `removedLinks` takes out of it.
    private func unsettledList(of owner: ObjectID, _ relationship: Relationship) throws(StoreError) -> [ObjectID] {
        assert(relationship.isToMany, "\(relationship.name) of \(owner) is to-one, and no list")
        if let list = lists[ListID(relationship, of: owner)] { return list.destinations }
        // Neither a new row nor one that is gone has a list in the source.
        guard try snapshot.snapshots(of: [owner])[0] != nil else { return [] }
        return try snapshot.destinations(of: relationship, for: [owner])[0]
    }

    func destinations(
        of owner: ObjectID, _ relationship: Relationship, countMax: Int
    ) throws(StoreError) -> [ObjectID] {
        let list = try unsettledList(of: owner, relationship)
        return removedLinks.left(of: list, in: ListID(relationship, of: owner), countMax: countMax)
    }

    /// - Complexity: O(rows of the entity), because nothing leads back along the relationship.
    func pairs(
        leadingTo destinations: [ObjectID], _ relationship: Relationship
    ) throws(StoreError) -> [(owner: ObjectID, destination: ObjectID)] {
        assert(relationship.isToMany && relationship.inverse == nil, "owners along \(relationship.name) are not known")
        let wanted = Set(destinations)
        var pairs: [(owner: ObjectID, destination: ObjectID)] = []
        for owner in try ids(of: schema.model.entities[relationship.declaredBy]) {
            assert(StepCount.note())
            for id in try self.destinations(of: owner, relationship) where wanted.contains(id) {
                pairs.append((owner, id))
            }
        }
        return pairs
    }

    /// - Complexity: O(rows of the entity), because nothing leads back along the relationship.
    func rows(
        of entity: Entity, from key: UInt64, leadingInto gone: RowSet, at slot: Int, countMax: Int
    ) throws(StoreError) -> (rows: [ObjectSnapshot], next: UInt64?) {
        assert(countMax > 0, "\(countMax) rows of \(entity.name) are asked for")
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        var found: [ObjectSnapshot] = []
        for case let row? in try rows(ids(of: entity).filter { $0.key >= key }) {
            guard let destination = row.destination(at: slot), gone.contains(destination) else { continue }
            found.append(row)
        }
        found.sort { $0.id.key < $1.id.key }
        return (Array(found.prefix(countMax)), found.dropFirst(countMax).first?.id.key)
    }

    /// All rows of the family of an entity, as the save leaves them so far.
    private func ids(of entity: Entity) throws(StoreError) -> [ObjectID] {
        var ids = try snapshot.fetchIDs(StoreFetch(entity: entity)).filter { rows[$0] == nil }
        let family = Set(entity.family)
        rows.forEach { id, change in
            if case .row = change, family.contains(schema.entityIndex(of: id)) { ids.append(id) }
        }
        return ids
    }

    // MARK: Unique values

    func holder(of values: [AttributeValue], inGroup group: Int) throws(StoreError) -> ObjectID? {
        assert(schema.groups[group].isUnique && !values.contains(where: \.isNull), "invariant 2")
        return try holders(of: values.map(UniqueValue.init), inGroup: group).min { $0.key < $1.key }
    }

    /// All rows that have these values in a constraint.
    func holders(of values: [UniqueValue], inGroup group: Int) throws(StoreError) -> [ObjectID] {
        assert(values.count == schema.groups[group].elements.count, "\(values.count) values in a constraint")
        var found = Array(holders[group][values] ?? [])
        for row in try snapshot.fetch(fetch(group, values.map(\.value))) where rows[row.id] == nil {
            if key(row, group) == values { found.append(row.id) }
        }
        return found
    }

    /// The rows of the source that may have these values in a constraint.
    private func fetch(_ group: Int, _ values: [AttributeValue]) throws(StoreError) -> StoreFetch {
        let constraint = schema.groups[group]
        let entity = schema.model.entities[constraint.entity]
        var conditions: [FetchPredicate] = []
        for (name, value) in zip(constraint.properties, values) {
            switch value {
            case .string, .integer, .boolean, .uuid, .objectID:
                conditions.append(.comparison(.init(.keyPath(FetchKeyPath([name])), .equal, .value(value))))
            // Equality of these in a predicate is not that of a constraint; rows are compared anyway.
            default: continue
            }
        }
        guard !conditions.isEmpty else { return StoreFetch(entity: entity) }
        let condition = try? ResolvedPredicate(.and(conditions), for: entity, in: schema.model)
        return StoreFetch(entity: entity, predicate: condition)
    }

    /// The uniqueness constraints that rows of an entity belong to.
    func constraints(of id: ObjectID) -> [Int] {
        schema.groupsByEntity[schema.entityIndex(of: id)].filter { schema.groups[$0].isUnique }
    }

    /// The values of a row in a constraint; `nil` if one of them is null.
    func key(_ row: ObjectSnapshot, _ group: Int) -> [UniqueValue]? {
        var values: [UniqueValue] = []
        for element in schema.groups[group].elements {
            let value = ValueSource.snapshot(row).value(of: element)
            guard !value.isNull else { return nil }
            values.append(UniqueValue(value))
        }
        return values
    }

    // MARK: Changing

    /// Notes a new or changed row.
    mutating func put(_ row: ObjectSnapshot) {
        assert(row.version > 0 && !row.id.isTemporary, "\(row.id) is put at version \(row.version)")
        drop(row.id)
        rows.set(.row(row), for: row.id)
        for group in constraints(of: row.id) {
            if let key = key(row, group) { holders[group][key, default: []].insert(row.id) }
        }
    }

    /// Removes a changed row from those that have its unique values.
    private mutating func drop(_ id: ObjectID) {
        guard case .row(let former)? = rows[id] else { return }
        for group in constraints(of: id) {
            guard let key = key(former, group) else { continue }
            holders[group][key]?.remove(id)
            if holders[group][key]?.isEmpty == true { holders[group][key] = nil }
        }
    }

    mutating func remove(_ deleted: ArraySlice<ObjectSnapshot>) throws(StoreError) {
        for row in deleted {
            guard let row = try self.row(row.id) else { continue }
            drop(row.id)
            rows.set(.gone(row), for: row.id)
        }
    }

    mutating func setDestinations(
        _ changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])]
    ) throws(StoreError) {
        for (row, destinations) in changes {
            guard let old = try self.row(row.id) else { continue }
            put(try changed(old, attributes: [], destinations: destinations))
        }
    }

    /// None: an application's data keep derived values as they like.
    var derivedChanges: DerivedChanges { DerivedChanges() }

    mutating func setDerivedValues(
        _ changes: [(row: ObjectSnapshot, value: AttributeValue)], at slot: Int
    ) throws(StoreError) {
        assert(changes.isEmpty, "\(changes.count) derived values follow from no change")
    }

    /// A row with some other values, at its next version.
    func changed(
        _ row: ObjectSnapshot, attributes: [(slot: Int, value: AttributeValue)],
        destinations: [(slot: Int, destination: ObjectID?)]
    ) throws(StoreError) -> ObjectSnapshot {
        let entity = schema.model.entities[schema.entityIndex(of: row.id)]
        var (values, ids) = (
            entity.attributes.map { row.value(at: $0.slot) },
            entity.relationships.map { row.destination(at: $0.slot) }
        )
        for (slot, value) in attributes { values[slot] = value }
        for (slot, destination) in destinations { ids[slot] = destination }
        return ObjectSnapshot(
            id: row.id, version: try ObjectSnapshot.version(after: row.version, of: row.id), values: values,
            destinations: ids)
    }

    /// Replaces a list.
    mutating func setList(_ destinations: [ObjectID], of owner: ObjectID, _ relationship: Relationship) {
        assert(relationship.isToMany, "\(relationship.name) of \(owner) is to-one, and no list")
        lists[ListID(relationship, of: owner)] = (relationship, destinations)
    }

    mutating func removeLink(
        of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship
    ) {
        assert(relationship.isToMany, "\(relationship.name) of \(owner) is to-one, and no list")
        removedLinks.insert(destination, in: ListID(relationship, of: owner))
    }

    /// - Complexity: O(n) for lists of n destinations, each of which is read from the source.
    mutating func settleLinks() throws(StoreError) {
        for (id, gone) in removedLinks.takeLists() {
            let relationship = schema.model.entities[id.relationship.declaredBy].relationships[id.relationship.slot]
            let list = try unsettledList(of: id.owner, relationship)
            assert(StepCount.note(list.count))
            let left = list.filter { !gone.contains($0) }
            if left.count < list.count { setList(left, of: id.owner, relationship) }
        }
    }

    // MARK: The result

    /// Everything that differs from the source.
    ///
    /// - Parameter inserted: the new rows, in the order of the request.
    func changes(inserted: [ObjectID]) -> (changes: IncrementalChanges, gone: [ObjectSnapshot]) {
        var (changes, gone) = (IncrementalChanges(), [ObjectSnapshot]())
        let new = Set(inserted)
        for id in inserted {
            if case .row(let row)? = rows[id] { changes.inserted.append(row) }
        }
        rows.forEach { id, change in
            switch change {
            case .row(let row): if !new.contains(id) { changes.updated.append(row) }
            case .gone(let row):
                changes.deleted.append(id)
                gone.append(row)
            }
        }
        assert(
            changes.inserted.count + changes.updated.count + gone.count == rows.count,
            "\(changes.updated.count) updated rows and \(gone.count) deleted ones of \(rows.count)")
        for (list, value) in lists {
            if case .gone? = rows[list.owner] { continue }
            changes.lists.append(
                .init(owner: list.owner, relationship: value.relationship, destinations: value.destinations))
        }
        return (changes, gone)
    }
}
