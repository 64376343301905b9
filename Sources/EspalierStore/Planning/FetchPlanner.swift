// Decides how to answer a fetch: a function of the fetch, the schema, a few counts, and samples of the keys of indexes.
//
// Steps: split the predicate into conditions; find every choice of candidates for one of them; estimate; choose; see
// whether an index has the rows in the wanted order. A fetch whose only condition is that an attribute equals a value
// needs none of these steps (`equalityPlan`).
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
        if let ordered = orderedAccess(
            for: fetch, conditions, terms: terms, insteadOf: candidates, rowCount: rowCount, wantsRows: wantsRows)
        {
            plan.access = ordered.access
            plan.residual = conditions.indices.filter { !ordered.answered.contains($0) }.map { conditions[$0] }
            plan.isExact = plan.residual.isEmpty
            plan.order = .asRead
            plan.estimate = RowEstimate(count: ordered.estimate)
        } else if let candidates {
            plan.access = .candidates(candidates.source)
            plan.estimate = candidates.rowEstimate
            if fetch.limit != nil, fetch.sort.isEmpty, candidates.isExact, let range = candidates.rangeInKeyOrder,
                case .index(let group, _) = candidates.source
            {
                // In the order of the index, reading stops at the limit.
                (plan.access, plan.order) = (.index(group: group, range, isReversed: false), .asRead)
            }
            let answered = candidates.isExact ? candidates.used : []
            plan.residual = conditions.indices.filter { !answered.contains($0) }.map { conditions[$0] }
            plan.isExact = candidates.isExact && plan.residual.isEmpty
        }
        assert(plan.checkInvariants(schema))
        return plan
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

    /// The estimated share of all rows that have one value of an index.
    static let pointShare = 1.0 / 50

    /// The cost of finding so many rows by an index.
    static func indexCost(_ estimate: Double) -> Double { estimate * 2 + 3 }

    // MARK: Order from an index

    private struct OrderedAccess {
        let access: FetchPlan.Access
        let answered: [Int]
        let estimate: Double
    }

    /// An index that has the rows in the wanted order, if reading along it costs less.
    private func orderedAccess(
        for fetch: StoreFetch, _ conditions: [ResolvedPredicate.Node], terms: [PlanTerm?],
        insteadOf candidates: Choice?, rowCount: Double, wantsRows: Bool
    ) -> OrderedAccess? {
        guard !fetch.sort.isEmpty else { return nil }
        for group in schema.groupsByEntity[fetch.entity.index] {
            guard let implied = schema.groups[group].implied(by: conditions) else { continue }
            let found = GroupRanges(schema.groups[group], terms: terms, numbering: numbering)
            let isRanged = found.ranges.count == 1 && !found.used.isEmpty
            // The condition of an index narrows the rows as a range does.
            let isNarrow = isRanged || !implied.isEmpty
            guard isRanged || found.used.isEmpty,
                let isReversed = direction(
                    of: fetch.sort, in: schema.groups[group], after: isRanged ? found.fixedCount : 0)
            else { continue }
            let exact = isRanged && found.isExact ? found.used : []
            let answered = exact + implied.filter { !exact.contains($0) }
            let answersAll = answered.count == conditions.count
            // Reading along the index reads each row by its key: worth it if it stops early, if no row is read at all,
            // or if the range has only rows of the result.
            guard fetch.limit != nil || (!wantsRows && answersAll) || (isNarrow && answersAll) else { continue }
            // Few rows of a range that answers its condition only roughly, as for BEGINSWITH, fail the condition.
            let usesAll = isNarrow && Set((isRanged ? found.used : []) + implied).count == conditions.count
            if !usesAll, let candidates, candidates.estimate < rowCount / 20 { continue }
            assert(
                answered.allSatisfy { conditions.indices.contains($0) },
                "an index answers a condition that is not there")
            return OrderedAccess(
                access: .index(group: group, isRanged ? found.ranges[0] : .all, isReversed: isReversed),
                answered: answered,
                estimate: isRanged ? estimate(found, group, rowCount: rowCount) : rowCount)
        }
        return nil
    }

    /// Whether the sort keys are the properties of `group` from position `start` to its end, all in the index's
    /// direction (`false`) or all against it (`true`).
    func direction(of sort: [ResolvedSortKey], in group: KeyGroup, after start: Int) -> Bool? {
        assert(start <= group.elements.count, "\(start) of \(group.elements.count) properties are fixed")
        let elements = group.elements[start...]
        guard elements.count == sort.count else { return nil }
        var isReversed: Bool?
        for (key, element) in zip(sort, elements) {
            guard Self.sorts(key, as: element) else { return nil }
            let isAgainst = key.isAscending != element.isAscending
            guard isReversed ?? isAgainst == isAgainst else { return nil }
            isReversed = isAgainst
        }
        return isReversed
    }

    /// Whether a sort key compares the values of an element of an index, as the index compares them.
    private static func sorts(_ key: ResolvedSortKey, as element: KeyGroup.Element) -> Bool {
        guard key.options.subtracting(.localeSensitive) == element.folding, element.type != .composite else {
            return false
        }
        if let expression = element.expression { return key.expression == expression.expression }
        guard let path = key.path, path.base == .evaluatedObject, path.steps.isEmpty,
            case .attribute(let slot, _, element.path) = path.terminal
        else { return false }
        return element.property == .attribute(slot)
    }
}
