// Rows as their stores have them, for the order of a fetch whose rows are joined with others.
//
// Invariants
//   1. A value is that of a row: neither unsaved changes nor an older row that an object has in memory changes it. In
//      the rows of a parent, derived attributes do not have their values.
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
    /// Objects of rows, in the order of the rows, with the values by which a store has sorted these: those in memory
    /// may be unsaved, or older.
    ///
    /// - Parameters:
    ///   - objects: the objects of some of the rows, in their order.
    ///   - readsDestinations: whether destinations are read as their stores have them, too. Otherwise a sort key across
    ///     relationships has the values in memory, which objects read together (F-2).
    /// - Complexity: O(rows); with `readsDestinations`, a sort key across relationships reads the destination of each.
    static func asStored(
        _ objects: [ManagedObject], of rows: SnapshotList, _ keys: [ResolvedSortKey],
        readsDestinations: Bool, in context: ManagedObjectContext
    ) throws(ContextError) -> [SortedObject] {
        assert(objects.count <= rows.count, "\(rows.count) rows have \(objects.count) objects")
        guard let entity = objects.first?.entity else { return [] }
        let isOfRow = readsDestinations || keys.allSatisfy { $0.isOfRow(of: entity, in: context) }
        let readsRows = isOfRow && !keys.isEmpty
        var sorted: [SortedObject] = []
        sorted.reserveCapacity(objects.count)
        var position = 0
        for object in objects {
            guard readsRows, let place = rows.ids[position...].firstIndex(of: object.storedID) else {
                assert(!readsRows, "\(object.storedID) is not among the \(rows.count) rows")
                sorted.append(try SortedObject(object, keys))
                continue
            }
            position = place
            sorted.append(try SortedObject(object, keys, of: StoredSubject(rows[place], in: context)))
        }
        return sorted
    }
}

extension ResolvedSortKey {
    /// Whether the value of an object is that of its row: it reads nothing else, and no derived attribute in a child,
    /// whose parent computes derived values anew and has others in its rows.
    fileprivate func isOfRow(of entity: Entity, in context: ManagedObjectContext) -> Bool {
        guard let properties = expression.ownProperties else { return false }
        return context.parent == nil
            || properties.allSatisfy { property in
                guard case .attribute(let slot) = property else { return true }
                return entity.attributes[slot].derivation == nil
            }
    }
}
