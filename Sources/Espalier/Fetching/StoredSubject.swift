// Rows as their stores have them, for the order of a fetch that several stores answer and no unsaved change joins.
//
// Invariants
//   1. A value is that of a row: neither unsaved changes nor an older row that an object has in memory changes it.
// Not here: objects with their unsaved values (GraphSubject).

import EspalierModel
import EspalierStore

/// A row, for predicates and sort keys; the rows to which it leads are read when they are needed.
struct StoredSubject: PredicateSubject {
    private let row: ObjectSnapshot
    private let context: ManagedObjectContext
    let entity: Entity

    init(_ row: ObjectSnapshot, in context: ManagedObjectContext) {
        (self.row, self.context, entity) = (row, context, context.shapeOfRow(row.id).entity)
    }

    var objectID: ObjectID { row.id }

    func value(at slot: Int) throws(ContextError) -> AttributeValue { row.value(at: slot) }

    func destinationID(at slot: Int) throws(ContextError) -> ObjectID? { row.destination(at: slot) }

    func destination(at slot: Int) throws(ContextError) -> StoredSubject? {
        guard let id = row.destination(at: slot) else { return nil }
        return try subjects([id]).first
    }

    func destinationIDs(at slot: Int) throws(ContextError) -> [ObjectID] {
        let relationship = entity.relationships[slot]
        assert(relationship.isToMany, "\(relationship.name) is no list")
        let lists = try context.read(holding: row.id, [row.id]) { snapshot, ids throws(StoreError) in
            try snapshot.destinations(of: relationship, for: ids)
        }
        return lists.first ?? []
    }

    func destinations(at slot: Int) throws(ContextError) -> [StoredSubject] { try subjects(destinationIDs(at: slot)) }

    func stopEvaluation(_ error: FetchPredicateError) throws(ContextError) { throw .invalidPredicate(error) }

    private func subjects(_ ids: [ObjectID]) throws(ContextError) -> [StoredSubject] {
        try context.storedRows(of: ids).compactMap { row in row.map { StoredSubject($0, in: context) } }
    }
}

extension SortedObject {
    /// The objects of rows that are a part of a result as their store has them, in the order of the rows, with the
    /// values by which the store has sorted them.
    ///
    /// - Complexity: O(rows); beside unsaved changes, a sort key across relationships reads the destination of each row.
    static func asStored(
        _ objects: [ManagedObject], _ rows: SnapshotList, _ keys: [ResolvedSortKey], in context: ManagedObjectContext
    ) throws(ContextError) -> [SortedObject] {
        assert(objects.count == rows.count, "\(rows.count) rows have \(objects.count) objects")
        // Without unsaved changes, objects read what is across their relationships together (F-2).
        let readsRows = context.holdsChanges || keys.allSatisfy { $0.expression.ownProperties != nil }
        var sorted: [SortedObject] = []
        sorted.reserveCapacity(objects.count)
        for (row, object) in zip(rows, objects) {
            if readsRows {
                sorted.append(try SortedObject(object, keys, of: StoredSubject(row, in: context)))
            } else {
                sorted.append(try SortedObject(object, keys))
            }
        }
        return sorted
    }
}
