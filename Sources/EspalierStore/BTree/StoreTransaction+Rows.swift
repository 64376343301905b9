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
        var builder = SnapshotBuilder(context: catalog.context)
        builder.reserveCapacity(ids.count)
        var missing: [Int] = []
        if let first = ids.first, ids.count > Self.walkCountMin, ids.allSatisfy({ $0.entityTag == first.entityTag }) {
            try walk(ids, &builder, &missing, catalog)
        } else {
            var rows: EntityRows?
            for (position, id) in ids.enumerated() {
                if rows?.tag != id.entityTag { rows = EntityRows(of: id, catalog) }
                if let rows, try append(id, of: rows, to: &builder, catalog) { continue }
                missing.append(position)
            }
        }
        var rows = builder.finish().makeIterator()
        var gaps = missing.makeIterator()
        var gap = gaps.next()
        var found: [ObjectSnapshot?] = []
        found.reserveCapacity(ids.count)
        for position in ids.indices {
            if position == gap {
                found.append(nil)
                gap = gaps.next()
            } else {
                found.append(rows.next())
            }
        }
        return found
    }

    /// Appends the row `id` names; returns `false` if there is none of its entity.
    private func append(
        _ id: ObjectID, of rows: EntityRows, to builder: inout SnapshotBuilder, _ catalog: StoreCatalog
    ) throws(StoreError) -> Bool {
        let isFound = try withValue(of: id.key, in: rows.tree) { row throws(StoreError) -> Bool in
            guard try catalog.check(row, in: rows.entity, key: id.key) == rows.number else { return false }
            builder.append(row, id: id)
            return true
        }
        return isFound ?? false
    }

    /// From how many rows on a cursor is worth being made.
    private static var walkCountMin: Int { 8 }

    /// Appends the rows that IDs of one entity name; notes the positions of those that are missing.
    ///
    /// Rows that follow one another, as most saves and faults ask for them, are reached without a descent each.
    private func walk(
        _ ids: [ObjectID], _ builder: inout SnapshotBuilder, _ missing: inout [Int], _ catalog: StoreCatalog
    ) throws(StoreError) {
        guard let rows = ids.first.flatMap({ EntityRows(of: $0, catalog) }) else {
            missing += ids.indices
            return
        }
        var cursor = try cursor(over: rows.tree)
        var isOnEntry = false
        for (position, id) in ids.enumerated() {
            if isOnEntry, cursor.integerKey < id.key { isOnEntry = try cursor.next() }
            if !isOnEntry || cursor.integerKey != id.key { isOnEntry = try cursor.seek(id.key) }
            var isFound = isOnEntry && cursor.integerKey == id.key
            if isFound {
                try cursor.withValue { row throws(StoreError) in
                    isFound = try catalog.check(row, in: rows.entity, key: id.key) == rows.number
                    if isFound { builder.append(row, id: id) }
                }
            }
            if !isFound { missing.append(position) }
        }
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
