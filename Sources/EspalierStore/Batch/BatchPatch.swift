// Updates of a command that need nothing but each row itself: the row is read, computed and changed in one visit, and
// the visits go from leaf to leaf.
//
// Invariants
//   1. The assignments read nothing but the row, and write attributes from which no index entry, no list and no derived
//      value follows.
//   2. An expression sees the row as it was before the command: each row is changed once.
//   3. The evaluation of an assignment cannot be stopped, as that of a regular expression can: `OwnBytes` has no error.
//   4. A row is changed in place if its length stays. If an attribute of variable width gets a value, or a number has
//      too few bytes, the row is written anew, and nothing else changes.
//   5. A row of an older layout stays as it is: it is updated as a save updates rows. So is a row that cannot have a
//      value for another reason than a broken rule.

internal import EspalierEngine
internal import EspalierModel

/// Updates rows without a save.
struct BatchPatch {
    /// The findings of a call of `update`.
    private struct Findings {
        /// The rows that stay as they are (invariant 5).
        var rest: [ObjectID] = []
        /// The rows of an entity whose numbers have too few bytes (invariant 4).
        var narrow: [ObjectID] = []
        /// The rules that new values break.
        var broken: [BrokenRule] = []

        /// Whether an error would report no more rules.
        var isFull: Bool { broken.count >= BatchRules.reportCountMax }
    }

    private let assignments: [(slot: Int, assignment: ResolvedAssignment)]
    private let catalog: StoreCatalog
    private let encoder: RowEncoder
    /// `nil` if the command does not validate.
    private var rules: BatchRules?
    /// The entity of the last row, and the assignments for its rows; `nil` if these need more than themselves.
    private var entity: Entity?
    private var compiled: CompiledAssignments?
    /// Whether rows of the entity keep their lengths, if their numbers have the room.
    private var keepsLengths = false
    // Reused for every row, or for every call.
    private var keys: [UInt64] = []
    private var bytes: [UInt8] = []
    private var newBytes: [UInt8] = []
    private var values: [(slot: Int, value: AttributeValue)]

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
        encoder = RowEncoder(numbering: catalog.numbering)
        rules = command.validates ? BatchRules() : nil
        values = found.map { (slot: $0.slot, value: AttributeValue.null) }
    }

    /// Updates rows, all of which exist; returns the IDs of those that were not changed (invariant 5).
    ///
    /// - Parameter ids: by entity and ascending key.
    /// - Throws: `.brokenRules`; the errors of damaged rows.
    /// - Complexity: O(rows, and log rows of the store for each leaf that has some of them); O(log rows) for each row
    ///   that is written anew.
    mutating func update(
        _ ids: [ObjectID], in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [ObjectID] {
        var findings = Findings()
        var start = 0
        while start < ids.count, !findings.isFull {
            let tag = ids[start].entityTag
            let end = ids[start...].firstIndex { $0.entityTag != tag } ?? ids.count
            assert(end > start, "no row has the entity of \(ids[start])")
            try update(ids[start..<end], in: &transaction, &findings)
            start = end
        }
        guard findings.broken.isEmpty else { throw .brokenRules(findings.broken) }
        return findings.rest
    }

    /// Updates rows of one entity.
    private mutating func update(
        _ ids: ArraySlice<ObjectID>, in transaction: inout StoreTransaction<WriteTransaction>,
        _ findings: inout Findings
    ) throws(StoreError) {
        guard let first = ids.first else { return }
        let entity = catalog.model.entities[catalog.schema.entityIndex(of: first)]
        guard compile(for: entity) else {
            findings.rest += ids
            return
        }
        assert(values.count == assignments.count, "\(values.count) values of \(assignments.count) assignments")
        guard keepsLengths else {
            for id in ids where !findings.isFull { try rewrite(id, of: entity, in: &transaction, &findings) }
            return
        }
        keys.removeAll(keepingCapacity: true)
        for id in ids { keys.append(id.key) }
        let tree = catalog.rowTree(of: entity)
        var visitedCount = 0
        try transaction.withMutableValues(of: keys, in: tree) { position, row throws(StoreError) in
            visitedCount += 1
            try change(&row, ids[ids.startIndex + position], of: entity, &findings)
            return !findings.isFull
        }
        assert(visitedCount == ids.count || findings.isFull, "\(visitedCount) of \(ids.count) rows still exist")
        guard findings.broken.isEmpty else { return }
        let narrow = findings.narrow
        findings.narrow.removeAll()
        for id in narrow { try rewrite(id, of: entity, in: &transaction, &findings) }
    }

    /// Changes a row in place, or notes why it stays as it is.
    private mutating func change(
        _ row: inout MutableRawSpan, _ id: ObjectID, of entity: Entity, _ findings: inout Findings
    ) throws(StoreError) {
        guard try compute(row.bytes, id, of: entity, &findings.broken) else {
            findings.rest.append(id)
            return
        }
        let version = try ObjectSnapshot.version(after: RowReader.version(of: row.bytes), of: id)
        let isPatched = encoder.patch(&row, entity.index, version: version, values: values, destinations: [])
        if !isPatched { findings.narrow.append(id) }
    }

    /// Writes a row anew, or notes that it stays as it is.
    private mutating func rewrite(
        _ id: ObjectID, of entity: Entity, in transaction: inout StoreTransaction<WriteTransaction>,
        _ findings: inout Findings
    ) throws(StoreError) {
        let tree = catalog.rowTree(of: entity)
        let isRewritten = try transaction.withValue(of: id.key, in: tree) { row throws(StoreError) -> Bool in
            guard try compute(row, id, of: entity, &findings.broken) else { return false }
            let version = try ObjectSnapshot.version(after: RowReader.version(of: row), of: id)
            encoder.rewrite(row, entity.index, version: version, values: values, into: &newBytes)
            return true
        }
        assert(isRewritten != nil, "\(id) was found and is gone")
        guard isRewritten == true else {
            findings.rest.append(id)
            return
        }
        try transaction.put(newBytes, for: id.key, in: tree)
    }

    /// Checks a row, computes its new values into `values`, and adds the rules that they break to `broken`.
    ///
    /// - Returns: whether the row has the layout of new rows and can have the values, apart from the rules.
    /// - Throws: the error of a damaged row.
    private mutating func compute(
        _ row: RawSpan, _ id: ObjectID, of entity: Entity, _ broken: inout [BrokenRule]
    ) throws(StoreError) -> Bool {
        assert(StepCount.note(rows: 1))
        let offsets = compiled?.offsets(of: row)
        if offsets == nil {
            let number = try catalog.check(row, in: entity, key: id.key)
            guard number == catalog.numbering.entityNumbers[entity.index] else { return false }
        }
        bytes.removeAll(keepingCapacity: true)
        for position in assignments.indices {
            if let offsets, let value = compiled?.value(position, row, offsets) {
                values[position].value = value
                continue
            }
            if bytes.isEmpty { bytes.append(copying: row) }
            guard evaluate(position, id, of: entity, &broken) else { return false }
        }
        return offsets != nil
    }

    /// Evaluates the assignment at `position` for the row in `bytes`.
    ///
    /// - Returns: whether the row can have the value, apart from the rules.
    private mutating func evaluate(
        _ position: Int, _ id: ObjectID, of entity: Entity, _ broken: inout [BrokenRule]
    ) -> Bool {
        assert(!bytes.isEmpty, "the bytes of \(id) are not copied")
        let (slot, assignment) = assignments[position]
        let subject = OwnBytes(
            bytes: bytes, reader: RowReader(numbering: catalog.numbering), entity: entity, objectID: id)
        switch assignment.value(for: subject) {
        case .failure(let error): broken.append(BrokenRule(.assignment(error), property: assignment.name, row: id))
        case .success(let value):
            let type = catalog.schema.plainTypes[entity.index][slot]
            guard value.isNull || type?.accepts(value) == true else { return false }
            values[position].value = value
            let found = rules?.broken(value, at: slot, of: entity) ?? []
            broken += found.map { BrokenRule($0, property: assignment.name, row: id) }
        }
        return true
    }

    /// Compiles the assignments for rows of an entity; returns whether these need nothing but themselves.
    private mutating func compile(for entity: Entity) -> Bool {
        if self.entity === entity { return compiled != nil }
        self.entity = entity
        let slots = assignments.map { (slot: $0.slot, value: AttributeValue.null) }
        let isPossible =
            assignments.allSatisfy { entity.isKind(of: $0.assignment.entity) }
            && catalog.isConfined(slots, of: entity.index)
        compiled = isPossible ? CompiledAssignments(assignments, of: entity, &rules, catalog.numbering) : nil
        keepsLengths = encoder.canPatch(entity.index, slots)
        return compiled != nil
    }
}
