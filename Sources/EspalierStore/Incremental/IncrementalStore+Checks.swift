// The checks of what a source returns: nothing passes that a context, a predicate or a save could stumble over.

internal import EspalierModel

extension IncrementalStore {
    /// Requires that IDs are of this store and of `family`, and that no row is there twice.
    func check(_ ids: [ObjectID], of family: Set<ManagedObjectModel.EntityIndex>) throws(StoreError) {
        var keys = Set<UInt64>(minimumCapacity: ids.count)
        for id in ids {
            let entity = try entity(of: id)
            guard family.contains(entity.index) else {
                throw broken("it has returned \(id), whose entity \(entity.name) was not asked for")
            }
            guard keys.insert(id.key).inserted else {
                throw broken("it has returned \(id) twice, or two rows of one hierarchy have that reference")
            }
        }
    }

    /// Requires that rows can be used with the model, and have not gone back to earlier versions.
    func check(_ rows: [ObjectSnapshot], in generation: UInt64) throws(StoreError) {
        for row in rows { try check(row) }
        if let (row, former) = note(rows, in: generation) {
            throw broken("\(row.id) has gone back from version \(former) to version \(row.version)")
        }
    }

    /// Requires that the destinations of a to-many relationship can be.
    func check(
        _ destinations: [ObjectID], of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) {
        var seen = Set<ObjectID>(minimumCapacity: destinations.count)
        for id in destinations {
            try check(id, as: relationship, of: owner)
            guard seen.insert(id).inserted else {
                throw broken("\(relationship.name) of \(owner) leads to \(id) twice")
            }
        }
    }

    private func entity(of id: ObjectID) throws(StoreError) -> Entity {
        guard id.storeTag == storeTag else {
            throw broken("\(id) is not an ID of this store, whose UUID is \(identifier)")
        }
        guard let entity = schema.entity(of: id) else {
            throw broken("the model has no entity \(id.entityName), of which it has returned \(id)")
        }
        guard !entity.isAbstract else { throw broken("\(id) is of \(entity.name), which is abstract") }
        return entity
    }

    private func check(_ row: ObjectSnapshot) throws(StoreError) {
        let entity = try entity(of: row.id)
        guard row.version > 0 else { throw broken("\(row.id) is at version 0; versions begin with 1") }
        guard let counts = row.slotCounts, counts == (entity.attributes.count, entity.relationships.count) else {
            throw broken(
                "\(row.id) has other numbers of values and destinations than \(entity.name), which has "
                    + "\(entity.attributes.count) attributes and \(entity.relationships.count) relationships")
        }
        for attribute in entity.attributes {
            let value = row.value(at: attribute.slot)
            guard value.isNull || !attribute.isTransient && attribute.accepts(value) else {
                let type = attribute.isTransient ? "transient, and never stored" : "of type \(attribute.type)"
                throw broken("\(attribute.name) of \(row.id) is \(type), which \(value.kindDescription) does not fit")
            }
        }
        for relationship in entity.relationships {
            guard let id = row.destination(at: relationship.slot) else { continue }
            guard !relationship.isToMany else {
                throw broken("\(relationship.name) of \(row.id) is to-many, and not a part of the row")
            }
            try check(id, as: relationship, of: row.id)
        }
    }

    private func check(_ id: ObjectID, as relationship: Relationship, of owner: ObjectID) throws(StoreError) {
        let entity = try entity(of: id)
        guard entity.isKind(of: model.destination(of: relationship)) else {
            throw broken(
                "\(relationship.name) of \(owner) leads to \(id), which is no "
                    + "\(model.destination(of: relationship).name)")
        }
    }
}
