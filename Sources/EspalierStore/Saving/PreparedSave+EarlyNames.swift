// IDs that a request names although the save itself has just given them to its new rows.
//
// A request names its new rows by their temporary IDs. So it means another row by such an ID: one that never was there,
// because the application has made up the ID, or has kept it from another store file.

internal import EspalierModel

extension PreparedSave {
    /// The references of the request to rows that did not exist when it was made, under IDs that its own new rows have
    /// got since.
    ///
    /// - Parameter destinations: the rows to which the save relates others.
    /// - Complexity: O(new rows and `destinations`); O(request) if new rows may be among `destinations`.
    func referencesToRowsToCome(among destinations: [ObjectID], schema: StoreSchema) -> [ReferenceConflict] {
        // Mostly all destinations have smaller keys than the new rows of their entities.
        var leastKeys = [UInt64](repeating: .max, count: schema.model.entities.count)
        for position in ids.indices where insertions[position].id.isTemporary {
            let entity = schema.entityIndex(of: ids[position])
            leastKeys[entity] = min(leastKeys[entity], ids[position].key)
        }
        var wanted = Set(destinations.filter { $0.key >= leastKeys[schema.entityIndex(of: $0)] })
        guard !wanted.isEmpty else { return [] }
        wanted.formIntersection(zip(ids, insertions).lazy.filter { $1.id.isTemporary }.map(\.0))
        guard !wanted.isEmpty else { return [] }
        assert(wanted.allSatisfy { !$0.isTemporary }, "a new row has no permanent ID")
        var conflicts: [ReferenceConflict] = []
        forEachNamedDestination(schema) { owner, relationship, destination in
            guard wanted.contains(destination) else { return }
            conflicts.append(
                ReferenceConflict(
                    .missing, owner: owner, relationship: relationship.name, destinations: [destination]))
        }
        return conflicts
    }

    /// Calls `body` with each destination that the request sets or adds, under the IDs of the request; an owner of a
    /// list, which must exist as well, is a destination of itself.
    private func forEachNamedDestination(
        _ schema: StoreSchema, _ body: (_ owner: ObjectID, Relationship, _ destination: ObjectID) -> Void
    ) {
        for insertion in request.insertions {
            guard let entity = schema.entity(of: insertion.id) else { continue }
            for slot in 0..<insertion.row.relationshipCount {
                if let id = insertion.row.destination(at: slot) { body(insertion.id, entity.relationships[slot], id) }
            }
        }
        for update in request.updates where !update.destinations.isEmpty {
            guard let entity = schema.entity(of: update.id) else { continue }
            for case let (slot, id?) in update.destinations { body(update.id, entity.relationships[slot], id) }
        }
        for link in request.links {
            guard let relationship = schema.entity(of: link.owner)?.relationships[link.slot] else { continue }
            body(link.owner, relationship, link.owner)
            for id in link.added { body(link.owner, relationship, id) }
            for id in link.edits?.placed.map(\.id) ?? link.order ?? [] { body(link.owner, relationship, id) }
        }
    }
}
