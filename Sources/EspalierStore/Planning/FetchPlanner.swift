// Decides how to answer a fetch: a function of the fetch, the schema, a few counts, and samples of the keys of indexes.
//
// Steps: split the predicate into conditions; find every choice of candidates for one of them; estimate; choose; if the
// rows have an order, choose between sorting them and the indexes that have it (+Order). A fetch whose only condition
// is that an attribute equals a value needs none of these steps (`equalityPlan`).
// Counts are exact. The share of the entries that a range has comes from a sample of the index (`IndexSample`). The
// planner asks for it if choices have to be compared, and for the number of rows in a range that is read in the order
// of the result: not for `equalityPlan`, and not beside one value of a unique index, which no choice beats. Fixed
// shares stand for an index that cannot be read: a point leads to few rows, a closed range to a tenth of them and an
// open one to a third. A wrong estimate costs time, never correctness: conditions that the choice does not answer stay
// in `residual`.

internal import EspalierModel

/// The counts that the planner knows of the store's content.
struct PlannerStatistics: Sendable {
    /// The number of rows of exactly this entity, by entity index.
    var rowCounts: [UInt64]
    /// The number of entries of each index with a condition, by position of the group.
    var entryCounts: [Int: UInt64] = [:]

    /// Whether each count is within a tenth of the one in `others`: a choice that was made by those still holds.
    ///
    /// - Complexity: O(entities and indexes with a condition).
    func resembles(_ others: PlannerStatistics) -> Bool {
        func isNear(_ count: UInt64, _ other: UInt64) -> Bool {
            max(count, other) - min(count, other) <= other / 10
        }
        guard rowCounts.count == others.rowCounts.count, entryCounts.count == others.entryCounts.count else {
            return false
        }
        return zip(rowCounts, others.rowCounts).allSatisfy { isNear($0, $1) }
            && entryCounts.allSatisfy { group, count in others.entryCounts[group].map { isNear(count, $0) } ?? false }
    }
}

struct FetchPlanner {
    let schema: StoreSchema
    let numbering: StoreNumbering
    let statistics: PlannerStatistics
    let samples: any IndexSampling

    /// One possible source of candidates, with its properties.
    struct Choice {
        var source: CandidateSource
        /// Positions of the conditions it answers; few, so a list is searched faster than a set.
        var used: [Int]
        /// The estimated number of rows that it finds.
        var estimate: Double
        /// The estimates of the choices that this one is made of, as `RowEstimate` lists them.
        var parts: [RowEstimate] = []
        /// The estimated cost of finding and reading them; a scan costs 1 for each row.
        var cost: Double
        /// Whether it finds only rows that match and exist.
        var isExact: Bool
        /// The one range of an index that has all these rows by ascending primary key, if there is such a range.
        var rangeInKeyOrder: EntryRange?

        /// The estimate with its parts.
        var rowEstimate: RowEstimate { RowEstimate(count: estimate, parts: parts) }
    }

    /// The plan for `fetch`.
    ///
    /// - Parameter wantsRows: whether the caller wants the values of the rows, not only their IDs or number.
    /// - Complexity: O(conditions x indexes).
    func plan(_ fetch: StoreFetch, wantsRows: Bool) -> FetchPlan {
        if let plan = equalityPlan(fetch) { return plan }
        let conditions = fetch.predicate?.root.conditions ?? []
        let hierarchyCount = hierarchyCount(of: fetch.entity)
        let rowCount = Double(hierarchyCount)
        var plan = FetchPlan(
            entity: fetch.entity,
            isWanted: numbering.isWanted(fetch.entity, includesSubentities: fetch.includesSubentities), access: .rows,
            residual: conditions, predicate: fetch.predicate?.root, isExact: conditions.isEmpty,
            order: fetch.sort.isEmpty ? .primaryKey : .sorted(fetch.sort), keys: fetch.keys,
            offset: fetch.offset, limit: fetch.limit, candidateCountMax: candidateCountMax(of: hierarchyCount),
            estimate: RowEstimate(count: rowCount))
        if conditions.contains(where: { if case .constant(false) = $0 { true } else { false } }) || fetch.limit == 0 {
            (plan.access, plan.estimate) = (.nothing, RowEstimate(count: 0))
            return plan
        }
        let terms = conditions.map { PlanTerm($0) }
        var choices = choices(for: conditions, terms: terms, of: fetch.entity)
        for index in choices.indices where choices[index].isExact && choices[index].used.count == conditions.count {
            choices[index].cost = costOfWholeAnswer(choices[index], fetch, wantsRows: wantsRows)
        }
        let best = choices.min { $0.cost < $1.cost }
        let candidates = best.flatMap { $0.cost < max(rowCount, 1) ? $0 : nil }
        let source = source(candidates, conditions, rowCount: rowCount)
        plan.take(source)
        if let choice = orderChoice(for: fetch, terms, choices, insteadOf: source, wantsRows: wantsRows) {
            plan.orderChoice = choice
            if choice.takesIndex {
                plan.take(choice.byIndex)
                plan.order = .asRead
            }
        } else if fetch.limit != nil, fetch.sort.isEmpty, let candidates, candidates.isExact,
            let range = candidates.rangeInKeyOrder, case .index(let group, _) = candidates.source
        {
            // In the order of the index, reading stops at the limit.
            (plan.access, plan.order) = (.index(group: group, range, isReversed: false), .asRead)
        }
        assert(plan.checkInvariants(schema))
        return plan
    }

    /// The source of rows in any order: candidates, or all rows.
    private func source(
        _ candidates: Choice?, _ conditions: [ResolvedPredicate.Node], rowCount: Double
    ) -> PricedSource {
        assert(rowCount >= 0, "\(rowCount) rows")
        guard let candidates else {
            return PricedSource(
                access: .rows, residual: conditions, isExact: conditions.isEmpty,
                estimate: RowEstimate(count: rowCount), cost: rowCount)
        }
        let answered = candidates.isExact ? candidates.used : []
        let residual = conditions.indices.filter { !answered.contains($0) }.map { conditions[$0] }
        return PricedSource(
            access: .candidates(candidates.source), residual: residual,
            isExact: candidates.isExact && residual.isEmpty, estimate: candidates.rowEstimate, cost: candidates.cost)
    }

    /// The cost of a choice that answers the whole fetch.
    private func costOfWholeAnswer(_ choice: Choice, _ fetch: StoreFetch, wantsRows: Bool) -> Double {
        guard choice.source.isFoundInIndexes, fetch.sort.isEmpty else { return choice.cost }
        // Only entries are read, which are shorter than rows.
        if !wantsRows { return min(choice.cost, choice.estimate / 2 + 3) }
        // Entries that come in the order of the result are read up to the limit.
        guard let limit = fetch.limit, choice.rangeInKeyOrder != nil else { return choice.cost }
        return min(choice.cost, Self.indexCost(Double(limit) + Double(fetch.offset)))
    }

    /// The number of rows in the hierarchy of `entity`; the counters are from the file, so their sum may overflow.
    func hierarchyCount(of entity: Entity) -> UInt64 {
        assert(statistics.rowCounts.count == schema.model.entities.count, "\(statistics.rowCounts.count) entities")
        return schema.model.entities[entity.root].family.reduce(0) { sum, index in
            let (sum, overflow) = sum.addingReportingOverflow(statistics.rowCounts[index])
            return overflow ? .max : sum
        }
    }

    /// The most candidates that are worth reading one by one.
    func candidateCountMax(of rowCount: UInt64) -> Int { max(1000, Int(clamping: rowCount / 3)) }

    /// The cost of finding so many rows by an index.
    static func indexCost(_ estimate: Double) -> Double { estimate * 2 + 3 }
}
