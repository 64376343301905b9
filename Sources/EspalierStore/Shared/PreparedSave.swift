// A save request made safe to carry out: every ID permanent, every slot and type checked against the model.
//
// Invariants
//   1. No ID is temporary, every ID is this store's, every entity is the model's and concrete.
//   2. No row is inserted, updated or deleted twice.
//   3. Every value fits its attribute; transient attributes are null; to-many slots have no inline destination.
// Not here: versions, uniqueness, existence of rows (each store asks its own rows).

internal import EspalierModel

struct PreparedSave {
    struct Insertion {
        /// The ID in the request, which may be temporary.
        let requestedID: ObjectID
        let id: ObjectID
        let entity: Entity
        var values: [AttributeValue]
        var destinations: [ObjectID?]
    }
    struct Update {
        let id: ObjectID
        let entity: Entity
        let expectedVersion: UInt64
        var values: [(slot: Int, value: AttributeValue)]
        var destinations: [(slot: Int, destination: ObjectID?)]
    }
    struct Deletion {
        let id: ObjectID
        let entity: Entity
        let expectedVersion: UInt64
    }
    struct LinkChange {
        let owner: ObjectID
        let relationship: Relationship
        let added: [ObjectID]
        let removed: [ObjectID]
        let order: [ObjectID]?
    }

    private(set) var insertions: [Insertion] = []
    private(set) var updates: [Update] = []
    private(set) var deletions: [Deletion] = []
    private(set) var locks: [Deletion] = []
    private(set) var links: [LinkChange] = []
    private var permanentIDs = ObjectIDTable<ObjectID>()

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
        try assignIDs(request.insertions, newKey)
        try prepareInsertions(request.insertions)
        try prepareUpdates(request.updates)
        for deletion in request.deletions { deletions.append(try expectation(deletion)) }
        for lock in request.locks { locks.append(try expectation(lock)) }
        for link in request.links { links.append(try prepare(link)) }
        try refuseDuplicates()
    }

    /// `conflicts` with the IDs that the request knows: a row that is not inserted keeps its temporary one.
    func asRequested(_ conflicts: [ConstraintConflict]) -> [ConstraintConflict] {
        let temporary = Dictionary(insertions.map { ($0.id, $0.requestedID) }, uniquingKeysWith: { first, _ in first })
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

    private mutating func assignIDs(
        _ requested: [SaveRequest.Insertion], _ newKey: (Entity) throws(StoreError) -> UInt64
    ) throws(StoreError) {
        permanentIDs.reserveCapacity(requested.count)
        for requestedID in requested.lazy.map(\.id) where requestedID.isTemporary {
            guard let entity = schema.entity(of: requestedID) else {
                throw .invalidRequest(reason: "the store's model has no entity \(requestedID.entityName)")
            }
            guard permanentIDs[requestedID] == nil else {
                throw .invalidRequest(reason: "\(requestedID) is inserted twice")
            }
            let id = ObjectID(storeTag: storeTag, entityTag: requestedID.entityTag, key: try newKey(entity))
            permanentIDs.set(id, for: requestedID)
        }
    }

    private mutating func prepareInsertions(_ requested: [SaveRequest.Insertion]) throws(StoreError) {
        insertions.reserveCapacity(requested.count)
        for insertion in requested {
            let id = try permanent(insertion.id)
            let entity = try entity(of: id)
            let plainTypes = schema.plainTypes[entity.index]
            guard !entity.isAbstract else {
                throw .invalidRequest(reason: "entity \(entity.name) is abstract and has no rows of its own")
            }
            guard insertion.values.count == entity.attributes.count,
                insertion.destinations.count == entity.relationships.count
            else {
                throw .invalidRequest(
                    reason: "\(entity.name) has \(entity.attributes.count) attributes and "
                        + "\(entity.relationships.count) relationships, the insertion of \(id) has "
                        + "\(insertion.values.count) and \(insertion.destinations.count)")
            }
            var (values, destinations) = (insertion.values, insertion.destinations)
            // Written only where something differs, so that most insertions share their arrays with the request.
            for slot in values.indices where !values[slot].isNull {
                if let type = plainTypes[slot], type.accepts(values[slot]) { continue }
                if try !isStored(values[slot], in: entity.attributes[slot], of: entity) { values[slot] = .null }
            }
            for slot in destinations.indices {
                guard let destination = destinations[slot] else { continue }
                let permanent = try checked(destination, for: entity.relationships[slot], inline: true)
                if permanent != destination { destinations[slot] = permanent }
            }
            insertions.append(
                Insertion(
                    requestedID: insertion.id, id: id, entity: entity, values: values, destinations: destinations))
        }
    }

    private mutating func prepareUpdates(_ requested: [SaveRequest.Update]) throws(StoreError) {
        updates.reserveCapacity(requested.count)
        for update in requested {
            let id = try permanent(update.id)
            let entity = try entity(of: id)
            // Written only where something differs, so that most updates share their arrays with the request.
            var (values, destinations) = (update.values, update.destinations)
            for (position, (slot, value)) in update.values.enumerated() {
                guard entity.attributes.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no attribute slot \(slot)")
                }
                guard !value.isNull else { continue }
                if try !isStored(value, in: entity.attributes[slot], of: entity) { values[position].value = .null }
            }
            for (position, (slot, destination)) in update.destinations.enumerated() {
                guard entity.relationships.indices.contains(slot) else {
                    throw .invalidRequest(reason: "\(entity.name) has no relationship slot \(slot)")
                }
                guard let destination else { continue }
                let permanent = try checked(destination, for: entity.relationships[slot], inline: true)
                if permanent != destination { destinations[position].destination = permanent }
            }
            updates.append(
                Update(
                    id: id, entity: entity, expectedVersion: update.expectedVersion, values: values,
                    destinations: destinations))
        }
    }

    private func expectation(_ expectation: SaveRequest.Expectation) throws(StoreError) -> Deletion {
        let id = try permanent(expectation.id)
        return Deletion(id: id, entity: try entity(of: id), expectedVersion: expectation.expectedVersion)
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
        // Sorting is cheaper than a set: requests come in the order of their keys.
        var ids = insertions.map(\.id) + updates.map(\.id) + deletions.map(\.id)
        ids.sort { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) }
        for (id, next) in zip(ids, ids.dropFirst()) where id == next {
            throw .invalidRequest(reason: "\(id) is inserted, updated or deleted more than once")
        }
    }
}
