// The rows that one fetch has loaded, and a row as predicates and sort keys see it.
//
// Invariants
//   1. Each row is loaded once in a fetch, also if many rows lead to it.

internal import EspalierModel

/// The rows that were loaded for one fetch; used by one thread.
final class IncrementalReads {
    private let snapshot: IncrementalSnapshot
    private var rows = ObjectIDTable<ObjectSnapshot>()
    private var missing = Set<ObjectID>()

    init(_ snapshot: IncrementalSnapshot) { self.snapshot = snapshot }

    /// Keeps a row that was checked.
    func keep(_ row: ObjectSnapshot) {
        assert(!missing.contains(row.id), "\(row.id) was missing before in this fetch")
        rows.set(row, for: row.id)
    }

    /// Loads the rows that are not here yet.
    func load(_ ids: [ObjectID]) throws(StoreError) {
        let wanted = ids.filter { rows[$0] == nil && !missing.contains($0) }
        let found = try snapshot.snapshots(of: wanted)
        assert(found.count == wanted.count, "\(found.count) rows were read by \(wanted.count) IDs")
        for (id, row) in zip(wanted, found) {
            if let row { keep(row) } else { missing.insert(id) }
        }
    }

    /// The row with an ID; `nil` if there is none.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectSnapshot? {
        try load([id])
        return rows[id]
    }

    /// The row of an ID that the source has returned.
    ///
    /// - Throws: `.brokenContract` if there is none.
    func existingRow(_ id: ObjectID) throws(StoreError) -> ObjectSnapshot {
        guard let row = try row(id) else { throw snapshot.store.broken("it has found \(id), but has no such row") }
        return row
    }

    /// A row that the source has returned, for predicates and sort keys.
    func subject(_ id: ObjectID) throws(StoreError) -> IncrementalSubject {
        IncrementalSubject(row: try existingRow(id), reads: self)
    }

    fileprivate func destinations(of relationship: Relationship, for owner: ObjectID) throws(StoreError) -> [ObjectID] {
        try snapshot.destinations(of: relationship, for: [owner])[0]
    }

    fileprivate func entity(of id: ObjectID) -> Entity {
        snapshot.store.model.entities[snapshot.store.schema.entityIndex(of: id)]
    }
}

/// A row of an application's data, as predicates and sort keys see it.
struct IncrementalSubject: PredicateSubject {
    fileprivate let row: ObjectSnapshot
    fileprivate let reads: IncrementalReads

    var objectID: ObjectID { row.id }
    var entity: Entity { reads.entity(of: row.id) }

    func value(at slot: Int) throws(StoreError) -> AttributeValue { row.value(at: slot) }

    func destination(at slot: Int) throws(StoreError) -> IncrementalSubject? {
        guard let id = try destinationID(at: slot) else { return nil }
        return try reads.row(id).map { IncrementalSubject(row: $0, reads: reads) }
    }

    func destinations(at slot: Int) throws(StoreError) -> [IncrementalSubject] {
        let ids = try destinationIDs(at: slot)
        try reads.load(ids)
        var subjects: [IncrementalSubject] = []
        for id in ids {
            if let row = try reads.row(id) { subjects.append(IncrementalSubject(row: row, reads: reads)) }
        }
        return subjects
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.destination(at: slot)
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return try reads.destinations(of: entity.relationships[slot], for: row.id)
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }
}
