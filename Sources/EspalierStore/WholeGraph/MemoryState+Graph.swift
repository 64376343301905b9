// The state of a store in memory as a whole graph, and the check of a graph that becomes one.
//
// Invariants
//   1. A graph is untrusted: whatever is wrong with a row or a list is an error that names it, and a state that was
//      made has both sides of every relationship, unique values, and only destinations that exist.

internal import EspalierModel
internal import FoundationEssentials

extension InMemoryStore {
    /// Replaces everything but the UUID.
    func replaceContent(by graph: StoredGraph) throws(StoreError) {
        try change { state throws(StoreError) in try replace(&state, by: graph) }
    }

    /// Replaces a state by a graph; keys that were given out before stay so.
    func replace(_ state: inout MemoryState, by graph: StoredGraph) throws(StoreError) {
        var new = try MemoryState(graph, schema: schema)
        assert(new.lastKeys.count == state.lastKeys.count, "\(new.lastKeys.count) keys for \(state.lastKeys.count)")
        new.generation = state.generation + 1
        for root in new.lastKeys.indices {
            new.lastKeys[root] = max(new.lastKeys[root], state.lastKeys[root])
            new.goneVersions[root] = max(new.goneVersions[root], state.goneVersions[root])
        }
        state = new
    }
}

extension MemoryState {
    /// The state that a graph describes.
    ///
    /// - Throws: `StoreError.damagedContent` with the row and what is wrong with it; `.invalidRequest` if composites of
    ///   the metadata nest more than 15 deep.
    /// - Complexity: O(n log n) in rows and destinations.
    init(_ graph: StoredGraph, schema: StoreSchema) throws(StoreError) {
        self.init(schema: schema)
        // A file with them could not be read again.
        try SaveChecks.check(metadata: graph.metadata)
        metadata = graph.metadata
        let tag = Interned.stores.tag(of: graph.identifier)
        for row in graph.rows { try add(row, tag) }
        for root in rows.indices {
            for (_, row) in rows[root] { try checkDestinations(of: row, tag) }
        }
        try addLists(graph.lists, tag)
        try addDerivedLists()
        for root in rows.indices where schema.model.entities[root].root == root {
            let counters = try counters(of: schema.model.entities[root], in: graph)
            lastKeys[root] = max(counters.lastKey, rows[root].lastKey ?? 0)
            goneVersions[root] = counters.goneVersion
            for (_, row) in rows[root] { try addUniqueValues(of: row) }
        }
        assert(checkInvariants())
    }

    private static func damaged(_ id: ObjectID, _ reason: String) -> StoreError {
        .damaged(entity: id.entityName, key: id.key, reason: reason)
    }

    /// The counters of a hierarchy, which may be those of anybody.
    private func counters(of root: Entity, in graph: StoredGraph) throws(StoreError) -> StoredGraph.Counters {
        assert(root.root == root.index, "\(root.name) has no counters of its own")
        let counters = graph.counters[root.name] ?? .init()
        guard counters.lastKey <= Self.keys.upperBound else {
            throw .damaged(entity: root.name, key: counters.lastKey, reason: "the last key is not less than 2^63")
        }
        guard counters.goneVersion <= ObjectSnapshot.versions.upperBound else {
            throw .damaged(
                entity: root.name, reason: "a row was deleted at version \(counters.goneVersion), which is too great")
        }
        return counters
    }

    private mutating func add(_ snapshot: ObjectSnapshot, _ tag: UInt32) throws(StoreError) {
        let id = snapshot.id
        guard id.storeTag == tag else { throw Self.damaged(id, "the ID is not one of this store") }
        guard let entity = schema.entity(of: id), !entity.isAbstract else {
            throw Self.damaged(id, "the model has no such entity, or it is abstract")
        }
        guard Self.keys.contains(id.key) else { throw Self.damaged(id, "keys are from 1 to 2^63 - 1") }
        guard ObjectSnapshot.versions.contains(snapshot.version) else {
            throw Self.damaged(id, "it is at version \(snapshot.version); versions are from 1 to 2^63 - 1")
        }
        guard rows[entity.root][id.key] == nil else { throw Self.damaged(id, "two rows have this key") }
        guard let counts = snapshot.slotCounts, counts == (entity.attributes.count, entity.relationships.count) else {
            throw Self.damaged(id, "the row has other numbers of values than its entity")
        }
        let values = entity.attributes.map { $0.isTransient ? .null : snapshot.value(at: $0.slot) }
        for attribute in entity.attributes where !values[attribute.slot].isNull {
            guard attribute.accepts(values[attribute.slot]) else {
                throw Self.damaged(id, "\(attribute.name) is of type \(attribute.type), which its value does not fit")
            }
        }
        rows[entity.root][id.key] = Row(
            id: id, entity: entity.index, version: snapshot.version, values: values,
            destinations: entity.relationships.map { $0.isToMany ? nil : snapshot.destination(at: $0.slot) })
    }

    private func requireRow(_ id: ObjectID, _ relationship: Relationship, of owner: ObjectID) throws(StoreError) {
        guard let row = row(id),
            schema.model.entities[row.entity].isKind(of: schema.model.destination(of: relationship))
        else { throw Self.damaged(owner, "\(relationship.name) leads to \(id), of which there is no row that fits") }
    }

    private func checkDestinations(of row: Row, _ tag: UInt32) throws(StoreError) {
        for relationship in schema.model.entities[row.entity].relationships {
            guard let id = row.destinations[relationship.slot] else { continue }
            try requireRow(id, relationship, of: row.id)
            guard let inverse = schema.model.inverse(of: relationship), !inverse.isToMany else { continue }
            guard self.row(id)?.destinations[inverse.slot] == row.id else {
                throw Self.damaged(
                    row.id, "\(relationship.name) leads to \(id), whose \(inverse.name) does not lead back")
            }
        }
    }

    private mutating func addLists(_ given: [StoredGraph.List], _ tag: UInt32) throws(StoreError) {
        var members: [ListID: Set<ObjectID>] = [:]
        for list in given {
            guard let owner = row(list.owner) else {
                throw Self.damaged(list.owner, "there is a list of \(list.relationship.name), but no such row")
            }
            let slot = list.relationship.slot
            let relationships = schema.model.entities[owner.entity].relationships
            guard relationships.indices.contains(slot), relationships[slot].isToMany,
                relationships[slot].name == list.relationship.name
            else { throw Self.damaged(owner.id, "\(list.relationship.name) is no to-many relationship of the entity") }
            let relationship = relationships[slot]
            let destinations = Set(list.destinations)
            guard destinations.count == list.destinations.count else {
                throw Self.damaged(owner.id, "\(relationship.name) has a destination twice")
            }
            for id in list.destinations { try requireRow(id, relationship, of: owner.id) }
            let key = ListID(relationship, of: owner.id)
            guard lists[key] == nil else { throw Self.damaged(owner.id, "there are two lists of \(relationship.name)") }
            guard !list.destinations.isEmpty else { continue }
            if relationship.isOrdered { members[key] = destinations }
            lists[key] =
                relationship.isOrdered ? list.destinations : list.destinations.sorted { $0.key < $1.key }
        }
        for (key, list) in lists { try checkOtherSide(of: key, list, members) }
    }

    /// Requires that the destinations of a list lead back, if they can; notes the owner of a list without inverse.
    ///
    /// - Parameter members: the destinations of the ordered lists, in which they cannot be searched by key.
    /// - Complexity: O(n log m) for n destinations, whose lists have m.
    private mutating func checkOtherSide(
        of key: ListID, _ list: [ObjectID], _ members: [ListID: Set<ObjectID>]
    ) throws(StoreError) {
        let relationship = schema.model.entities[key.relationship.declaredBy].relationships[key.relationship.slot]
        assert(relationship.isToMany && !list.isEmpty, "\(relationship.name) of \(key.owner) has \(list.count) rows")
        guard let inverse = schema.model.inverse(of: relationship) else {
            for id in list { insert(owner: key.owner, leadingTo: id, relationship) }
            return
        }
        for id in list {
            let leadsBack =
                inverse.isToMany
                ? members[ListID(inverse, of: id)]?.contains(key.owner)
                    ?? lists[ListID(inverse, of: id)]?.hasInKeyOrder(key.owner) == true
                : row(id)?.destinations[inverse.slot] == key.owner
            guard leadsBack else {
                throw Self.damaged(
                    key.owner, "\(relationship.name) leads to \(id), whose \(inverse.name) does not lead back")
            }
        }
    }

    /// Adds the rows that lead to an owner to its list, and requires that a list that is there has all of them.
    private mutating func addDerivedLists() throws(StoreError) {
        var derived: [ListID: [ObjectID]] = [:]
        for row in rows.joined().map(\.value) {
            for (slot, inverse) in schema.listedToOnes[row.entity] {
                guard let owner = row.destinations[slot] else { continue }
                derived[ListID(inverse, of: owner), default: []].append(row.id)
            }
        }
        for (key, members) in derived {
            if let list = lists[key] {
                guard list.count == members.count else {
                    throw Self.damaged(key.owner, "\(members.count) rows lead to it, but a list has \(list.count)")
                }
            } else {
                lists[key] = members.sorted { $0.key < $1.key }
            }
        }
    }

    private mutating func addUniqueValues(of row: Row) throws(StoreError) {
        for group in constraints(of: row) {
            guard let values = key(row, group) else { continue }
            if let other = groups[group][values]?.first {
                let names = schema.groups[group].properties.joined(separator: ", ")
                throw Self.damaged(row.id, "it has the same \(names) as \(other), which must be unique")
            }
            insert(row.id, having: values, inGroup: group)
        }
    }

    /// The whole content.
    ///
    /// - Complexity: O(n log n) in rows and lists.
    func graph(identifier: UUID) -> StoredGraph {
        var graph = StoredGraph(identifier: identifier)
        graph.metadata = metadata
        for root in rows.indices where schema.model.entities[root].root == root {
            graph.rows += rows[root].map(\.value.snapshot)
            graph.counters[schema.model.entities[root].name] = .init(
                lastKey: lastKeys[root], goneVersion: goneVersions[root])
        }
        assert(
            graph.rows.count == rows.reduce(0) { $0 + $1.count },
            "\(graph.rows.count) rows are below roots, of \(rows.map(\.count))")
        graph.lists = lists.map { key, destinations in
            let declaring = schema.model.entities[key.relationship.declaredBy]
            return StoredGraph.List(key.owner, declaring.relationships[key.relationship.slot], destinations)
        }
        graph.lists.sort {
            ($0.owner.entityName, $0.owner.key, $0.relationship.slot)
                < ($1.owner.entityName, $1.owner.key, $1.relationship.slot)
        }
        return graph
    }
}
