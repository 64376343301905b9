// The plan of a fetch in a session: that of the same fetch before, if it still holds, else a new one.
//
// Invariants
//   1. `fetch`, `explain` and `analyze` use one plan: each asks here.
//   2. A plan that was chosen at an older commit than the one at its place does not replace it: snapshots of two
//      commits would choose by turns.
// Not here: fetches in batches and questions for values, which are planned each time.

internal import EspalierModel

extension ReadSession {
    /// The plan for `fetch`.
    ///
    /// - Parameter wantsRows: whether the caller wants the values of the rows, not only their IDs or number.
    /// - Complexity: O(1) if the fetch is repeated and nothing was committed since; O(entities + samples) if something
    ///   was, and the plan still holds; otherwise that of `FetchPlanner.plan`.
    func plan(_ fetch: StoreFetch, wantsRows: Bool, _ store: BTreeStore) throws(StoreError) -> FetchPlan {
        // In a migration most of the rows may come after the first fetch, and no commit tells.
        guard KnownPlan.canKeep(fetch), case .ownTransactions = store.transactionUse else {
            return try planner(store).plan(fetch, wantsRows: wantsRows)
        }
        let place = KnownPlans.place(of: fetch, wantsRows: wantsRows)
        let commit = transaction.number
        var newestCommit: UInt64 = 0
        if let known = store.knownPlans.plan(at: place), known.isOf(fetch, wantsRows: wantsRows) {
            if known.commit == commit { return known.plan }
            newestCommit = known.commit
            if try holds(known, store) {
                if commit > known.commit { store.knownPlans.keep(known.holding(at: commit), at: place) }
                return known.plan
            }
        }
        let chooser = try planner(store)
        let (chosen, used) = samples(store).noting { chooser.plan(fetch, wantsRows: wantsRows) }
        if commit > newestCommit {
            store.knownPlans.keep(
                KnownPlan(chosen, of: fetch, wantsRows: wantsRows, by: chooser.statistics, used, at: commit), at: place)
        }
        return chosen
    }

    /// Whether a plan of another commit holds for the one that the session reads.
    private func holds(_ known: KnownPlan, _ store: BTreeStore) throws(StoreError) -> Bool {
        guard try planner(store).statistics.resembles(known.statistics) else { return false }
        let samples = samples(store)
        return known.samples.allSatisfy { samples.has($0) }
    }
}
