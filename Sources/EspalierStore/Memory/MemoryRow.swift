// A row of an in-memory store, as predicates and sort keys see it.

internal import EspalierModel

struct MemoryRow: PredicateSubject {
    let row: MemoryState.Row
    let state: MemoryState
    let schema: StoreSchema

    var objectID: ObjectID { row.id }
    var entity: Entity { schema.model.entities[row.entity] }

    func value(at slot: Int) throws(StoreError) -> AttributeValue { row.values[slot] }

    func destination(at slot: Int) throws(StoreError) -> MemoryRow? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.destinations[slot].flatMap(subject)
    }

    func destinations(at slot: Int) throws(StoreError) -> [MemoryRow] {
        try destinationIDs(at: slot).compactMap(subject)
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.destinations[slot]
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return state.destinations(of: row.id, entity.relationships[slot])
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }

    private func subject(_ id: ObjectID) -> MemoryRow? {
        state.row(id).map { MemoryRow(row: $0, state: state, schema: schema) }
    }
}
