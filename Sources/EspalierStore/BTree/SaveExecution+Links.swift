// The lists behind to-many relationships, written as a plan says.

internal import EspalierEngine
internal import EspalierModel

extension SaveExecution {
    mutating func write(_ plan: LinkPlan) throws(StoreError) {
        for (relationship, links) in plan.additions {
            let tree = catalog.linkTree(of: relationship)
            for link in links {
                try put(ownerKey: link.ownerKey, link.destinationKey, tag: link.destinationTag, in: tree)
            }
        }
        let edits = plan.edits.sorted {
            let (left, right) = ($0.key, $1.key)
            return (left.relationship.declaredBy, left.relationship.slot, left.owner.key)
                < (right.relationship.declaredBy, right.relationship.slot, right.owner.key)
        }
        for (key, edit) in edits {
            if edit.relationship.isOrdered {
                try writeOrdered(edit, of: key.owner)
            } else {
                try writeUnordered(edit, of: key.owner)
            }
        }
    }

    private mutating func writeUnordered(_ edit: LinkEdit, of owner: ObjectID) throws(StoreError) {
        let tree = catalog.linkTree(of: edit.relationship)
        for destination in edit.removed.sorted(by: { $0.key < $1.key }) {
            LinkKey.writeUnordered(owner.key, destination.key, to: &linkKey)
            try transaction.remove(linkKey, from: tree)
            try removeOwner(owner, of: destination, edit.relationship)
        }
        for destination in edit.added {
            try put(ownerKey: owner.key, destination.key, tag: destination.entityTag, in: tree)
            try putOwner(owner, of: destination, edit.relationship)
        }
    }

    /// Notes a destination of the entity with this tag in an unordered list.
    private mutating func put(
        ownerKey: UInt64, _ destinationKey: UInt64, tag: UInt32, in tree: Tree
    ) throws(StoreError) {
        LinkKey.writeUnordered(ownerKey, destinationKey, to: &linkKey)
        LinkKey.writeValue(entityNumber: catalog.context.entityNumber(ofTag: tag), to: &linkValue)
        try transaction.put(linkValue, for: linkKey, in: tree)
    }

    /// Writes an ordered list anew from the first place where it changes.
    private mutating func writeOrdered(_ edit: LinkEdit, of owner: ObjectID) throws(StoreError) {
        let tree = catalog.linkTree(of: edit.relationship)
        let old = try transaction.links(keyedBy: owner.key, edit.relationship, catalog, path: path)
        let new = edit.applied(to: old.map(\.id))
        var common = 0
        while common < old.count, common < new.count, old[common].id == new[common] { common += 1 }
        let kept = Set(new)
        for (key, id) in old[common...] {
            try transaction.remove(key, from: tree)
            if !kept.contains(id) { try removeOwner(owner, of: id, edit.relationship) }
        }
        var position = common == 0 ? 0 : old[common - 1].key.bigEndianKey(at: 8) &+ 1
        for destination in new[common...] {
            try transaction.put(
                LinkKey.value(entityNumber: catalog.context.reference(destination).entity),
                for: LinkKey.ordered(owner.key, position: position, destination.key), in: tree)
            try putOwner(owner, of: destination, edit.relationship)
            position &+= 1
        }
    }

    private mutating func putOwner(
        _ owner: ObjectID, of destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        guard let tree = catalog.ownerTree(of: relationship) else { return }
        try transaction.put(
            LinkKey.value(entityNumber: catalog.context.reference(owner).entity),
            for: LinkKey.unordered(destination.key, owner.key), in: tree)
    }

    mutating func removeOwner(
        _ owner: ObjectID, of destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError) {
        guard let tree = catalog.ownerTree(of: relationship) else { return }
        try transaction.remove(LinkKey.unordered(destination.key, owner.key), from: tree)
    }
}
