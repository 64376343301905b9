// The checks of a save request against the model, and against the IDs that its new rows get.
//
// Invariants
//   1. A part that does not fit throws `StoreError.invalidRequest`, with the problem and the remedy.

internal import EspalierModel

/// The checks of each row of a request.
struct SaveChecks {
    let schema: StoreSchema
    let storeTag: UInt32
    var permanentIDs: PermanentIDs

    func prepare(_ link: SaveRequest.LinkChange) throws(StoreError) -> PreparedSave.ListChange {
        let owner = try permanent(link.owner)
        let entity = try entity(of: owner)
        guard entity.relationships.indices.contains(link.slot), entity.relationships[link.slot].isToMany else {
            throw .invalidRequest(reason: "\(entity.name) has no to-many relationship in slot \(link.slot)")
        }
        let relationship = entity.relationships[link.slot]
        guard !link.hasOrder || relationship.isOrdered else {
            throw .invalidRequest(reason: "\(entity.name).\(relationship.name) is not ordered")
        }
        let inverse = schema.model.inverse(of: relationship)
        guard inverse?.isToMany != false || relationship.isOrdered else {
            throw .invalidRequest(
                reason:
                    "links of \(entity.name).\(relationship.name) follow from its to-one inverse; set the inverse "
                    + "instead"
            )
        }
        func permanentList(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID] {
            var list: [ObjectID] = []
            list.reserveCapacity(ids.count)
            assert(StepCount.note(ids.count))
            for id in ids { list.append(try checked(id, for: relationship, inline: false)) }
            return list
        }
        var order: SentOrder?
        if let edits = link.edits {
            // The other destinations are not written: the store only compares them with those that it has.
            _ = try permanentList(edits.removed)
            _ = try permanentList(edits.placed.map(\.id))
            order = .edited(PermanentOrderEdits(edits, permanentIDs))
        } else if let whole = link.order {
            order = .whole(try permanentList(whole))
        }
        return PreparedSave.ListChange(
            owner: owner, relationship: relationship, added: try permanentList(link.added),
            removed: try permanentList(link.removed), order: order,
            orderBase: try link.edits == nil ? link.orderBase.map(permanentList) : link.orderBase)
    }

    func permanent(_ id: ObjectID) throws(StoreError) -> ObjectID {
        guard id.isTemporary else { return id }
        guard let permanent = permanentIDs[id] else {
            throw .invalidRequest(reason: "\(id) is temporary and not among the insertions")
        }
        assert(!permanent.isTemporary && permanent.storeTag == storeTag, "\(id) got \(permanent)")
        return permanent
    }

    /// The entity of a permanent ID of this store.
    func entity(of id: ObjectID) throws(StoreError) -> Entity {
        try Self.entity(of: id, schema: schema, storeTag: storeTag)
    }

    /// The entity of a permanent ID of a store.
    static func entity(of id: ObjectID, schema: StoreSchema, storeTag: UInt32) throws(StoreError) -> Entity {
        guard id.storeTag == storeTag else {
            throw .invalidRequest(reason: "\(id) is not an ID of this store")
        }
        guard let entity = schema.entity(of: id) else {
            throw .invalidRequest(reason: "\(id): the store's model has no entity \(id.entityName)")
        }
        return entity
    }

    /// `destination` made permanent, if `relationship` may lead to it.
    func checked(
        _ destination: ObjectID, for relationship: Relationship, inline: Bool
    ) throws(StoreError) -> ObjectID {
        let id = try permanent(destination)
        guard !inline || !relationship.isToMany else {
            throw .invalidRequest(
                reason: "relationship \(relationship.name) is to-many; change its links instead of the row")
        }
        let (entity, expected) = (try entity(of: id), schema.model.destination(of: relationship))
        guard entity.isKind(of: expected) else {
            throw .invalidRequest(
                reason: "relationship \(relationship.name) leads to \(expected.name), not to \(entity.name)")
        }
        return id
    }

    /// Requires that the application's values can be read back.
    static func check(metadata: [String: AttributeValue]) throws(StoreError) {
        for (name, value) in metadata where !TaggedValue.isReadable(value) {
            throw .invalidRequest(
                reason: "composites in the metadata value \"\(name)\" are nested more than "
                    + "\(TaggedValue.depthMax - 1) deep")
        }
    }

    /// Whether `attribute` is stored; if it is, `value` must fit.
    func isStored(
        _ value: AttributeValue, in attribute: Attribute, of entity: Entity
    ) throws(StoreError) -> Bool {
        guard !attribute.isTransient else { return false }
        guard attribute.accepts(value) else {
            throw .invalidRequest(
                reason: "\(entity.name).\(attribute.name) is of type \(attribute.type), which "
                    + "\(value.kindDescription) does not fit")
        }
        return true
    }
}
