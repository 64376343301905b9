// The choices of a fetch: primary keys, indexes, relationships followed backward, and unions of these.

internal import EspalierModel

extension FetchPlanner {
    /// All choices that answer at least one of the conditions.
    func choices(
        for conditions: [ResolvedPredicate.Node], terms: [PlanTerm?], of entity: Entity
    ) -> [Choice] {
        assert(terms.count == conditions.count, "\(terms.count) terms of \(conditions.count) conditions")
        var choices = indexChoices(terms, conditions, entity)
        for (position, condition) in conditions.enumerated() {
            if let term = terms[position] {
                if let choice = choice(for: term, at: position) { choices.append(choice) }
            } else if case .or(let alternatives) = condition,
                let choice = union(alternatives, at: position, entity)
            {
                choices.append(choice)
            }
            assert(choices.allSatisfy { $0.estimate >= 0 && $0.cost >= 0 }, "a choice has a negative cost")
            assert(choices.allSatisfy { !$0.used.isEmpty }, "a choice answers no condition")
        }
        return choices
    }

    /// Every index that answers some of the terms.
    private func indexChoices(
        _ terms: [PlanTerm?], _ conditions: [ResolvedPredicate.Node], _ entity: Entity
    ) -> [Choice] {
        let usable = schema.groupsByEntity[entity.index].compactMap {
            index -> (index: Int, implied: [Int], found: GroupRanges)? in
            let group = schema.groups[index]
            guard let implied = group.implied(by: conditions) else { return nil }
            return (index, implied, GroupRanges(group, terms: terms, numbering: numbering))
        }
        let isSettled = usable.contains { isUnique($0.found, $0.index) && $0.found.ranges.count == 1 }
        return usable.compactMap { index, implied, found in
            let entryCount = Double(statistics.entryCounts[index] ?? hierarchyCount(of: entity))
            guard !found.used.isEmpty else {
                // All entries of an index that has only rows that pass.
                guard !implied.isEmpty else { return nil }
                return Choice(
                    source: .index(group: index, [.all]), used: implied, estimate: max(1, entryCount),
                    cost: Self.indexCost(entryCount), isExact: true, rangeInKeyOrder: nil)
            }
            let estimate = estimate(found, index, rowCount: entryCount, usesSample: !isSettled)
            let used = found.used + implied.filter { !found.used.contains($0) }
            return Choice(
                source: .index(group: index, found.ranges), used: used, estimate: estimate,
                cost: Self.indexCost(estimate), isExact: found.isExact,
                rangeInKeyOrder: found.fixedCount == schema.groups[index].elements.count ? found.ranges.first : nil)
        }
    }

    /// Whether each of some ranges of an index leads to one row at most, because its values are unique.
    private func isUnique(_ found: GroupRanges, _ position: Int) -> Bool {
        let group = schema.groups[position]
        return found.openness == .points && group.isUnique && found.used.count == group.elements.count
    }

    /// The estimated number of rows to which some ranges of an index lead.
    ///
    /// - Parameter usesSample: whether the index may be read for the estimate.
    func estimate(_ found: GroupRanges, _ position: Int, rowCount: Double, usesSample: Bool = true) -> Double {
        if isUnique(found, position) { return Double(found.ranges.count) }
        if usesSample, let sample = samples.sample(of: position) {
            return max(1, found.ranges.reduce(0) { $0 + sample.estimatedCount(in: $1) })
        }
        func share(_ pointCount: Int) -> Double { pointCount == 0 ? 1 : pointCount == 1 ? Self.pointShare : 1 / 400 }
        let estimate: Double =
            switch found.openness {
            case .points: rowCount * share(found.used.count) * Double(found.ranges.count)
            case .prefix: rowCount * share(found.fixedCount) * Self.prefixShare
            case .bounded: rowCount * share(found.fixedCount) * Self.boundedShare
            case .halfOpen: rowCount * share(found.fixedCount) * Self.halfOpenShare
            }
        assert(estimate >= 0, "an estimate of \(estimate) rows")
        return max(1, estimate)
    }

    /// The choice for a term across relationships or by primary key.
    private func choice(for term: PlanTerm, at position: Int) -> Choice? {
        guard let last = term.steps.last else {
            guard term.terminal == .object, case .oneOf(let values)? = term.passing else { return nil }
            let keys = ids(values)
            return Choice(
                source: .keys(keys), used: [position], estimate: Double(keys.count), cost: Double(keys.count) * 2,
                isExact: false)
        }
        guard var choice = farChoice(for: term, schema.model.entities[last.destination]) else { return nil }
        for step in term.steps.reversed() {
            guard let next = back(step, choice) else { return nil }
            choice = next
        }
        (choice.used, choice.rangeInKeyOrder) = ([position], nil)
        return choice
    }

    /// The choice of the objects at the end of a term's path.
    private func farChoice(for term: PlanTerm, _ far: Entity) -> Choice? {
        assert(term.steps.last.map { $0.destination == far.index } ?? false, "the path does not end at \(far.name)")
        if term.terminal == .object {
            guard case .oneOf(let values)? = term.passing, !values.contains(where: \.isNull) else { return nil }
            let keys = ids(values)
            return Choice(
                source: .keys(keys), used: [], estimate: Double(keys.count), cost: Double(keys.count), isExact: true
            )
        }
        guard let comparison = term.atEnd else { return nil }
        let node = ResolvedPredicate.Node.comparison(comparison)
        let byIndex = indexChoices([PlanTerm(node)], [node], far).min { $0.cost < $1.cost }
        let count = Double(hierarchyCount(of: far))
        let scan = Choice(
            source: .scan(far, node), used: [], estimate: max(1, count / 20), cost: count + 1, isExact: true)
        guard let byIndex, byIndex.cost < scan.cost, byIndex.isExact else { return scan }
        return byIndex
    }

    /// The choice of the objects whose relationship leads to those of `choice`.
    private func back(_ step: ResolvedKeyPath.Step, _ choice: Choice) -> Choice? {
        let (near, far) = (schema.model.entities[step.source], schema.model.entities[step.destination])
        guard let access = InverseAccess(step, schema) else { return nil }
        let fan = Double(hierarchyCount(of: near)) / max(1, Double(hierarchyCount(of: far)))
        // If more rows lead to them, the execution notices it, and reads all rows instead.
        let estimate = min(
            choice.estimate * max(fan, 1), max(choice.estimate, Double(hierarchyCount(of: near)) / 3))
        return Choice(
            source: .back(step, choice.source), used: [], estimate: estimate, parts: [choice.rowEstimate],
            cost: choice.cost + choice.estimate + 2 * estimate, isExact: choice.isExact && access.provesExistence)
    }

    /// The union of the cheapest choices of the alternatives of an OR; `nil` if one of them has none.
    private func union(_ alternatives: [ResolvedPredicate.Node], at position: Int, _ entity: Entity) -> Choice? {
        var whole = Choice(source: .union([]), used: [position], estimate: 0, cost: 0, isExact: true)
        var sources: [CandidateSource] = []
        for alternative in alternatives {
            let conditions: [ResolvedPredicate.Node]
            if case .and(let nodes) = alternative { conditions = nodes } else { conditions = [alternative] }
            let terms = conditions.map { PlanTerm($0) }
            let choices = choices(for: conditions, terms: terms, of: entity)
            guard let best = choices.min(by: { $0.cost < $1.cost }) else { return nil }
            sources.append(best.source)
            whole.parts.append(best.rowEstimate)
            whole.estimate += best.estimate
            whole.cost += best.cost
            whole.isExact = whole.isExact && best.isExact && best.used.count == conditions.count
        }
        whole.source = .union(sources)
        whole.estimate = min(whole.estimate, max(1, Double(hierarchyCount(of: entity))))
        return whole
    }

    /// The IDs among `values` that can be rows of this store.
    private func ids(_ values: [AttributeValue]) -> [ObjectID] {
        values.compactMap { value in
            guard case .objectID(let id) = value, numbering.isOwn(id) else { return nil }
            return id
        }
    }
}
