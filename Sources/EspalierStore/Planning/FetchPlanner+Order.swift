// Decides whether the rows of a fetch come in their order from an index, or are sorted: by the least cost.
//
// The costs, where reading a row of a scan costs 1:
//   Along an index: 2 for each row that is found by its entry, and 1/2 for an entry whose row is not read. With a limit
//   only as many are read as are expected to be needed: (offset + limit) / share, where the share is that of the
//   entries whose rows pass the conditions that the index does not answer.
//   By sorting: the cost of the cheapest other source of rows, candidates or a scan; and for each row that passes 1, or
//   1/2 with a limit, because then few rows are kept.
// The share of the rows that pass a condition is known from samples, if an index answers it, and otherwise fixed by the
// form of the condition. Conditions are taken to be independent of one another, unless one index answers several.
// A share may be wrong by any factor. So a walk along an index watches how many rows pass, and ends as soon as the rest
// of it is expected to cost more than sorting (`OrderChoice.isOutrun`).

internal import EspalierModel

extension FetchPlanner {
    /// The estimated share of the rows that pass a condition that no index answers, by its form: one value, the
    /// beginning of a text, a range with two ends, one with one end, and any other condition.
    static let pointShare = 1.0 / 50
    static let prefixShare = 1.0 / 40
    static let boundedShare = 1.0 / 10
    static let halfOpenShare = 1.0 / 3
    private static let otherShare = 1.0 / 2

    /// The choice between the indexes that have the order of a fetch and sorting; `nil` if no index has it.
    ///
    /// - Parameter source: The cheapest source of rows in another order.
    /// - Complexity: O(conditions x (indexes + choices)).
    func orderChoice(
        for fetch: StoreFetch, _ terms: [PlanTerm?], _ choices: [Choice], insteadOf source: PricedSource,
        wantsRows: Bool
    ) -> OrderChoice? {
        guard !fetch.sort.isEmpty else { return nil }
        let conditions = fetch.predicate?.root.conditions ?? []
        assert(terms.count == conditions.count, "\(terms.count) terms of \(conditions.count) conditions")
        var best: PricedSource?
        for group in schema.groupsByEntity[fetch.entity.index] {
            guard let found = orderedSource(group, fetch, conditions, terms, choices, wantsRows: wantsRows)
            else { continue }
            if best.map({ found.cost < $0.cost }) ?? true { best = found }
        }
        guard let byIndex = best else { return nil }
        var bySorting = source
        let passing = wantedCount(of: fetch) * passShare(of: Array(conditions.indices), fetch, terms, choices)
        bySorting.cost += passing * (fetch.limit == nil ? 1 : 0.5)
        return OrderChoice(byIndex: byIndex, bySorting: bySorting, sort: fetch.sort)
    }

    /// The range of one index that has the rows in the wanted order; `nil` if there is none.
    private func orderedSource(
        _ position: Int, _ fetch: StoreFetch, _ conditions: [ResolvedPredicate.Node], _ terms: [PlanTerm?],
        _ choices: [Choice], wantsRows: Bool
    ) -> PricedSource? {
        let group = schema.groups[position]
        guard let implied = group.implied(by: conditions) else { return nil }
        let found = GroupRanges(group, terms: terms, numbering: numbering)
        let isRanged = found.ranges.count == 1 && !found.used.isEmpty
        guard isRanged || found.used.isEmpty,
            let isReversed = direction(of: fetch.sort, in: group, after: isRanged ? found.fixedCount : 0)
        else { return nil }
        let exact = isRanged && found.isExact ? found.used : []
        let answered = exact + implied.filter { !exact.contains($0) }
        let answersAll = answered.count == conditions.count
        // Without a limit each entry's row would be found one by one, only to be refused by some conditions.
        guard fetch.limit != nil || answersAll else { return nil }
        let groupCount = familyCount(of: schema.model.entities[group.entity])
        let entryCount = statistics.entryCounts[position].map { Double($0) } ?? groupCount
        let estimate = isRanged ? estimate(found, position, rowCount: entryCount) : entryCount
        // Few rows of a range that answers its condition only roughly, as for BEGINSWITH, fail the condition.
        let narrowed = Set((isRanged ? found.used : []) + implied)
        assert(narrowed.isSubset(of: conditions.indices), "an index answers a condition that is not there")
        let others = conditions.indices.filter { !narrowed.contains($0) }
        let wantedShare = min(1, wantedCount(of: fetch) / max(1, groupCount))
        let share = max(passShare(of: others, fetch, terms, choices) * wantedShare, 1 / max(1, estimate))
        // Entries that an offset skips are passed without their rows, if each is known to have a row in the result.
        let skipped = min(estimate, Double(fetch.offset) / share)
        let left = estimate - skipped
        let taken = fetch.limit.map { min(left, Double($0) / share) } ?? left
        let cost = skipped * (answersAll ? 0.5 : 2) + taken * (answersAll && !wantsRows ? 0.5 : 2) + 3
        assert(cost.isFinite && cost > 0, "reading along \(group.name) costs \(cost)")
        return PricedSource(
            access: .index(group: position, isRanged ? found.ranges[0] : .all, isReversed: isReversed),
            residual: conditions.indices.filter { !answered.contains($0) }.map { conditions[$0] },
            isExact: answersAll, estimate: RowEstimate(count: estimate), cost: cost, passShare: share)
    }

    /// The number of rows of the entities that a fetch wants.
    private func wantedCount(of fetch: StoreFetch) -> Double {
        fetch.includesSubentities
            ? familyCount(of: fetch.entity) : Double(statistics.rowCounts[fetch.entity.index])
    }

    private func familyCount(of entity: Entity) -> Double {
        assert(statistics.rowCounts.count == schema.model.entities.count, "\(statistics.rowCounts.count) entities")
        return entity.family.reduce(0) { $0 + Double(statistics.rowCounts[$1]) }
    }

    /// The share of the rows that are expected to pass some of the conditions.
    private func passShare(
        of positions: [Int], _ fetch: StoreFetch, _ terms: [PlanTerm?], _ choices: [Choice]
    ) -> Double {
        let rowCount = max(1, Double(hierarchyCount(of: fetch.entity)))
        var share = 1.0
        var rest = Set(positions)
        // Choices that answer several conditions first: they know how these depend on one another.
        let known = choices.sorted { left, right in
            left.used.count != right.used.count
                ? left.used.count > right.used.count : left.estimate < right.estimate
        }
        for choice in known where rest.isSuperset(of: choice.used) {
            share *= min(1, choice.estimate / rowCount)
            rest.subtract(choice.used)
        }
        for position in rest { share *= Self.passShare(terms[position]) }
        assert(share >= 0 && share <= 1, "a share of \(share)")
        return share
    }

    private static func passShare(_ term: PlanTerm?) -> Double {
        switch term?.passing {
        case .oneOf(let values)?:
            return min(1, Double(values.count) * (term?.isOfBoolean == true ? 0.5 : pointShare))
        case .beginsWith?: return prefixShare
        case .between(let lower, let upper)?: return lower != nil && upper != nil ? boundedShare : halfOpenShare
        case nil: return otherShare
        }
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

extension PlanTerm {
    /// Whether the condition compares the values of a boolean attribute.
    fileprivate var isOfBoolean: Bool {
        if case .attribute(_, .boolean, _)? = terminal { true } else { false }
    }
}
