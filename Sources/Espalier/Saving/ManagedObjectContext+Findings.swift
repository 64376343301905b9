// The report of a failed save: the errors that stopped it, and those that its later checks would find (F-5).
//
// Invariants
//   1. Only a save that fails anyway comes here, and nothing is written: the other findings are found by reading.
//   2. A conflict that a policy or a declared action would resolve is not reported.
//   3. An error of reading leaves the report as it was.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The greatest number of objects whose unique values are looked up for a report.
    private static let lookupCountMax = 1000

    /// An error of a save together with the other reasons to refuse it, as far as the context can know them.
    ///
    /// - Complexity: O(changed objects), and a look-up for each of at most 1,000 new or changed unique values.
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
        let known = Set(found.map(\.object))
        let others = ((try? unresolvedConflicts()) ?? []).filter { !known.contains($0.id) }
        if !others.isEmpty, case .conflicts(let conflicts) = conflictError(others) { found += conflicts }
        return found
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
