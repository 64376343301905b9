// A save request made safe to carry out: every ID permanent, every slot and type checked against the model.
//
// Invariants
//   1. Every ID is this store's, every entity is the model's and concrete; `ids`, `destination(at:ofInsertion:)` and
//      updates name no temporary ID.
//   2. No row is inserted, updated or deleted twice.
//   3. Every value fits its attribute; transient attributes are null; to-many slots have no inline destination.
//   4. Rows stay in the memory that the request brought them in, unless something in them is replaced.
// Not here: versions, uniqueness, existence of rows (each store asks its own rows).

internal import EspalierModel

struct PreparedSave {
    struct LinkChange {
        let owner: ObjectID
        let relationship: Relationship
        let added: [ObjectID]
        let removed: [ObjectID]
        let order: [ObjectID]?
    }

    /// The new rows as they were asked for: their IDs are in `ids`, and what they lead to may be temporary.
    private(set) var insertions: [SaveRequest.Insertion]
    /// The permanent IDs of the new rows.
    private(set) var ids: [ObjectID] = []
    private(set) var updates: [SaveRequest.Update]
    let deletions: [SaveRequest.Expectation]
    let locks: [SaveRequest.Expectation]
    private(set) var links: [LinkChange] = []
    /// The permanent IDs by the temporary ones.
    let permanentIDs: PermanentIDs
    /// Whether some of the new rows have IDs that were reserved.
    private var hasReservedIDs = false

    private let schema: StoreSchema
    private let storeTag: UInt32

    /// Checks `request` and gives permanent IDs to its insertions.
    ///
    /// - Parameter newKey: a primary key never given out before, in the hierarchy of an entity.
    /// - Throws: `StoreError.invalidRequest` for the first thing that does not fit, or what `newKey` throws.
    init(
        _ request: SaveRequest, schema: StoreSchema, storeTag: UInt32,
        newKey: (Entity) throws(StoreError) -> UInt64
    ) throws(StoreError) {
        self.schema = schema
        self.storeTag = storeTag
        (insertions, updates) = (request.insertions, request.updates)
        (deletions, locks) = (request.deletions, request.locks)
        permanentIDs = PermanentIDs(for: insertions.lazy.map(\.id))
        try assignIDs(newKey)
        try prepareInsertions()
        try prepareUpdates()
        for deletion in deletions { _ = try entity(of: permanent(deletion.id)) }
        for lock in locks { _ = try entity(of: permanent(lock.id)) }
        for link in request.links { links.append(try prepare(link)) }
        try refuseDuplicates()
    }

    /// Where the new row at `position` has its values from.
    func source(ofInsertion position: Int) -> RowSource { .new(insertions[position].row, permanentIDs) }

    /// Where the to-one relationship in `slot` of the new row at `position` leads.
    func destination(at slot: Int, ofInsertion position: Int) -> ObjectID? {
        insertions[position].row.destination(at: slot).map(permanentIDs.permanent)
    }

    /// `conflicts` with the IDs that the request knows: a row that is not inserted keeps its temporary one.
    func asRequested(_ conflicts: [ConstraintConflict]) -> [ConstraintConflict] {
        let temporary = Dictionary(zip(ids, insertions.lazy.map(\.id)), uniquingKeysWith: { first, _ in first })
        return conflicts.map { conflict in
            ConstraintConflict(
                entityName: conflict.entityName, properties: conflict.properties, values: conflict.values,
                object: temporary[conflict.object] ?? conflict.object,
                other: temporary[conflict.other] ?? conflict.other)
        }
    }

    /// The entity of a permanent ID of this store.
    static func entity(of id: ObjectID, schema: StoreSchema, storeTag: UInt32) throws(StoreError) -> Entity {
        guard id.storeTag == storeTag else {
            throw .invalidRequest(reason: "\(id) is not an ID of this store")
        }
        guard let entity = schema.entity(of: id) else {
            throw .invalidRequest(reason: "\(id): the store's model has no entity \(id.entityName)")
        }
        return entity
    }

    private mutating func assignIDs(_ newKey: (Entity) throws(StoreError) -> UInt64) throws(StoreError) {
        ids.reserveCapacity(insertions.count)
        var known: Entity?
        for position in insertions.indices {
            let requested = insertions[position].id
            guard requested.isTemporary else {
                hasReservedIDs = true
                ids.append(requested)
                continue
            }
            if known?.tag != requested.entityTag { known = schema.entity(of: requested) }
            guard let known else {
                throw .invalidRequest(reason: "the store's model has no entity \(requested.entityName)")
            }
            let id = ObjectID(storeTag: storeTag, entityTag: requested.entityTag, key: try newKey(known))
            guard permanentIDs.set(id, for: requested) else {
                throw .invalidRequest(reason: "\(requested) is inserted twice")
            }
            ids.append(id)
        }
    }

    private mutating func prepareInsertions() throws(StoreError) {
        guard let first = ids.first else { return }
        var entity = try entity(of: first)
        var (types, destinationTags) = (schema.plainTypes[entity.index], schema.plainDestinations[entity.index])
        for position in insertions.indices {
            let id = ids[position]
            if entity.tag != id.entityTag || id.storeTag != storeTag {
                entity = try self.entity(of: id)
                (types, destinationTags) = (schema.plainTypes[entity.index], schema.plainDestinations[entity.index])
            }
            guard !entity.isAbstract else {
                throw .invalidRequest(reason: "entity \(entity.name) is abstract and has no rows of its own")
            }
            let row = insertions[position].row
            guard row.attributeCount == types.count, row.relationshipCount == destinationTags.count else {
                throw .invalidRequest(
                    reason: "\(entity.name) has \(types.count) attributes and \(destinationTags.count) relationships, "
                        + "the insertion of \(insertions[position].id) has \(row.attributeCount) and "
                        + "\(row.relationshipCount)")
            }
            for slot in types.indices where !row.isPlain(at: slot, types[slot]) {
                if try !isStored(row.attribute(at: slot), in: entity.attributes[slot], of: entity) {
                    clearValue(slot, ofInsertion: position)
                }
            }
            for slot in destinationTags.indices {
                guard let destination = row.destination(at: slot) else { continue }
                let id = permanentIDs.permanent(destination)
                if id.storeTag == storeTag, id.entityTag == destinationTags[slot] { continue }
                _ = try checked(destination, for: entity.relationships[slot], inline: true)
            }
        }
    }

    // What changes rows stands apart from the loops: within them the arrays would be copied before the first row, as
    // the check whether they are shared is moved out of a loop.

    @inline(never)
    private mutating func clearValue(_ slot: Int, ofInsertion position: Int) {
        insertions[position].values[slot] = .null
    }

    @inline(never)
    private mutating func clearValue(at place: Int, ofUpdate position: Int) {
        updates[position].values[place].value = .null
    }

    @inline(never)
    private mutating func setDestination(_ id: ObjectID, at place: Int, ofUpdate position: Int) {
        updates[position].destinations[place].destination = id
    }

    private mutating func prepareUpdates() throws(StoreError) {
        guard let first = updates.first else { return }
        var entity = try entity(of: permanent(first.id))
        for position in updates.indices {
            let id = try permanent(updates[position].id)
            if entity.tag != id.entityTag || id.storeTag != storeTag { entity = try self.entity(of: id) }
            // Written only where something differs, so that most updates share their arrays with the request.
            for place in updates[position].values.indices {
                let slot = updates[position].values[place].slot
                guard entity.attributes.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no attribute slot \(slot)")
                }
                if let type = schema.plainTypes[entity.index][slot],
                    type.accepts(updates[position].values[place].value)
                {
                    continue
                }
                let value = updates[position].values[place].value
                if value.isNull { continue }
                if try !isStored(value, in: entity.attributes[slot], of: entity) {
                    clearValue(at: place, ofUpdate: position)
                }
            }
            for place in updates[position].destinations.indices {
                let (slot, destination) = updates[position].destinations[place]
                guard entity.relationships.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no relationship slot \(slot)")
                }
                guard let destination else { continue }
                let permanent = try checked(destination, for: entity.relationships[slot], inline: true)
                if permanent != destination { setDestination(permanent, at: place, ofUpdate: position) }
            }
        }
    }

    private func prepare(_ link: SaveRequest.LinkChange) throws(StoreError) -> LinkChange {
        let owner = try permanent(link.owner)
        let entity = try entity(of: owner)
        guard entity.relationships.indices.contains(link.slot), entity.relationships[link.slot].isToMany else {
            throw .invalidRequest(reason: "\(entity.name) has no to-many relationship in slot \(link.slot)")
        }
        let relationship = entity.relationships[link.slot]
        guard link.order == nil || relationship.isOrdered else {
            throw .invalidRequest(reason: "\(entity.name).\(relationship.name) is not ordered")
        }
        let inverse = schema.model.inverse(of: relationship)
        guard inverse?.isToMany != false || relationship.isOrdered else {
            throw .invalidRequest(
                reason: "links of \(entity.name).\(relationship.name) follow from its to-one inverse")
        }
        func permanentList(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID] {
            var list: [ObjectID] = []
            list.reserveCapacity(ids.count)
            for id in ids { list.append(try checked(id, for: relationship, inline: false)) }
            return list
        }
        return LinkChange(
            owner: owner, relationship: relationship, added: try permanentList(link.added),
            removed: try permanentList(link.removed), order: try link.order.map(permanentList))
    }

    private func permanent(_ id: ObjectID) throws(StoreError) -> ObjectID {
        guard id.isTemporary else { return id }
        guard let permanent = permanentIDs[id] else {
            throw .invalidRequest(reason: "\(id) is temporary and not among the insertions")
        }
        return permanent
    }

    private func entity(of id: ObjectID) throws(StoreError) -> Entity {
        try Self.entity(of: id, schema: schema, storeTag: storeTag)
    }

    /// `destination` made permanent, if it may stand in `relationship`.
    private func checked(
        _ destination: ObjectID, for relationship: Relationship, inline: Bool
    ) throws(StoreError) -> ObjectID {
        let id = try permanent(destination)
        guard !inline || !relationship.isToMany else {
            throw .invalidRequest(reason: "to-many relationship \(relationship.name) does not travel with its row")
        }
        let (entity, expected) = (try entity(of: id), schema.model.destination(of: relationship))
        guard entity.isKind(of: expected) else {
            throw .invalidRequest(
                reason: "relationship \(relationship.name) leads to \(expected.name), not to \(entity.name)")
        }
        return id
    }

    /// Whether `attribute` is one that is stored; then `value` must fit.
    private func isStored(
        _ value: AttributeValue, in attribute: Attribute, of entity: Entity
    ) throws(StoreError) -> Bool {
        guard !attribute.isTransient else { return false }
        guard attribute.accepts(value) else {
            throw .invalidRequest(
                reason: "\(entity.name).\(attribute.name) is of type \(attribute.type), \(value) does not fit")
        }
        return true
    }

    private func refuseDuplicates() throws(StoreError) {
        // New IDs are each given once.
        guard hasReservedIDs || !updates.isEmpty || !deletions.isEmpty else { return }
        // Sorting is cheaper than a set: requests come in the order of their keys.
        var ids = ids
        ids.reserveCapacity(ids.count + updates.count + deletions.count)
        for position in updates.indices { ids.append(try permanent(updates[position].id)) }
        for deletion in deletions { ids.append(try permanent(deletion.id)) }
        ids.sort { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) }
        for position in ids.indices.dropLast() where ids[position] == ids[position + 1] {
            throw .invalidRequest(reason: "\(ids[position]) is inserted, updated or deleted more than once")
        }
    }
}

extension RowValues {
    /// Whether nothing has to be looked at but the type of an attribute to say that it takes its value.
    @inline(__always)
    fileprivate func isPlain(at slot: Int, _ type: AttributeType?) -> Bool {
        // SAFETY: read where it lies.
        unsafe withAttribute(at: slot) { value in
            switch unsafe value.pointee {
            case .null: true
            case .string: type == .string
            case .integer where type == .integer64: true
            default: type?.accepts(unsafe value.pointee) == true
            }
        }
    }
}
