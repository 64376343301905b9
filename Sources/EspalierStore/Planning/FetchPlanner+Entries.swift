// Decides whether one index answers a question for values alone, and whether this costs less than reading rows.
//
// An entry costs less than a row: the next one is beside it, while the row of an entry has to be found. But a scan of
// rows has the order of a request without order, and entries would have to be sorted for it.

internal import EspalierModel

extension FetchPlanner {
    /// The number of entries whose reading costs as much as finding and reading one row.
    private static let entriesPerRow = 4.0

    /// The plan that reads the entries of one index, if it is expected to cost less than `plan`, which reads rows;
    /// `nil` if no index has all that is asked.
    ///
    /// - Complexity: O(conditions x indexes).
    func entryPlan(_ fetch: StoreValueFetch, insteadOf plan: FetchPlan) -> EntryPlan? {
        guard let read = ReadProperties(fetch.values), !read.all.isEmpty, fetch.rows.keys == StoreFetch.allKeys,
            fetch.rows.offset == 0
        else { return nil }
        if case .nothing = plan.access { return nil }
        let conditions = fetch.rows.predicate?.root.conditions ?? []
        let terms = conditions.map { PlanTerm($0) }
        var best: EntryPlan?
        for group in schema.groupsByEntity[fetch.rows.entity.index] {
            guard let found = entryPlan(fetch, by: group, conditions, terms, read, isScan: plan.isOfAllRows),
                isWorthwhile(found, fetch, insteadOf: plan)
            else { continue }
            if let best, best.estimate < found.estimate || best.estimate == found.estimate && !found.isInOrder {
                continue
            }
            best = found
        }
        return best
    }

    private func entryPlan(
        _ fetch: StoreValueFetch, by position: Int, _ conditions: [ResolvedPredicate.Node], _ terms: [PlanTerm?],
        _ columns: ReadProperties, isScan: Bool
    ) -> EntryPlan? {
        assert(terms.count == conditions.count, "\(terms.count) terms of \(conditions.count) conditions")
        let group = schema.groups[position]
        guard let implied = group.implied(by: conditions), columns.all.allSatisfy({ group.place(of: $0) != nil })
        else { return nil }
        let found = GroupRanges(group, terms: terms, numbering: numbering)
        let answered = Set((found.isExact ? found.used : []) + implied)
        assert(answered.isSubset(of: conditions.indices), "conditions \(answered) of \(conditions.count)")
        var read = columns
        var tests: [ResolvedPredicate.Node] = []
        for (number, condition) in conditions.enumerated() where !answered.contains(number) {
            guard read.add(condition) else { return nil }
            tests.append(condition)
        }
        let faithfulPlaces = read.faithful.compactMap { group.place(of: $0) }
        // No code of a decimal tells how many zeros end its digits.
        guard faithfulPlaces.count == read.faithful.count,
            !faithfulPlaces.contains(where: { group.elements[$0].hasNoFaithfulCode })
        else { return nil }
        let order = direction(of: fetch, in: group, found)
        if fetch.rows.limit != nil, order == nil { return nil }
        let entryCount = Double(statistics.entryCounts[position] ?? hierarchyCount(of: fetch.rows.entity))
        return EntryPlan(
            group: position, ranges: found.used.isEmpty ? [.all] : found.ranges, isReversed: order ?? false,
            isInOrder: order != nil && !fetch.values.isGrouped && (fetch.rows.limit == nil || fetch.isOrdered),
            tests: tests, faithfulPlaces: faithfulPlaces.sorted(),
            estimate: found.used.isEmpty ? entryCount : estimate(found, position, rowCount: entryCount),
            replacesScan: isScan)
    }

    /// Whether the entries of an index, read backwards (`true`) or forwards, are in the wanted order; `nil` if neither.
    private func direction(of fetch: StoreValueFetch, in group: KeyGroup, _ found: GroupRanges) -> Bool? {
        guard found.ranges.count == 1 || found.used.isEmpty,
            let order = fetch.rows.limit == nil ? fetch.values.objectOrder : fetch.rows.sort
        else { return nil }
        // The entries of one value are in the order of keys.
        if order.isEmpty { return found.fixedCount == group.elements.count ? false : nil }
        return direction(of: order, in: group, after: found.fixedCount)
    }

    /// Whether reading entries is expected to cost less than the plan that reads rows.
    private func isWorthwhile(_ entries: EntryPlan, _ fetch: StoreValueFetch, insteadOf plan: FetchPlan) -> Bool {
        guard plan.isOfAllRows else { return entries.estimate <= Self.entriesPerRow * rowCount(of: plan) }
        // Rows that are read in the order of their keys need no sorting, if no other order is wanted.
        let sortsNeedlessly = !fetch.values.isGrouped && !entries.isInOrder && fetch.values.objectOrder?.isEmpty == true
        return !sortsNeedlessly || entries.estimate <= plan.estimate.count / Self.entriesPerRow
    }
}

extension FetchPlanner {
    /// The number of rows that a plan is expected to read: for a range of an index by its sample, as that of entries.
    fileprivate func rowCount(of plan: FetchPlan) -> Double {
        switch plan.access {
        case .oneValue(let group, let prefix):
            samples.sample(of: group)?.estimatedCount(in: .beginning(with: prefix)) ?? plan.estimate.count
        case .index(let group, let range, _):
            samples.sample(of: group)?.estimatedCount(in: range) ?? plan.estimate.count
        case .nothing, .rows, .candidates: plan.estimate.count
        }
    }
}

extension FetchPlan {
    /// Whether all rows of the hierarchy are read.
    fileprivate var isOfAllRows: Bool {
        if case .rows = access { true } else { false }
    }
}

extension KeyGroup.Element {
    /// Whether no code, except that of null, belongs to only one value.
    fileprivate var hasNoFaithfulCode: Bool { type == .decimal }
}
