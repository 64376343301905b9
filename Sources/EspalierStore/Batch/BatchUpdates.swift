// The updates of a command: from stored rows and assignments to the updates of a save, with the rules of the model
// checked.

internal import EspalierModel

/// Makes updates of rows.
struct BatchUpdates {
    private let assignments: [ResolvedAssignment]
    private let model: ManagedObjectModel
    private let former: FormerRows
    private let progress: BatchProgress?
    /// `nil` if the command does not validate.
    private var rules: BatchRules?

    init(
        _ assignments: [ResolvedAssignment], of command: StoreCommand, _ model: ManagedObjectModel, _ former: FormerRows
    ) {
        (self.assignments, self.model, self.former, progress) = (assignments, model, former, command.progress)
        rules = command.validates ? BatchRules() : nil
    }

    /// The updates of rows, in the same order; each expects the version of its row.
    ///
    /// - Throws: `.brokenRules`; `.invalidRequest` for a row of another entity than that of the assignments;
    ///   `.commandCancelled`; the errors of reading rows to which expressions lead.
    mutating func updates(of rows: [ObjectSnapshot]) throws(StoreError) -> [SaveRequest.Update] {
        var updates: [SaveRequest.Update] = []
        updates.reserveCapacity(rows.count)
        var broken: [BrokenRule] = []
        var entity: Entity?
        for row in rows {
            if updates.count.isMultiple(of: FetchSteps.stepCountMax) { try progress?.advance(by: 0) }
            if entity?.tag != row.id.entityTag { entity = try self.entity(of: row) }
            guard let entity else { continue }
            var update = SaveRequest.Update(id: row.id, expectedVersion: row.version)
            for assignment in assignments {
                let (value, found) = try newValue(assignment, FormerRow(row: row, entity: entity, others: former))
                switch (assignment.property, value) {
                case (.attribute(let slot), let value): update.values.append((slot, value))
                case (.relationship(let slot), .objectID(let id)): update.destinations.append((slot, id))
                case (.relationship(let slot), let value):
                    assert(value.isNull, "\(assignment.name) of \(row.id) becomes \(value.kindDescription), and no ID")
                    update.destinations.append((slot, nil))
                }
                broken += found.map { BrokenRule($0, property: assignment.name, row: row.id) }
            }
            updates.append(update)
            guard broken.count < BatchRules.reportCountMax else { break }
        }
        guard broken.isEmpty else { throw .brokenRules(broken) }
        assert(updates.count == rows.count, "\(updates.count) updates of \(rows.count) rows")
        return updates
    }

    /// The value of an assignment for a row, and the rules that it breaks.
    private mutating func newValue(
        _ assignment: ResolvedAssignment, _ row: FormerRow
    ) throws(StoreError) -> (AttributeValue, [BrokenRule.Kind]) {
        switch try assignment.value(for: row) {
        case .failure(let error): return (.null, [.assignment(error)])
        case .success(let value):
            switch (assignment.property, value) {
            case (.attribute(let slot), _): return (value, rules?.broken(value, at: slot, of: row.entity) ?? [])
            case (.relationship(let slot), .objectID(let id)):
                return (value, rules?.broken(id, at: slot, of: row.entity) ?? [])
            case (.relationship(let slot), _): return (value, rules?.broken(nil, at: slot, of: row.entity) ?? [])
            }
        }
    }

    private func entity(of row: ObjectSnapshot) throws(StoreError) -> Entity {
        let found = model.entity(named: row.id.entityName)
        guard let entity = found, assignments.allSatisfy({ entity.isKind(of: $0.entity) }) else {
            throw .invalidRequest(reason: "\(row.id) is of another entity than the properties that are to be set")
        }
        return entity
    }
}
