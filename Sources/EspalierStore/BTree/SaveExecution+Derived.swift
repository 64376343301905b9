// Writes derived values to a B-tree store in the transaction of a save. When a store is rebuilt, computes all of them
// anew, and after a migration those that may have changed.

internal import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

extension SaveExecution {
    mutating func setDerivedValues(
        _ changes: [(row: ObjectSnapshot, value: AttributeValue)], at slot: Int
    ) throws(StoreError) {
        assert(!changes.isEmpty, "no derived value at slot \(slot) changes")
        try rewriteApart(
            changes.map { row, value in
                (row, .init(id: row.id, expectedVersion: row.version, values: [(slot, value)]))
            }, versionChange: 0)
    }

    /// The rows, as they are after the derived values of some of them have changed.
    func newest(_ rows: SnapshotList, _ changed: RowSet) throws(StoreError) -> SnapshotList {
        let ids = changed.isEmpty ? [] : rows.ids.filter(changed.contains)
        guard !ids.isEmpty else { return rows }
        var found: [ObjectID: ObjectSnapshot] = [:]
        for case let row? in try transaction.snapshots(of: ids, catalog) { found[row.id] = row }
        return SnapshotList(rows.lazy.map { found[$0.id] ?? $0 })
    }

    /// Throws `.constraint` if unique values are taken.
    func throwConflicts() throws(StoreError) {
        guard conflicts.isEmpty else { throw .constraint(conflicts) }
    }

    /// Computes derived values anew, except times of saves, and writes those that differ; returns the number of rows
    /// that have changed, counted once for each attribute.
    ///
    /// The memory is that of 1,024 rows.
    ///
    /// - Parameters:
    ///   - members: the attributes, in the order of the plan, with all that are derived from one of them.
    ///   - checkingUnique: whether the rows that change may not share values that must be unique then; if not, the
    ///     caller checks them.
    ///   - units: one is noted for each row that is read.
    /// - Throws: `.constraint` if rows then share values that must be unique.
    /// - Complexity: O(rows) for each derived attribute, and O(destinations) for each aggregate.
    mutating func recomputeDerivedValues(
        of members: [DerivationPlan.Member], checkingUnique: Bool, _ units: inout MigrationUnits
    ) throws(StoreError) -> Int {
        let chunkCount = 1024
        var count = 0
        for member in members {
            if case .now = member.derivation.source { continue }
            let root = catalog.model.entities[member.entity.root]
            let isMember = catalog.numbering.isWanted(member.entity, includesSubentities: true)
            var next: UInt64? = 1
            while let start = next {
                next = nil
                var ids: [ObjectID] = []
                var cursor = try transaction.cursor(over: catalog.rowTree(of: root))
                var isOnRow = try cursor.seek(start)
                while isOnRow {
                    try units.advance()
                    let key = try cursor.key
                    guard ids.count < chunkCount else {
                        next = key
                        break
                    }
                    try cursor.withValue { row throws(StoreError) in
                        let number = try catalog.check(row, in: root, key: key)
                        guard isMember[Int(number)], let id = catalog.numbering.id(entityNumber: number, key: key)
                        else { return }
                        ids.append(id)
                    }
                    isOnRow = try cursor.next()
                }
                var values = DerivedValues(catalog.schema, at: Date())
                try values.recompute(member, of: try rows(ids).compactMap(\.self), in: &self)
                count += values.changed.count
                // Nothing follows from these changes: all attributes that derive from this one are computed.
                derivedChanges = DerivedChanges()
            }
        }
        if checkingUnique {
            try checkDeferredConstraints()
            try throwConflicts()
        }
        try writeCounters()
        return count
    }
}

extension StoreCatalog {
    /// Computes derived values of a store anew, in the caller's transaction, which an error leaves half done.
    ///
    /// - Parameters:
    ///   - members: the attributes, in the order of the plan, with all that are derived from one of them; `nil` = all
    ///     attributes.
    ///   - checkingUnique: whether the rows that change may not share values that must be unique then; if not, the
    ///     caller checks them.
    ///   - units: one is noted for each row that is read.
    /// - Throws: `.constraint` if rows then share values that must be unique.
    func recomputeDerivedValues(
        of members: [DerivationPlan.Member]? = nil, checkingUnique: Bool = true,
        in transaction: inout StoreTransaction<WriteTransaction>, _ units: inout MigrationUnits
    ) throws(StoreError) -> Int {
        let members = members ?? schema.derivations.members
        guard !members.isEmpty else { return 0 }
        var execution = SaveExecution(
            transaction, self, deferring: DeferredConstraints(schema.constraints, outlastsSave: true))
        let result: Result<Int, StoreError>
        do throws(StoreError) {
            result = .success(
                try execution.recomputeDerivedValues(of: members, checkingUnique: checkingUnique, &units))
        } catch {
            result = .failure(error)
        }
        transaction = execution.handBack()
        return try result.get()
    }
}
