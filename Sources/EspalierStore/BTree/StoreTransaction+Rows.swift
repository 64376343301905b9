// Rows, links and holders of unique values as one transaction sees them.

internal import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

extension StoreTransaction where Base: ~Copyable {
    /// The row with this ID; `nil` if there is none, or if the row with its key is of another entity.
    func snapshot(of id: ObjectID, _ catalog: StoreCatalog) throws(StoreError) -> ObjectSnapshot? {
        try snapshots(of: [id], catalog)[0]
    }

    /// The rows with these IDs, in this order, in as few chunks as possible; `nil` where there is none, or where the
    /// row with that key is of another entity.
    func snapshots(
        of ids: [ObjectID], _ catalog: StoreCatalog
    ) throws(StoreError) -> [ObjectSnapshot?] {
        var found: [ObjectSnapshot?] = []
        found.reserveCapacity(ids.count)
        var chunk = SnapshotMaker(numbering: catalog.numbering)
        var position = 0
        while position < ids.count {
            let tag = ids[position].entityTag
            guard let rows = EntityRows(of: ids[position], catalog) else {
                found.append(nil)
                position += 1
                continue
            }
            let (entity, number) = (rows.entity, rows.number)
            var lookup = try lookup(in: rows.tree)
            repeat {
                let id = ids[position]
                position += 1
                var place: RowContent.Place?
                _ = try lookup.withValue(of: id.key) { row throws(StoreError) in
                    guard try catalog.check(row, in: entity, key: id.key) == number else { return }
                    place = chunk.append(row, before: ids.count - position)
                }
                found.append(place.map { chunk.snapshot(id: id, at: $0) })
            } while position < ids.count && ids[position].entityTag == tag
        }
        assert(found.count == ids.count, "\(found.count) answers for \(ids.count) rows")
        return found
    }

    /// The destinations of a to-many relationship, in order.
    func links(
        of owner: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        var cursor = try linkCursor(over: relationship, catalog)
        try cursor.forEachLink(of: owner) { ids.append($1) }
        assert(StepCount.note(ids.count))
        return ids
    }

    /// The destinations of a to-many relationship for each owner, in order.
    func links(
        of owners: [ObjectID], _ relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) -> [[ObjectID]] {
        if owners.count == 1 { return [try links(of: owners[0].key, relationship, catalog)] }
        var lists: [[ObjectID]] = []
        lists.reserveCapacity(owners.count)
        var ids: [ObjectID] = []
        ids.reserveCapacity(16)
        var cursor = try linkCursor(over: relationship, catalog)
        for owner in owners {
            try cursor.forEachLink(of: owner.key) { ids.append($1) }
            // A copy without spare capacity, because the caller may keep the list for long.
            lists.append(Array(ids[...]))
            ids.removeAll(keepingCapacity: true)
        }
        assert(lists.count == owners.count, "\(lists.count) lists of \(owners.count) owners")
        return lists
    }

    /// The destinations of a to-many relationship with their keys in the tree.
    func links(
        keyedBy owner: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) -> [(key: [UInt8], id: ObjectID)] {
        var links: [(key: [UInt8], id: ObjectID)] = []
        var cursor = try linkCursor(over: relationship, catalog)
        try cursor.forEachLink(of: owner) { key, id in links.append((key.copy(0..<key.byteCount), id)) }
        assert(StepCount.note(links.count))
        return links
    }

    /// The owners whose to-many relationship without inverse leads to `destination`.
    func owners(
        leadingTo destination: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) -> [ObjectID] {
        guard let tree = catalog.ownerTree(of: relationship) else { return [] }
        var ids: [ObjectID] = []
        var cursor = LinkCursor(
            try lookup(in: tree), of: tree, keyByteCount: 16, of: relationship, catalog)
        try cursor.forEachLink(of: destination) { ids.append($1) }
        return ids
    }

    /// The row with the lowest key that has the values of `key`, of those that count, if there is one.
    func holder(
        of key: GroupKey, _ group: KeyGroup, _ tree: Tree<[UInt8]>, _ values: @autoclosure () -> [AttributeValue],
        _ catalog: StoreCatalog, where counts: (ObjectID) -> Bool = { _ in true }
    ) throws(StoreError) -> ObjectID? {
        assert(group.isUnique && !key.hasNull, "rows may share these values of \(group.name)")
        var found: ObjectID?
        // Only if the key was cut, the values of the rows decide whether they are equal.
        let values = key.isCut ? values() : []
        assert(!key.isCut || values.count == group.elements.count, "cut values are compared without the whole ones")
        let range = EntryRange.beginning(with: key.bytes)
        try forEach(in: tree, from: range.lower, below: range.upper) { entry, value throws(StoreError) in
            guard entry.byteCount == key.bytes.count + 8, value.byteCount == 3,
                let id = catalog.numbering.id(
                    entityNumber: value.number(at: 0), key: entry.bigEndianKey(at: key.bytes.count))
            else {
                throw .damaged(
                    entity: catalog.model.entities[group.entity].name, key: 0,
                    reason: "an entry of tree \"\(tree.name)\" is not the key of a row")
            }
            guard counts(id) else { return true }
            if key.isCut {
                guard let row = try snapshot(of: id, catalog),
                    zip(group.elements, values).allSatisfy({ element, value in
                        ValueSource.snapshot(row).value(of: element).compare(value) == .orderedSame
                    })
                else { return true }
            }
            found = id
            return false
        }
        return found
    }

    private func linkCursor(
        over relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) -> LinkCursor {
        let tree = catalog.linkTree(of: relationship)
        return LinkCursor(
            try lookup(in: tree), of: tree, keyByteCount: relationship.isOrdered ? 24 : 16, of: relationship,
            catalog)
    }
}

/// The entity, entity number and tree of rows, resolved once for many rows of one entity.
private struct EntityRows {
    let entity: Entity
    let number: UInt16
    let tree: Tree<UInt64>

    /// `nil` if the model does not have the entity of `id`.
    init?(of id: ObjectID, _ catalog: StoreCatalog) {
        guard let entity = catalog.schema.entity(of: id) else { return nil }
        self.entity = entity
        number = catalog.numbering.entityNumbers[entity.index]
        tree = catalog.rowTree(of: entity)
    }
}

extension StoreCatalog {
    /// Checks the structure of a row and that it belongs in the tree of `entity`'s hierarchy; returns the number of its
    /// own entity.
    @discardableResult
    func check(_ row: RawSpan, in entity: Entity, key: UInt64) throws(StoreError) -> UInt16 {
        func damaged(_ reason: String) -> StoreError {
            .damaged(entity: model.entities[entity.root].name, key: key, reason: reason)
        }
        let number: UInt16
        do { number = try RowReader(numbering: numbering).check(row) } catch { throw damaged(error.reason) }
        guard key != 0 else { throw damaged("0 is not a primary key") }
        guard numbering.root(ofEntity: number) == entity.root else {
            throw damaged("its entity number \(number) belongs to another hierarchy")
        }
        return number
    }

    /// Checks a row of `byteCount` bytes of which `row` is the beginning; returns the number of its own entity, or
    /// `nil` if only the whole row tells whether it is damaged.
    func check(
        _ row: RawSpan, of byteCount: Int, in entity: Entity, key: UInt64
    ) throws(StoreError) -> UInt16? {
        if row.byteCount == byteCount { return try check(row, in: entity, key: key) }
        guard key != 0, let (shape, _) = RowReader(numbering: numbering).soundBeginning(row, of: byteCount),
            let number = shape.entityNumber, numbering.root(ofEntity: number) == entity.root
        else { return nil }
        return number
    }
}
