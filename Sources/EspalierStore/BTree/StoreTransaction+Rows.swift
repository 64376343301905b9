// Rows and links as one transaction sees them.

internal import EspalierEngine
internal import EspalierModel

extension StoreTransaction where Base: ~Copyable {
    /// The row `id` names; `nil` if there is none, or if the row with its key is of another entity.
    func snapshot(of id: ObjectID, _ catalog: StoreCatalog, path: String?) throws(StoreError) -> ObjectSnapshot? {
        try snapshots(of: [id], catalog, path: path)[0]
    }

    /// The rows these IDs name, in this order, in as few chunks as they need; `nil` where there is none, or where the
    /// row with that key is of another entity.
    func snapshots(
        of ids: [ObjectID], _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> [ObjectSnapshot?] {
        var found: [ObjectSnapshot?] = []
        found.reserveCapacity(ids.count)
        var chunk = RowChunk(context: catalog.context)
        if Self.areNeighbours(ids), let rows = EntityRows(of: ids[0], catalog) {
            var cursor = try cursor(over: rows.tree)
            for id in ids {
                var row: ObjectSnapshot?
                if try cursor.seek(id.key), cursor.isExact {
                    try cursor.withValue { bytes throws(StoreError) in
                        row = try catalog.snapshot(of: bytes, id, rows, in: &chunk, before: ids.count - found.count - 1)
                    }
                }
                found.append(row)
            }
            return found
        }
        var rows: EntityRows?
        for id in ids {
            if rows?.tag != id.entityTag { rows = EntityRows(of: id, catalog) }
            guard let rows else {
                found.append(nil)
                continue
            }
            let row = try withValue(of: id.key, in: rows.tree) { bytes throws(StoreError) in
                try catalog.snapshot(of: bytes, id, rows, in: &chunk, before: ids.count - found.count - 1)
            }
            found.append(row ?? nil)
        }
        return found
    }

    /// Whether a cursor is worth being made for the rows that these IDs name: they are many, or seem to be in one leaf.
    ///
    /// Rows that follow one another, as most saves and faults ask for them, are reached without a descent each.
    private static func areNeighbours(_ ids: [ObjectID]) -> Bool {
        guard ids.count > 1, ids.count > 8 || ids[1].key &- ids[0].key < 16 else { return false }
        return ids.allSatisfy { $0.entityTag == ids[0].entityTag }
    }

    /// The destinations of a to-many relationship, in order.
    func links(
        of owner: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        var cursor = try linkCursor(over: relationship, catalog, path: path)
        try cursor.forEachLink(of: owner) { ids.append($1) }
        return ids
    }

    /// The destinations of a to-many relationship for each owner, in order.
    func links(
        of owners: [ObjectID], _ relationship: Relationship, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> [[ObjectID]] {
        var lists: [[ObjectID]] = []
        lists.reserveCapacity(owners.count)
        var ids: [ObjectID] = []
        ids.reserveCapacity(16)
        var cursor = try linkCursor(over: relationship, catalog, path: path)
        for owner in owners {
            try cursor.forEachLink(of: owner.key) { ids.append($1) }
            // A copy of just its length: the list may be kept for long.
            lists.append(Array(ids[...]))
            ids.removeAll(keepingCapacity: true)
        }
        return lists
    }

    /// The destinations of a to-many relationship with their places in the tree.
    func links(
        keyedBy owner: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> [(key: [UInt8], id: ObjectID)] {
        var links: [(key: [UInt8], id: ObjectID)] = []
        var cursor = try linkCursor(over: relationship, catalog, path: path)
        try cursor.forEachLink(of: owner) { key, id in links.append((key.copy(0..<key.byteCount), id)) }
        return links
    }

    /// The owners whose to-many relationship without inverse leads to `destination`.
    func owners(
        leadingTo destination: UInt64, _ relationship: Relationship, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> [ObjectID] {
        guard let tree = catalog.ownerTree(of: relationship) else { return [] }
        var ids: [ObjectID] = []
        var cursor = LinkCursor(
            try cursor(over: tree), over: tree, keyByteCount: 16, of: relationship, catalog, path: path)
        try cursor.forEachLink(of: destination) { ids.append($1) }
        return ids
    }

    private func linkCursor(
        over relationship: Relationship, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> LinkCursor {
        let tree = catalog.linkTree(of: relationship)
        return LinkCursor(
            try cursor(over: tree), over: tree, keyByteCount: relationship.isOrdered ? 24 : 16, of: relationship,
            catalog, path: path)
    }
}

/// Where the rows of one entity are, looked up once for many of them.
private struct EntityRows {
    let tag: UInt32
    let entity: Entity
    let number: UInt16
    let tree: Tree

    /// `nil` if the model does not have the entity of `id`.
    init?(of id: ObjectID, _ catalog: StoreCatalog) {
        guard let entity = catalog.schema.entity(of: id) else { return nil }
        tag = id.entityTag
        self.entity = entity
        number = catalog.context.entityNumbers[entity.index]
        tree = catalog.rowTree(of: entity)
    }
}

extension StoreCatalog {
    /// A snapshot of the row `id` names, of bytes not checked yet; `nil` if the row is of another entity.
    @inline(__always)
    fileprivate func snapshot(
        of row: RawSpan, _ id: ObjectID, _ rows: EntityRows, in chunk: inout RowChunk, before count: Int
    ) throws(StoreError) -> ObjectSnapshot? {
        guard try check(row, in: rows.entity, key: id.key) == rows.number else { return nil }
        return chunk.snapshot(of: row, id: id, before: count)
    }

    /// Checks the structure of a row and that it belongs into the tree of `entity`'s hierarchy; returns the number of
    /// its own entity.
    @discardableResult
    func check(_ row: RawSpan, in entity: Entity, key: UInt64) throws(StoreError) -> UInt16 {
        func damaged(_ reason: String) -> StoreError {
            .damagedContent(path: path, entity: model.entities[entity.root].name, key: key, reason: reason)
        }
        let number: UInt16
        do { number = try RowReader(context: context).check(row) } catch { throw damaged(error.reason) }
        guard key != 0 else { throw damaged("0 is no primary key") }
        guard context.root(ofEntity: number) == entity.root else {
            throw damaged("a row of another hierarchy, entity number \(number)")
        }
        return number
    }
}
