// A row as the expressions of a batch update see it: with the values that it had before the command, and so for all
// rows to which it leads.

internal import EspalierModel

/// The state of a store before a command, read only if an expression leads from one row to others.
final class FormerRows {
    private let model: ManagedObjectModel
    private let make: () throws(StoreError) -> any StoreSnapshot
    private var snapshot: (any StoreSnapshot)?

    /// - Parameter make: makes a snapshot of the state before the command; called at most once.
    init(_ model: ManagedObjectModel, _ make: @escaping () throws(StoreError) -> any StoreSnapshot) {
        (self.model, self.make) = (model, make)
    }

    private func opened() throws(StoreError) -> any StoreSnapshot {
        if let snapshot { return snapshot }
        let made = try make()
        snapshot = made
        return made
    }

    fileprivate func rows(_ ids: [ObjectID]) throws(StoreError) -> [FormerRow] {
        try opened().snapshots(of: ids).compactMap { row in
            row.flatMap { row in
                model.entity(named: row.id.entityName).map { FormerRow(row: row, entity: $0, others: self) }
            }
        }
    }

    fileprivate func destinations(
        of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> [ObjectID] {
        try opened().destinations(of: relationship, for: [owner]).first ?? []
    }
}

/// A row before a command.
struct FormerRow: PredicateSubject {
    let row: ObjectSnapshot
    let entity: Entity
    let others: FormerRows

    var objectID: ObjectID { row.id }

    func value(at slot: Int) throws(StoreError) -> AttributeValue { row.value(at: slot) }

    func destination(at slot: Int) throws(StoreError) -> FormerRow? {
        guard let id = try destinationID(at: slot) else { return nil }
        return try others.rows([id]).first
    }

    func destinations(at slot: Int) throws(StoreError) -> [FormerRow] {
        try others.rows(destinationIDs(at: slot))
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.destination(at: slot)
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return try others.destinations(of: entity.relationships[slot], for: row.id)
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }
}
