// Writes the lists of to-many relationships as a `LinkPlan` says.

internal import EspalierEngine
internal import EspalierModel

extension SaveExecution {
    mutating func write(_ plan: LinkPlan) throws(StoreError) {
        for (relationship, links) in plan.additions {
            assert(relationship.isToMany && !relationship.isOrdered, "\(relationship.name) has edits of its own")
            let tree = catalog.linkTree(of: relationship)
            let isWatched = catalog.schema.derivations.isWatched(relationship)
            for link in links {
                let isNew = try put(ownerKey: link.ownerKey, link.destinationKey, tag: link.destinationTag, in: tree)
                guard isWatched, isNew else { continue }
                let storeTag = catalog.numbering.storeTag
                derivedChanges.noteLink(
                    of: ObjectID(storeTag: storeTag, entityTag: link.ownerTag, key: link.ownerKey),
                    to: ObjectID(storeTag: storeTag, entityTag: link.destinationTag, key: link.destinationKey),
                    relationship, 1)
            }
        }
        let edits = plan.edits.sorted {
            let (left, right) = ($0.key, $1.key)
            return (left.relationship.declaredBy, left.relationship.slot, left.owner.key)
                < (right.relationship.declaredBy, right.relationship.slot, right.owner.key)
        }
        // Found before the first list is written: both ends of a relationship may be ordered.
        var located: [Int: LocatedEdits] = [:]
        for (position, (key, edit)) in edits.enumerated() where edit.order != nil {
            located[position] = try locate(edit, of: key.owner)
        }
        for (position, (key, edit)) in edits.enumerated() {
            if let located = located[position] {
                try write(located, edit, of: key.owner)
            } else if edit.relationship.isOrdered {
                try writeWhole(edit, of: key.owner)
            } else {
                try writeUnordered(edit, of: key.owner)
            }
        }
    }

    private mutating func writeUnordered(_ edit: ListEdit, of owner: ObjectID) throws(StoreError) {
        assert(!edit.relationship.isOrdered && edit.order == nil, "\(edit.relationship.name) has no order")
        let tree = catalog.linkTree(of: edit.relationship)
        for destination in edit.removed.sorted(by: { $0.key < $1.key }) {
            LinkKey.writeUnordered(owner.key, destination.key, to: &linkKey)
            try removeLink(at: linkKey, of: owner, to: destination, edit.relationship)
            try removeOwner(owner, of: destination, edit.relationship)
        }
        for destination in edit.added {
            if try put(ownerKey: owner.key, destination.key, tag: destination.entityTag, in: tree) {
                noteLink(of: owner, to: destination, edit.relationship, 1)
            }
            try putOwner(owner, of: destination, edit.relationship)
        }
    }

    /// Notes the change of a list, if values are derived from it.
    mutating func noteLink(
        of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship, _ change: Int
    ) {
        assert(relationship.isToMany, "\(relationship.name) of \(owner) is no list")
        guard catalog.schema.derivations.isWatched(relationship) else { return }
        derivedChanges.noteLink(of: owner, to: destination, relationship, change)
    }

    /// Removes the entry of a destination with this key, if there is one.
    mutating func removeLink(
        at key: [UInt8], of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        assert(
            key.count == (relationship.isOrdered ? LinkKey.orderedByteCount : LinkKey.unorderedByteCount),
            "the key of a link of \(relationship.name) has \(key.count) bytes")
        if try transaction.remove(key, from: catalog.linkTree(of: relationship)) {
            noteLink(of: owner, to: destination, relationship, -1)
        }
    }

    /// Writes the entry of a destination, of the entity with this tag, in an unordered list; returns whether there was
    /// none.
    private mutating func put(
        ownerKey: UInt64, _ destinationKey: UInt64, tag: UInt32, in tree: Tree<[UInt8]>
    ) throws(StoreError) -> Bool {
        assert(ownerKey > 0 && destinationKey > 0, "a link joins \(ownerKey) and \(destinationKey)")
        LinkKey.writeUnordered(ownerKey, destinationKey, to: &linkKey)
        LinkKey.writeValue(entityNumber: catalog.numbering.entityNumber(ofTag: tag), to: &linkValue)
        return try !transaction.put(linkValue, for: linkKey, in: tree)
    }

    /// Writes the changed entries of an ordered list.
    ///
    /// - Parameter others: members of the list that have no entries at this moment.
    /// - Complexity: O(n) to read and compare the list; `ListPositions` tells how many entries are written.
    mutating func writeWhole(_ edit: ListEdit, of owner: ObjectID, besides others: [ObjectID] = []) throws(StoreError) {
        assert(edit.relationship.isOrdered, "\(edit.relationship.name) has no order")
        let old = try transaction.links(keyedBy: owner.key, edit.relationship, catalog)
        let changes = ListPositions(
            from: old.map { ($0.key.bigEndianKey(at: 8), $0.id) }, to: edit.applied(to: old.map(\.id) + others))
        let stays = Set(changes.added.lazy.map(\.id))
        for (key, id) in changes.removed.lazy.map({ old[$0] }) {
            try removeLink(at: key, of: owner, to: id, edit.relationship)
            if !stays.contains(id) { try removeOwner(owner, of: id, edit.relationship) }
        }
        for (position, id) in changes.added {
            try putOrdered(id, at: position, of: owner, edit.relationship)
            try putOwner(owner, of: id, edit.relationship)
        }
    }

    /// Writes the entry of a destination in an ordered list.
    mutating func putOrdered(
        _ id: ObjectID, at position: UInt64, of owner: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        assert(relationship.isOrdered, "\(relationship.name) of \(owner) has no positions")
        assert(!id.isTemporary && !owner.isTemporary, "\(id) joins \(relationship.name) of \(owner)")
        let isReplaced = try transaction.put(
            LinkKey.value(entityNumber: catalog.numbering.reference(id).entity),
            for: LinkKey.ordered(owner.key, position: position, id.key), in: catalog.linkTree(of: relationship))
        if !isReplaced { noteLink(of: owner, to: id, relationship, 1) }
    }

    mutating func putOwner(
        _ owner: ObjectID, of destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        guard let tree = catalog.ownerTree(of: relationship) else { return }
        assert(relationship.inverse == nil, "the inverse of \(relationship.name) leads back")
        try transaction.put(
            LinkKey.value(entityNumber: catalog.numbering.reference(owner).entity),
            for: LinkKey.unordered(destination.key, owner.key), in: tree)
    }

    mutating func removeOwner(
        _ owner: ObjectID, of destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        guard let tree = catalog.ownerTree(of: relationship) else { return }
        assert(relationship.inverse == nil, "the inverse of \(relationship.name) leads back")
        try transaction.remove(LinkKey.unordered(destination.key, owner.key), from: tree)
    }
}
