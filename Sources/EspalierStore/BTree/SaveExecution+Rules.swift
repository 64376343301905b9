// The state of a save (`SaveState`) in a B-tree store: with these methods, delete rules, checks and derived values read
// and change the store in the transaction of the save.

internal import EspalierEngine
internal import EspalierModel

extension SaveExecution: SaveState {
    static var heldCountMax: Int { 256 }

    func destinations(of owner: ObjectID, _ relationship: Relationship) throws(StoreError) -> [ObjectID] {
        try transaction.links(of: owner.key, relationship, catalog)
    }

    func pairs(
        leadingTo destinations: [ObjectID], _ relationship: Relationship
    ) throws(StoreError) -> [(owner: ObjectID, destination: ObjectID)] {
        assert(relationship.isToMany && relationship.inverse == nil, "owners along \(relationship.name) are not known")
        var pairs: [(owner: ObjectID, destination: ObjectID)] = []
        for destination in destinations {
            for owner in try transaction.owners(leadingTo: destination.key, relationship, catalog) {
                pairs.append((owner, destination))
            }
        }
        return pairs
    }

    func rows(_ ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        try transaction.snapshots(of: ids, catalog)
    }

    func missing(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID] {
        assert(
            zip(ids, ids.dropFirst()).allSatisfy { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) },
            "IDs do not ascend")
        var missing: [ObjectID] = []
        var position = 0
        while position < ids.count {
            let tag = ids[position].entityTag
            guard let entity = catalog.schema.entity(of: ids[position]) else {
                missing.append(ids[position])
                position += 1
                continue
            }
            let number = catalog.numbering.entityNumbers[entity.index]
            var lookup = try transaction.lookup(in: catalog.rowTree(of: entity))
            repeat {
                let id = ids[position]
                position += 1
                var isThere = false
                _ = try lookup.withValue(of: id.key) { row throws(StoreError) in
                    isThere = try catalog.check(row, in: entity, key: id.key) == number
                }
                if !isThere { missing.append(id) }
            } while position < ids.count && ids[position].entityTag == tag
        }
        return missing
    }

    func destinations(
        of owner: ObjectID, _ relationship: Relationship, countMax: Int
    ) throws(StoreError) -> [ObjectID] {
        assert(countMax > 0, "at most \(countMax) destinations")
        var ids: [ObjectID] = []
        try forEachLink(of: owner, relationship) { _, id in
            ids.append(id)
            return ids.count < countMax
        }
        return ids
    }

    func rows(
        of entity: Entity, from key: UInt64, leadingInto gone: RowSet, at slot: Int, countMax: Int
    ) throws(StoreError) -> (rows: [ObjectSnapshot], next: UInt64?) {
        assert(countMax > 0 && !entity.relationships[slot].isToMany, "at most \(countMax) rows by slot \(slot)")
        let isWanted = catalog.numbering.isWanted(entity, includesSubentities: true)
        let (root, reader) = (catalog.model.entities[entity.root], RowReader(numbering: catalog.numbering))
        var chunk = SnapshotMaker(numbering: catalog.numbering)
        var found: [ObjectSnapshot] = []
        var next: UInt64?
        var cursor = try transaction.cursor(over: catalog.rowTree(of: entity))
        guard try cursor.seek(key) else { return ([], nil) }
        try cursor.forEachValue { key, row throws(StoreError) in
            let number = try catalog.check(row, in: root, key: key)
            guard isWanted[Int(number)], let destination = reader.destination(at: slot, row),
                gone.contains(destination), let id = catalog.numbering.id(entityNumber: number, key: key)
            else { return true }
            guard found.count < countMax else {
                next = key
                return false
            }
            found.append(chunk.snapshot(id: id, at: chunk.append(row, before: countMax - found.count)))
            return true
        }
        assert(next == nil ? found.count <= countMax : found.count == countMax, "\(found.count) rows of \(countMax)")
        return (found, next)
    }

    func holder(of values: [AttributeValue], inGroup index: Int) throws(StoreError) -> ObjectID? {
        let group = catalog.schema.groups[index]
        assert(group.isUnique && !values.contains(where: \.isNull), "rows may share these values of \(group.name)")
        let key = GroupKey(values, group, catalog.numbering)
        return try transaction.holder(of: key, group, catalog.groupTrees[index], values, catalog)
    }

    mutating func setDestinations(
        _ changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])]
    ) throws(StoreError) {
        try rewriteApart(
            changes.map { row, destinations in
                (row, .init(id: row.id, expectedVersion: row.version, destinations: destinations))
            }, versionChange: 1)
    }

    /// Rewrites rows and leaves them out of `updatedRows`, which lists only updates of the request.
    mutating func rewriteApart(
        _ changes: [(row: ObjectSnapshot, update: SaveRequest.Update)], versionChange: UInt64
    ) throws(StoreError) {
        assert(versionChange <= 1, "the versions of \(changes.count) rows grow by \(versionChange)")
        assert(changes.allSatisfy { $0.row.id == $0.update.id }, "one of \(changes.count) updates is of another row")
        // The result has only the rows that the request names, so these rows are collected apart.
        var rows = SnapshotBuilder(numbering: catalog.numbering)
        swap(&rows, &updatedRows)
        defer { swap(&rows, &updatedRows) }
        for (row, update) in changes { try removeChangedEntries(update, row) }
        for (row, update) in changes { try rewrite(row, update, versionChange: versionChange) }
        try putNewEntries()
    }

    mutating func removeLink(
        of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        if relationship.isOrdered {
            if let position = try position(of: destination, in: relationship, of: owner) {
                try removeLink(
                    at: LinkKey.ordered(owner.key, position: position, destination.key), of: owner, to: destination,
                    relationship)
                return try removeOwner(owner, of: destination, relationship)
            }
            var place: [UInt8]?
            try forEachLink(of: owner, relationship) { key, id in
                assert(StepCount.note())
                if id == destination { place = key.copy(0..<key.byteCount) }
                return place == nil
            }
            if let place { try removeLink(at: place, of: owner, to: destination, relationship) }
        } else {
            LinkKey.writeUnordered(owner.key, destination.key, to: &linkKey)
            try removeLink(at: linkKey, of: owner, to: destination, relationship)
        }
        try removeOwner(owner, of: destination, relationship)
    }

    /// Nothing: each link was an entry of its own, which is gone.
    mutating func settleLinks() {}

    /// Calls `body` with each entry of a list, in order, until it returns `false`.
    private func forEachLink(
        of owner: ObjectID, _ relationship: Relationship, _ body: (_ key: RawSpan, ObjectID) -> Bool
    ) throws(StoreError) {
        assert(relationship.isToMany, "\(relationship.name) of \(owner) is no list")
        let tree = catalog.linkTree(of: relationship)
        let byteCount = relationship.isOrdered ? 24 : 16
        var prefix: [UInt8] = []
        prefix.append(bigEndian: owner.key)
        try transaction.forEach(in: tree, beginningWith: prefix) { key, value throws(StoreError) in
            guard key.byteCount == byteCount, value.byteCount == 2,
                let id = catalog.numbering.id(
                    entityNumber: value.number(at: 0), key: key.bigEndianKey(at: byteCount - 8))
            else {
                throw .damaged(
                    entity: catalog.model.entities[relationship.declaredBy].name, key: owner.key,
                    reason: "an entry of tree \"\(tree.name)\" is not a link")
            }
            return body(key, id)
        }
    }
}
