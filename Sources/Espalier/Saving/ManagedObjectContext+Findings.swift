// The report of a failed save: the errors that stopped it, and those that its later checks would find (F-5).
//
// Invariants
//   1. Only a save that fails anyway comes here, and nothing is written: the other findings are found by reading.
//   2. A conflict that a policy or a declared action would resolve is not reported.
//   3. An error of reading leaves the report as it was.
//   4. The report has at most `toldCountMax` findings of each kind as a whole, and one more that counts the others: the
//      memory of a report is that of its values.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The number of findings of one kind that a save reports in full: a reader needs no more at once.
    static let toldCountMax = 1000
    /// The number of rows that are read together for a report.
    private static let rowBatchCount = 500
    /// The greatest number of objects whose unique values are looked up for a report.
    private static let lookupCountMax = 1000

    /// An error of a save together with the other reasons to refuse it, as far as the context can know them.
    ///
    /// - Complexity: O(changed objects), a look-up for each of at most 1,000 new or changed unique values, and a read
    ///   for each 500 of at most 1,000 rows that have such a value.
    func withOtherFindings(_ error: ContextError) -> ContextError {
        var errors: [ContextError] = []
        switch error {
        case .violations: errors.append(error)
        case .conflicts: break
        default: return error
        }
        let recordedBefore = recorded
        defer { recorded = recordedBefore }
        moveToNewestGeneration()
        let conflicts = conflicts(of: error)
        if !conflicts.isEmpty { errors.append(.conflicts(conflicts)) }
        // The store of the root checks unique values when the root saves.
        let constraints = parent == nil ? unresolvedUniquenessConflicts(lookupCountMax: Self.lookupCountMax) : []
        if !constraints.isEmpty { errors.append(.constraints(constraints)) }
        return errors.count > 1 ? .several(errors) : errors.first ?? error
    }

    /// The conflicts of a save's error, and the others: conflicts with rows that a merge has read are found before the
    /// stores are asked for newer ones.
    private func conflicts(of error: ContextError) -> [MergeConflict] {
        var found: [MergeConflict] = []
        if case .conflicts(let conflicts) = error { found = conflicts }
        let known = Set(found.flatMap(\.reported).map(\.object))
        return report(((try? unresolvedConflicts()) ?? []).filter { !known.contains($0.id) }, after: found)
    }

    /// The conflicts of a report, each object once: the first ones with the values of both sides, and the number of the
    /// others.
    ///
    /// - Parameter told: the report of other objects, which this one continues.
    /// - Complexity: O(conflicts); memory for the values of the first 1,000.
    func report(_ conflicts: [VersionConflict], after told: [MergeConflict] = []) -> [MergeConflict] {
        var (report, others) = (told, told.last?.others ?? [])
        if !others.isEmpty { report.removeLast() }
        var seen = Set<ObjectID>()
        for conflict in conflicts where seen.insert(conflict.id).inserted {
            guard report.count < Self.toldCountMax else {
                others.append(.init(object: conflict.id, newVersion: conflict.stored?.version))
                continue
            }
            let lists = memory.registry[conflict.id]?.listConflicts ?? []
            report.append(
                described(conflict, lists.map { ($0, .init(base: $1.base, mine: $1.mine, stored: $1.stored)) }))
        }
        if let more = MergeConflict(others) { report.append(more) }
        return report
    }

    /// The broken constraints of a report: the first ones with the values of at most 1,000 objects and of the rows, and
    /// the number of the others.
    ///
    /// - Parameter conflicts: conflicts without these values.
    /// - Complexity: O(conflicts), and a read for each 500 of at most 1,000 rows.
    func report(_ conflicts: [UniquenessConflict]) -> [UniquenessConflict] {
        let told = withValues(Array(conflicts.prefix(Self.toldCountMax)), objectCountMax: Self.toldCountMax)
        let others = conflicts.dropFirst(Self.toldCountMax)
        guard let first = others.first else { return told }
        return told + [UniquenessConflict(first.constraint, moreCount: others.count)]
    }

    /// The rows with these IDs, which may be of several stores; a row that does not exist or cannot be read is missing.
    ///
    /// - Complexity: O(IDs), and a read for each 500 of one store; if one of them fails, a read for each of its IDs.
    func readableRows(_ ids: [ObjectID]) -> [ObjectID: ObjectSnapshot] {
        var rows: [ObjectID: ObjectSnapshot] = [:]
        for part in Dictionary(grouping: ids, by: \.storeTag).values {
            for start in stride(from: 0, to: part.count, by: Self.rowBatchCount) {
                let batch = Array(part[start..<min(start + Self.rowBatchCount, part.count)])
                var found = try? storedRows(of: batch)
                // One row that cannot be read must not hide the others.
                if found == nil { found = batch.map { id in (try? storedRows(of: [id]))?.first ?? nil } }
                for case let row? in found ?? [] { rows[row.id] = row }
            }
        }
        return rows
    }

    /// The conflicts with newer rows that the save would report.
    private func unresolvedConflicts() throws(ContextError) -> [VersionConflict] {
        var all = ChangeSet(self)
        // New objects have no rows that others could have changed.
        all.inserted = []
        if all.isEmpty && locked.isEmpty { return [] }
        var conflicts = mergeConflicts(among: all.updated)
        for (part, changes) in try route(all) {
            var gone: [VersionConflict] = []
            let request = try freeze(changes, for: part, gone: &gone)
            conflicts += gone
            let expected =
                request.updates.map { SaveRequest.Expectation(id: $0.id, expectedVersion: $0.expectedVersion) }
                + request.deletions + request.locks
            let deleted = Set(request.deletions.map(\.id))
            for (row, expected) in zip(try storedRows(of: expected.map(\.id)), expected)
            where row?.version != expected.expectedVersion && !(row == nil && deleted.contains(expected.id)) {
                conflicts.append(
                    VersionConflict(id: expected.id, expectedVersion: expected.expectedVersion, stored: row))
            }
        }
        return conflicts.filter { conflict in
            guard let object = memory.registry[conflict.id] else { return false }
            return rule(for: object, MergeAnswers()) == .error
        }
    }
}
