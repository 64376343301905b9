// Checks that every row to which a save relates exists when the save ends: that no other writer has deleted it, and no
// rule of this save.
//
// Invariants
//   1. Each destination is looked up once; its owners are determined only if it is missing.

internal import EspalierModel

/// The destinations that one save sets.
struct DestinationCheck {
    private let save: PreparedSave
    private let plan: LinkPlan
    private let model: ManagedObjectModel
    private let schema: StoreSchema

    init(_ save: PreparedSave, _ plan: LinkPlan, schema: StoreSchema) {
        (self.save, self.plan, self.schema, model) = (save, plan, schema, schema.model)
    }

    /// The relationships that would lead to rows that do not exist.
    ///
    /// - Throws: `StoreError.references` if the request has named rows that did not exist before it.
    func conflicts<State: SaveState & ~Copyable>(in state: borrowing State) throws(StoreError) -> [ReferenceConflict] {
        var wanted: [ObjectID] = []
        forEachReference { _, _, destination in
            // Consecutive rows of one save mostly lead to the same few rows.
            if wanted.last != destination { wanted.append(destination) }
        }
        guard !wanted.isEmpty else { return [] }
        wanted.sort { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) }
        var distinct: [ObjectID] = []
        distinct.reserveCapacity(wanted.count)
        for id in wanted where distinct.last != id { distinct.append(id) }
        assert(zip(distinct, distinct.dropFirst()).allSatisfy { ($0.entityTag, $0.key) < ($1.entityTag, $1.key) })
        let early = save.referencesToRowsToCome(among: distinct, schema: schema)
        guard early.isEmpty else { throw .references(early) }
        let missing = Set(try state.missing(distinct))
        guard !missing.isEmpty else { return [] }
        assert(missing.isSubset(of: distinct), "rows are missing that nothing leads to")
        var conflicts: [ReferenceConflict] = []
        var seen = Set<ReferenceConflict>()
        forEachReference { owner, relationship, destination in
            guard missing.contains(destination) else { return }
            let conflict = ReferenceConflict(
                .missing, owner: owner, relationship: relationship.name, destinations: [destination])
            if seen.insert(conflict).inserted { conflicts.append(conflict) }
        }
        assert(!conflicts.isEmpty, "nothing leads to the missing rows")
        return conflicts
    }

    /// Calls `body` with each destination that the save sets and does not itself insert.
    private func forEachReference(_ body: (_ owner: ObjectID, Relationship, _ destination: ObjectID) -> Void) {
        for position in save.ids.indices {
            let row = save.insertions[position].row
            guard row.relationshipCount > 0 else { continue }
            for slot in 0..<row.relationshipCount {
                guard let destination = row.destination(at: slot), !destination.isTemporary else { continue }
                let entity = model.entities[schema.entityIndex(of: save.ids[position])]
                body(save.ids[position], entity.relationships[slot], destination)
            }
        }
        for update in save.updates where !update.destinations.isEmpty {
            let entity = model.entities[schema.entityIndex(of: update.id)]
            for case let (slot, destination?) in update.destinations {
                assert(!entity.relationships[slot].isToMany, "an update sets a destination of a list")
                body(update.id, entity.relationships[slot], destination)
            }
        }
        for (key, edit) in plan.edits where !edit.added.isEmpty {
            assert(edit.relationship.isToMany, "\(edit.relationship.name) is no list")
            let inverse = model.inverse(of: edit.relationship)
            if let inverse, !inverse.isToMany { continue }
            for destination in edit.added { body(key.owner, edit.relationship, destination) }
            // The owner of a list without inverse is written nowhere else, and may be missing itself.
            if inverse == nil { body(key.owner, edit.relationship, key.owner) }
        }
    }
}
