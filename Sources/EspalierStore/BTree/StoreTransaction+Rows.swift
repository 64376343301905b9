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
            try walk(ids, &builder, &missing, catalog, path: path)
        } else {
            for (position, id) in ids.enumerated() where try !append(id, to: &builder, catalog, path: path) {
                missing.append(position)
            }
        }
        let list = builder.finish()
        if missing.isEmpty { return list.map(\.self) }
        var found = list.makeIterator()
        var nextMissing = missing.makeIterator()
        var gap = nextMissing.next()
        return ids.indices.map { position in
            guard position == gap else { return found.next() }
            gap = nextMissing.next()
            return nil
        }
    }

    /// Appends the row `id` names; returns `false` if there is none of its entity.
    private func append(
        _ id: ObjectID, to builder: inout SnapshotBuilder, _ catalog: StoreCatalog, path: String?
    ) throws(StoreError) -> Bool {
        guard let entity = catalog.schema.entity(of: id) else { return false }
        let number = catalog.context.entityNumbers[entity.index]
        let isFound = try withValue(of: id.key, in: catalog.rowTree(of: entity)) { row throws(StoreError) -> Bool in
            try catalog.check(row, in: entity, key: id.key)
            guard RowReader.entityNumber(of: row) == number else { return false }
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
        _ ids: [ObjectID], _ builder: inout SnapshotBuilder, _ missing: inout [Int], _ catalog: StoreCatalog,
        path: String?
    ) throws(StoreError) {
        guard let entity = ids.first.flatMap({ catalog.schema.entity(of: $0) }) else {
            missing += ids.indices
            return
        }
        let number = catalog.context.entityNumbers[entity.index]
        var cursor = try cursor(over: catalog.rowTree(of: entity))
        var isOnEntry = false
        for (position, id) in ids.enumerated() {
            if isOnEntry, cursor.integerKey < id.key { isOnEntry = try cursor.next() }
            if !isOnEntry || cursor.integerKey != id.key { isOnEntry = try cursor.seek(id.key) }
            var isFound = isOnEntry && cursor.integerKey == id.key
            if isFound {
                try cursor.withValue { row throws(StoreError) in
                    try catalog.check(row, in: entity, key: id.key)
                    isFound = RowReader.entityNumber(of: row) == number
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
