// Updates of a command that only write over bytes of rows: each row is read, computed and changed in one visit.
//
// Invariants
//   1. The assignments read nothing but the row, and write attributes of fixed width, from which no index entry, no
//      list and no derived value follows.
//   2. An expression sees the row as it was before the command: each row is visited once.
//   3. The evaluation of an assignment cannot be stopped, as that of a regular expression can: `OwnBytes` has no error.
//   4. A row that has no room for a value is not changed; it is updated as a save updates rows.

internal import EspalierEngine
internal import EspalierModel

/// Updates rows in place.
struct BatchPatch {
    private let assignments: [(slot: Int, assignment: ResolvedAssignment)]
    private let catalog: StoreCatalog
    /// `nil` if the command does not validate.
    private var rules: BatchRules?
    /// The last entity of a row, and whether its rows can be changed in place.
    private var last: (entity: Entity, isPossible: Bool)?
    // Reused for every row.
    private var bytes: [UInt8] = []
    private var values: [(slot: Int, value: AttributeValue)] = []

    /// `nil` if the assignments need more than the row (invariant 1), or can fail (invariant 3).
    init?(_ assignments: [ResolvedAssignment], of command: StoreCommand, _ catalog: StoreCatalog) {
        assert(!assignments.isEmpty, "rows are patched without assignments")
        guard catalog.schema.derivations.isEmpty else { return nil }
        var found: [(slot: Int, assignment: ResolvedAssignment)] = []
        for assignment in assignments {
            guard case .attribute(let slot) = assignment.property, assignment.readsOwnValuesOnly,
                !assignment.hasRegularExpression
            else { return nil }
            found.append((slot, assignment))
        }
        (self.assignments, self.catalog) = (found, catalog)
        rules = command.validates ? BatchRules() : nil
    }

    /// Updates rows, all of which exist; returns the IDs of those that were not changed (invariant 4).
    ///
    /// - Throws: `.brokenRules`; the errors of damaged rows.
    mutating func update(
        _ ids: [ObjectID], in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [ObjectID] {
        var rest: [ObjectID] = []
        var broken: [BrokenRule] = []
        for id in ids {
            let entity = catalog.model.entities[catalog.schema.entityIndex(of: id)]
            guard isPossible(entity) else {
                rest.append(id)
                continue
            }
            var isPatched = false
            let exists = try transaction.withMutableValue(of: id.key, in: catalog.rowTree(of: entity)) {
                row throws(StoreError) in
                let number = try catalog.check(row.bytes, in: entity, key: id.key)
                guard number == catalog.numbering.entityNumbers[entity.index] else { return }
                broken += compute(row.bytes, id, entity)
                let types = catalog.schema.plainTypes[entity.index]
                guard values.allSatisfy({ $0.value.isNull || types[$0.slot]?.accepts($0.value) == true })
                else { return }
                isPatched = RowEncoder(numbering: catalog.numbering).patch(
                    &row, entity.index, version: RowReader.version(of: row.bytes) &+ 1, values: values,
                    destinations: [])
            }
            assert(exists, "\(id) was found and is gone")
            if !isPatched { rest.append(id) }
            guard broken.count < BatchRules.reportCountMax else { break }
        }
        guard broken.isEmpty else { throw .brokenRules(broken) }
        return rest
    }

    /// Computes the new values of a row into `values`; returns the rules that they break.
    private mutating func compute(_ row: RawSpan, _ id: ObjectID, _ entity: Entity) -> [BrokenRule] {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(copying: row)
        values.removeAll(keepingCapacity: true)
        var broken: [BrokenRule] = []
        let subject = OwnBytes(
            bytes: bytes, reader: RowReader(numbering: catalog.numbering), entity: entity, objectID: id)
        for (slot, assignment) in assignments {
            switch assignment.value(for: subject) {
            case .failure(let error): broken.append(BrokenRule(.assignment(error), property: assignment.name, row: id))
            case .success(let value):
                values.append((slot, value))
                guard let found = rules?.broken(value, at: slot, of: entity), !found.isEmpty else { continue }
                broken += found.map { BrokenRule($0, property: assignment.name, row: id) }
            }
        }
        return broken
    }

    /// Whether rows of this entity can be changed in place, if they have room.
    private mutating func isPossible(_ entity: Entity) -> Bool {
        if let last, last.entity === entity { return last.isPossible }
        let slots = assignments.map { (slot: $0.slot, value: AttributeValue.null) }
        let isPossible =
            assignments.allSatisfy { entity.isKind(of: $0.assignment.entity) }
            && catalog.isPatch(slots, of: entity.index)
        last = (entity, isPossible)
        return isPossible
    }
}
