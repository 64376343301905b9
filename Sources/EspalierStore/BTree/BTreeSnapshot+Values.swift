// Reads values of rows from a snapshot of a B-tree store, by one of four methods: totals (the number of rows, the least
// and the greatest value of an index), groups that the entries of an index count, the values in the entries of an index
// that has all of them, and the rows that a plan finds.
//
// Invariants
//   1. Every method gives the same answer as reading all rows that match.

public import EspalierModel
internal import EspalierEngine

extension BTreeSnapshot {
    /// The values of the rows that match.
    ///
    /// - Complexity: O(log n) for the least and the greatest value of an indexed attribute, O(entities) for the number
    ///   of all rows, O(matching index entries) for a number of rows or groups that an index has, and if one index has
    ///   all values that are read; otherwise that of `fetch`, without copies of the rows.
    public func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        try check(fetch.rows)
        return try withSession(for: fetch, isCancelled: fetch.rows.isCancelled) { session, fetch throws(StoreError) in
            let planner = try session.planner(store)
            if let totals = try totals(fetch, session, planner) { return totals }
            if let groups = try countedGroups(fetch, session) { return groups }
            let reader = ColumnReader(fetch.values, session)
            let plan = planner.plan(fetch.rows, wantsRows: !reader.needsNoRow)
            if let entries = planner.entryPlan(fetch, insteadOf: plan) {
                var execution = EntryExecution(entries, fetch, session)
                if let values = try execution.run() { return values }
            }
            let execution = FetchExecution(plan, .values, session, reader, excluding: fetch.excluded)
            return try execution.run().collector(isInOrder: fetch.isOrdered)
        }
    }

    /// The steps to answer a question for values, as `explain` gives them for rows.
    public func explain(_ fetch: StoreValueFetch) throws(StoreError) -> [String] {
        try check(fetch.rows)
        return try withSession(for: fetch) { session, fetch throws(StoreError) in
            if let seeks = seeks(fetch) { return seeks.map(text) }
            if let group = countingGroup(fetch) { return [countingText(group)] }
            let (plan, entries) = try plans(fetch, session)
            return entries?.explanation(catalog.schema, limit: fetch.rows.limit) ?? plan.explanation(catalog.schema)
        }
    }

    /// The steps of the plan of a question for values after it was executed.
    ///
    /// - Complexity: that of the question without its limit, times the number of steps.
    public func analyze(_ fetch: StoreValueFetch) throws(StoreError) -> PlanStep {
        let begun = ContinuousClock.now
        let count = try rowCount(of: fetch)
        let duration = begun.duration(to: .now)
        let steps = try withSession(for: fetch) { session, fetch throws(StoreError) -> [PlanStep] in
            try measured(fetch, session)
        }
        return PlanStep(fetch.resultText, foundCount: count, duration: duration, sources: steps)
    }

    /// The steps below a question for values, each executed by itself.
    private func measured(_ fetch: StoreValueFetch, _ session: ReadSession) throws(StoreError) -> [PlanStep] {
        let (plan, entries) = try plans(fetch, session)
        let analysis = PlanAnalysis(plan: plan, session: session, snapshot: self)
        if let seeks = seeks(fetch) {
            assert(seeks.count == fetch.values.aggregations.count, "\(seeks.count) seeks")
            var steps: [PlanStep] = []
            for (seek, aggregation) in zip(seeks, fetch.values.aggregations) {
                steps.append(try step(of: seek, aggregation.input, fetch, analysis))
            }
            return steps
        }
        if let group = countingGroup(fetch) {
            let expected = Double(try session.planner(store).hierarchyCount(of: fetch.rows.entity))
            return [try analysis.entries(of: group, [.all], expected: expected, countingText(group))]
        }
        guard let entries else { return [try analysis.source()] }
        let lines = entries.explanation(catalog.schema, limit: nil)
        var whole = try analysis.entries(of: entries.group, entries.ranges, expected: entries.estimate, lines[0])
        for line in lines.dropFirst() { whole = PlanStep(line, sources: [whole]) }
        return [whole]
    }

    /// The plan that reads rows, and the one that reads entries instead, if that costs less.
    private func plans(
        _ fetch: StoreValueFetch, _ session: ReadSession
    ) throws(StoreError) -> (rows: FetchPlan, entries: EntryPlan?) {
        let planner = try session.planner(store)
        let plan = planner.plan(fetch.rows, wantsRows: !ColumnReader(fetch.values, session).needsNoRow)
        return (plan, planner.entryPlan(fetch, insteadOf: plan))
    }

    private func countingText(_ group: Int) -> String {
        "\(CandidateSource.name(of: group, catalog.schema)), count the entries of each value"
    }

    // MARK: Totals

    /// How an aggregate of all rows that match is found without reading them.
    private enum Seek {
        /// The number of rows.
        case count
        /// The first or last value in a range of an index.
        case end(group: Int, EntryRange, isReversed: Bool)
    }

    private func text(_ seek: Seek) -> String {
        switch seek {
        case .count: "count rows"
        case .end(let group, _, let isReversed):
            "\(CandidateSource.name(of: group, catalog.schema)), the \(isReversed ? "last" : "first") value"
        }
    }

    /// The step of a seek after it was executed: with the number of rows, or whether there is a value.
    private func step(
        of seek: Seek, _ input: Int?, _ fetch: StoreValueFetch, _ analysis: PlanAnalysis
    ) throws(StoreError) -> PlanStep {
        let session = analysis.session
        switch seek {
        case .count:
            let planner = try session.planner(store)
            let plan = planner.plan(fetch.rows, wantsRows: false)
            let (count, duration) = try analysis.measure { () throws(StoreError) in
                try self.count(fetch, session, planner)
            }
            let rows = PlanAnalysis(plan: plan, session: session, snapshot: self)
            let sources = try plan.isCountedWithoutRows ? [] : [rows.source()]
            return PlanStep(
                text(seek), expectedCount: plan.estimate.wholeCount, foundCount: count, duration: duration,
                sources: sources)
        case .end(let group, let range, let isReversed):
            guard let input, case .path(let path) = fetch.values.inputs[input],
                case .attribute(let slot, _, _) = path.terminal
            else { return PlanStep(text(seek)) }
            let (count, duration) = try analysis.measure { () throws(StoreError) in
                try firstValue(at: slot, in: group, range, isReversed: isReversed, fetch, session).isNull ? 0 : 1
            }
            return PlanStep(text(seek), expectedCount: 1, foundCount: count, duration: duration)
        }
    }

    /// The seeks for all aggregates of a question; `nil` if one of them needs the rows.
    private func seeks(_ fetch: StoreValueFetch) -> [Seek]? {
        let values = fetch.values
        guard values.isGrouped, values.keptCount == 0, fetch.rows.keys == StoreFetch.allKeys else { return nil }
        var seeks: [Seek] = []
        for aggregation in values.aggregations {
            switch (aggregation.aggregate, aggregation.input) {
            case (.count, nil): seeks.append(.count)
            case (.min, let input?), (.max, let input?):
                guard
                    let seek = end(of: values.inputs[input], isGreatest: aggregation.aggregate == .max, fetch)
                else { return nil }
                seeks.append(seek)
            default: return nil
            }
        }
        return seeks
    }

    /// The seek for the least or greatest value of an attribute.
    private func end(
        of expression: ResolvedExpression, isGreatest: Bool, _ fetch: StoreValueFetch
    ) -> Seek? {
        guard case .path(let path) = expression, path.base == .evaluatedObject, path.steps.isEmpty,
            case .attribute(let slot, let type, elements: []) = path.terminal, type != .composite
        else { return nil }
        let conditions = fetch.rows.predicate?.root.conditions ?? []
        let terms = conditions.map { PlanTerm($0) }
        let schema = catalog.schema
        for group in schema.groupsByEntity[fetch.rows.entity.index] where schema.groups[group].isPlain {
            let found = GroupRanges(schema.groups[group], terms: terms, numbering: catalog.numbering)
            let fixed = found.fixedCount
            guard
                conditions.isEmpty || found.isExact && found.ranges.count == 1 && found.used.count == conditions.count,
                found.used.count == fixed, fixed < schema.groups[group].elements.count,
                case let element = schema.groups[group].elements[fixed], element.property == .attribute(slot)
            else { continue }
            let prefix = found.ranges.first?.lower ?? []
            let mark = element.isAscending ? KeyCoding.valueMark : ~KeyCoding.valueMark
            guard prefix.count < GroupKey.valueByteCountMax else { continue }
            return .end(
                group: group, .beginning(with: prefix + [mark]), isReversed: isGreatest == element.isAscending)
        }
        return nil
    }

    private func totals(
        _ fetch: StoreValueFetch, _ session: ReadSession, _ planner: FetchPlanner
    ) throws(StoreError) -> ValueCollector? {
        guard let seeks = seeks(fetch) else { return nil }
        assert(seeks.count == fetch.values.aggregations.count, "\(seeks.count) seeks")
        defer { session.forgetRows() }
        var results: [AttributeValue] = []
        for (seek, aggregation) in zip(seeks, fetch.values.aggregations) {
            switch seek {
            case .count: results.append(.integer(Int64(try count(fetch, session, planner))))
            case .end(let group, let range, let isReversed):
                guard let input = aggregation.input, case .path(let path) = fetch.values.inputs[input],
                    case .attribute(let slot, _, _) = path.terminal
                else { return nil }
                results.append(try firstValue(at: slot, in: group, range, isReversed: isReversed, fetch, session))
            }
        }
        var collector = ValueCollector(fetch.values)
        collector.setAggregates(results)
        return collector
    }

    private func count(
        _ fetch: StoreValueFetch, _ session: ReadSession, _ planner: FetchPlanner
    ) throws(StoreError) -> Int {
        let plan = planner.plan(fetch.rows, wantsRows: false)
        guard plan.isCountedWithoutRows else {
            return try FetchExecution(plan, .count, session, excluding: fetch.excluded).run().count
        }
        let wanted = fetch.rows.includesSubentities ? fetch.rows.entity.family : [fetch.rows.entity.index]
        var total = 0
        for entity in wanted { total.add(clamping: try store.rowCount(of: entity, session.transaction)) }
        for id in fetch.excluded where catalog.numbering.isOwn(id) {
            guard let row = try session.row(id), wanted.contains(row.entity.index) else { continue }
            total -= 1
        }
        return max(0, total)
    }

    /// The value of the first or last row whose entry is in a range; null if there is none.
    private func firstValue(
        at slot: Int, in group: Int, _ range: EntryRange, isReversed: Bool, _ fetch: StoreValueFetch,
        _ session: ReadSession
    ) throws(StoreError) -> AttributeValue {
        let entity = fetch.rows.entity
        let isWanted = catalog.numbering.isWanted(entity, includesSubentities: fetch.rows.includesSubentities)
        var rows = try session.transaction.lookup(in: catalog.rowTree(of: entity))
        var (value, steps) = (AttributeValue.null, fetch.rows.steps)
        let walk = IndexWalk(session: session, group: group, range: range, entity: entity)
        try walk.forEach(isReversed: isReversed, skipping: { _ in false }) { candidate throws(StoreError) in
            try steps.count()
            guard isWanted[Int(candidate.entityNumber)],
                let id = catalog.numbering.id(entityNumber: candidate.entityNumber, key: candidate.key),
                !fetch.excluded.contains(id)
            else { return true }
            var isFound = false
            let isThere = try rows.withValue(of: candidate.key) { row throws(StoreError) in
                let number = try catalog.check(row, in: entity, key: candidate.key)
                guard isWanted[Int(number)] else { return }
                value = session.reader.value(at: slot, row)
                isFound = true
            }
            guard isThere else { throw catalog.missingRow(of: candidate) }
            return !isFound
        }
        return value
    }

    // MARK: Groups that an index counts

    /// The index whose entries have all properties of the groups and no others in front; `nil` if there is none, or if
    /// more is asked than the number of rows in each group.
    private func countingGroup(_ fetch: StoreValueFetch) -> Int? {
        let values = fetch.values
        guard values.isGrouped, values.keptCount > 0, fetch.rows.predicate == nil, fetch.rows.limit == nil,
            fetch.rows.keys == StoreFetch.allKeys, values.aggregations.allSatisfy({ $0.input == nil })
        else { return nil }
        let wanted = values.inputs.prefix(values.keptCount).map(\.indexedProperty)
        let schema = catalog.schema
        return schema.groupsByEntity[fetch.rows.entity.index].first { group in
            let elements = schema.groups[group].elements
            guard schema.groups[group].isPlain, elements.count == wanted.count else { return false }
            return elements.allSatisfy { wanted.contains($0.property) && $0.type != .composite }
        }
    }

    private func countedGroups(
        _ fetch: StoreValueFetch, _ session: ReadSession
    ) throws(StoreError) -> ValueCollector? {
        guard let group = countingGroup(fetch), try session.hasEntryForEachRow(group) else { return nil }
        defer { session.forgetRows() }
        let isWanted = catalog.numbering.isWanted(
            fetch.rows.entity, includesSubentities: fetch.rows.includesSubentities)
        var counter = EntryCounter(fetch.values, session, group)
        var isCut = false
        let tree = catalog.groupTrees[group]
        var entries = try session.transaction.lookup(in: tree)
        let excluded = fetch.excluded
        var steps = fetch.rows.steps
        try entries.forEach(from: [], skipping: { _, _, _ in false }) { key, value throws(StoreError) in
            assert(StepCount.note())
            try steps.count()
            if GroupEntryValue(value)?.isCut == true {
                isCut = true
                return false
            }
            let candidate = try catalog.candidate(key, value, tree)
            guard isWanted[Int(candidate.entityNumber)] else { return true }
            if !excluded.isEmpty,
                let id = catalog.numbering.id(entityNumber: candidate.entityNumber, key: candidate.key),
                excluded.contains(id)
            {
                return true
            }
            try counter.count(key, candidate)
            return true
        }
        // The values of cut entries are in the rows.
        return isCut ? nil : try counter.finish()
    }
}

/// Counts the entries of an index with equal values; a group has the values of the first of its rows.
private struct EntryCounter {
    private var collector: ValueCollector
    private var decoder: EntryDecoder
    /// For each kept input, the position of its property in the index.
    private let places: [Int]
    private let session: ReadSession
    private var codes: [UInt8] = []
    /// The row of the first entry with these codes.
    private var first: Candidate?
    private var number = 0

    init(_ values: ResolvedValues, _ session: ReadSession, _ position: Int) {
        let group = session.catalog.schema.groups[position]
        (collector, decoder) = (ValueCollector(values), EntryDecoder(group, session.catalog.numbering))
        self.session = session
        places = values.inputs.prefix(values.keptCount).map { input in
            input.indexedProperty.flatMap { group.place(of: $0) } ?? 0
        }
        assert(
            Set(places).count == group.elements.count,
            "index \(group.name) of \(group.elements.count) properties counts groups by places \(places)")
    }

    mutating func count(_ key: RawSpan, _ candidate: Candidate) throws(StoreError) {
        if number > 0, key.byteCount == codes.count + 8, codes.withRawSpan({ key.begins(with: $0) }) {
            return number += 1
        }
        try endGroup()
        codes = key.copy(0..<key.byteCount - 8)
        (first, number) = (candidate, 1)
    }

    mutating func finish() throws(StoreError) -> ValueCollector {
        try endGroup()
        return collector
    }

    private mutating func endGroup() throws(StoreError) {
        guard number > 0 else { return }
        let codes = codes
        try codes.withRawSpan { codes throws(StoreError) in try decoder.decode(codes) }
        let group = collector.group(try values())
        if !collector.values.aggregations.isEmpty { collector.addObjects(number, to: group) }
        number = 0
    }

    /// The values of the group: those of its first row, if other values have the same codes.
    private func values() throws(StoreError) -> [AttributeValue] {
        if !places.allSatisfy({ decoder.isFaithful[$0] }), let first,
            let id = session.catalog.numbering.id(entityNumber: first.entityNumber, key: first.key),
            let row = try session.row(id)
        {
            var values: [AttributeValue] = []
            for input in collector.values.inputs.prefix(places.count) { values.append(try input.value(on: row)) }
            return values
        }
        return places.map { decoder.values[$0] }
    }
}
