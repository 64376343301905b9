// The checks of what a source, or a store of an application, returns: nothing passes that a context, a predicate or a
// save could stumble over.

package import EspalierModel
internal import FoundationEssentials

/// The checks of the answers of one store.
package struct ContractChecks: Sendable {
    private let schema: StoreSchema
    private let storeTag: UInt32
    private let identifier: UUID
    private let path: String?
    private let storeName: String
    /// Whether the store may return rows that a built-in store has made: with the ID of the row, they are what that
    /// store has checked.
    private let allowsStoredRows: Bool

    var model: ManagedObjectModel { schema.model }

    /// The checks of a store; of its source, if none of its rows are those of a built-in store.
    init(schema: StoreSchema, identifier: UUID, path: String?, type: StoreType, allowsStoredRows: Bool) {
        (self.schema, self.identifier, storeTag) = (schema, identifier, Interned.stores.tag(of: identifier))
        (self.path, storeName, self.allowsStoredRows) = (path, type.rawValue, allowsStoredRows)
    }

    /// The checks that the answers of a store need for a reader of `model`; `nil` for a built-in store.
    package init?(of store: any PersistentStore, model: ManagedObjectModel) {
        if store is any BuiltInStore { return nil }
        self.init(
            schema: StoreSchema(model: model), identifier: store.identifier, path: store.path, type: store.type,
            allowsStoredRows: true)
    }

    /// The snapshot, if it is a built-in one, or else one whose answers are checked.
    package func checked(_ snapshot: any StoreSnapshot) -> any StoreSnapshot {
        snapshot is any BuiltInSnapshot ? snapshot : CheckedSnapshot(snapshot, self, model: model)
    }

    /// The error for an answer that breaks a rule.
    func broken(_ reason: String) -> StoreError { .brokenContract(path: path, store: storeName, reason: reason) }

    // MARK: Answers

    /// Requires that reserved IDs are as many as were asked for, each another one of this store.
    package func check(reserved ids: [ObjectID], count: Int, for entity: Entity) throws(StoreError) {
        guard ids.count == count else {
            throw broken("\(count) IDs for \(entity.name) were asked for, and it has returned \(ids.count)")
        }
        try check(ids, of: [entity.index])
    }

    /// Requires that the IDs of found rows are of this store and of the wanted entities, no more than wanted, and that
    /// no row is there twice.
    func check(_ ids: [ObjectID], foundBy fetch: StoreFetch) throws(StoreError) {
        try check(ids.count, foundBy: fetch)
        try check(ids, of: Set(fetch.includesSubentities ? fetch.entity.family : [fetch.entity.index]))
    }

    /// Requires that a number of found rows can be.
    func check(_ count: Int, foundBy fetch: StoreFetch) throws(StoreError) {
        guard count >= 0 else { throw broken("it has counted \(count) rows") }
        guard count <= fetch.limit ?? .max else {
            throw broken("\(count) rows are more than the limit of \(fetch.limit ?? 0)")
        }
    }

    /// Requires of rows that were read by their IDs that they are those, and can be used with the model.
    func check(_ rows: [ObjectSnapshot?], readBy ids: [ObjectID]) throws(StoreError) {
        guard rows.count == ids.count else {
            throw broken("it was asked for \(ids.count) rows, and has returned \(rows.count)")
        }
        for case let (id, row?) in zip(ids, rows) where row.id != id {
            throw broken("it was asked for \(id), and has returned \(row.id)")
        }
        try check(rows.compactMap { $0 })
    }

    // MARK: Parts of answers

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

    /// Requires that rows can be used with the model.
    func check(_ rows: some Sequence<ObjectSnapshot>) throws(StoreError) {
        for row in rows { try check(row) }
    }

    /// Requires of rows that were filtered and sorted that they match and are in order, as far as their own values show
    /// it.
    func check<Subject: PredicateSubject>(
        _ rows: some Collection<ObjectSnapshot>, matching fetch: StoreFetch,
        _ makeSubject: (ObjectSnapshot) throws(StoreError) -> Subject
    ) throws(StoreError) where Subject.Failure == StoreError {
        var (condition, order) = (
            PredicateReach(from: fetch.entity, in: model), PredicateReach(from: fetch.entity, in: model)
        )
        var steps = fetch.steps
        if let predicate = fetch.predicate {
            condition.add(predicate)
            for row in rows where condition.ways.isEmpty {
                try steps.count()
                guard try !predicate.evaluate(on: makeSubject(row)) else { continue }
                throw broken("\(row.id) does not match the predicate by which it says it has filtered")
            }
        }
        for key in fetch.sort { order.add(key) }
        guard !fetch.sort.isEmpty, order.ways.isEmpty else { return }
        var former: [AttributeValue]?
        for row in rows {
            try steps.count()
            let subject = try makeSubject(row)
            let values = try fetch.sort.map { key throws(StoreError) in try key.value(of: subject) }
            if let former, fetch.sort.order(former, values) == .orderedDescending {
                throw broken("\(row.id) is not in the order in which it says it has sorted")
            }
            former = values
        }
    }

    /// Requires that the rest of a batch is the same question about other rows.
    func check(rest: StoreFetch, of fetch: StoreFetch) throws(StoreError) {
        guard rest.entity === fetch.entity, rest.includesSubentities == fetch.includesSubentities,
            rest.predicate?.identity == fetch.predicate?.identity
        else { throw broken("the rest of a batch of \(fetch.entity.name) is another question than the batch") }
        guard
            rest.offset != fetch.offset || rest.limit != fetch.limit || rest.keys != fetch.keys
                || rest.found?.count != fetch.found?.count
        else { throw broken("the rest of a batch of \(fetch.entity.name) has the rows of the batch, without end") }
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

    /// Requires that the destinations of a relationship without order ascend by key, as readers expect it.
    func checkOrder(
        _ destinations: [ObjectID], of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) {
        guard !relationship.isOrdered else { return }
        for (id, next) in zip(destinations, destinations.dropFirst()) where id.key >= next.key {
            throw broken("\(relationship.name) of \(owner) has no order, and its list is not by ascending key")
        }
    }

    /// The entity of an ID.
    ///
    /// - Throws: `.brokenContract` for an ID of another store, or of an entity that the model does not have, or whose
    ///   objects are all of subentities.
    func entity(of id: ObjectID) throws(StoreError) -> Entity {
        guard id.storeTag == storeTag else {
            throw broken("\(id) is not an ID of this store, whose UUID is \(identifier)")
        }
        guard let entity = schema.entity(of: id) else {
            throw broken("the model has no entity \(id.entityName), of which it has returned \(id)")
        }
        guard !entity.isAbstract else { throw broken("\(id) is of \(entity.name), which is abstract") }
        return entity
    }

    /// Requires that a row can be used with the model.
    func check(_ row: ObjectSnapshot) throws(StoreError) {
        let entity = try entity(of: row.id)
        guard ObjectSnapshot.versions.contains(row.version) else {
            throw broken("\(row.id) is at version \(row.version); versions are from 1 to 2^63 - 1")
        }
        if allowsStoredRows, row.slotCounts == nil { return }
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
