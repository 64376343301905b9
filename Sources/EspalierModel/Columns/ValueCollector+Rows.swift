// The rows of a request for values, made of what was collected: condition on groups, columns, distinct rows, order,
// limits.
//
// Invariants
//   1. Rows that are equal in all sort keys are in the order of their objects' creation; groups and distinct rows in
//      that of their values.

internal import FoundationEssentials

extension ValueCollector {
    /// A row before the order is known.
    private struct Draft {
        let id: ObjectID?
        /// The values of the slots.
        let slots: [AttributeValue]
        let columns: [AttributeValue]
        /// The values by which it is sorted.
        let sortValues: [AttributeValue]
    }

    /// The rows of the request.
    ///
    /// - Throws: `FetchPredicateError` if a regular expression in the condition on groups, or in a column or sort key
    ///   of groups, takes too many steps.
    /// - Complexity: O(n log n) for n objects or groups; O(n) if they are in order.
    public func rows() throws(FetchPredicateError) -> ResultRows {
        var drafts: [Draft] = []
        if values.isGrouped {
            drafts.reserveCapacity(keys.count)
            // A sum of two arrays is a new one, even if one is empty.
            let hasAggregates = !values.aggregations.isEmpty
            for (group, key) in keys.enumerated() {
                try add(nil, hasAggregates ? key + aggregates(of: group) : key, to: &drafts)
            }
            // Without groups, aggregates have a row even if there are no objects.
            if keys.isEmpty, values.keptCount == 0 { try add(nil, aggregates(of: 0), to: &drafts) }
        } else {
            drafts.reserveCapacity(entries.count)
            let totals = values.aggregations.isEmpty ? [] : aggregates(of: 0)
            for entry in entries {
                try add(entry.id, totals.isEmpty ? entry.values : entry.values + totals, to: &drafts)
            }
        }
        if values.isDistinct {
            var seen = Set<[AttributeValue]>()
            drafts = drafts.filter { seen.insert($0.columns.map(\.canonical)).inserted }
        }
        if !isSorted { drafts.sort(by: precedes) }
        let shown = drafts.dropFirst(values.offset).prefix(values.limit ?? .max)
        return ResultRows(values.columnNames, shown.map(\.columns))
    }

    /// Whether the objects are in the order of the rows.
    private var isSorted: Bool { isInOrder && !values.isDistinct }

    private func add(
        _ id: ObjectID?, _ slots: [AttributeValue], to drafts: inout [Draft]
    ) throws(FetchPredicateError) {
        let subject = SlotSubject(entity: values.entity, values: slots)
        if let having = values.having, try !having.evaluate(on: subject) { return }
        var (columns, sortValues): ([AttributeValue], [AttributeValue]) = (slots, [])
        if !values.columnsAreSlots {
            columns = []
            columns.reserveCapacity(values.columns.count)
            for column in values.columns { columns.append(try column.output.value(subject)) }
        }
        if !isSorted { for criterion in values.order { sortValues.append(try criterion.output.value(subject)) } }
        drafts.append(Draft(id: values.isDistinct ? nil : id, slots: slots, columns: columns, sortValues: sortValues))
    }

    private func precedes(_ left: Draft, _ right: Draft) -> Bool {
        for (position, criterion) in values.order.enumerated() {
            let order = left.sortValues[position].compare(right.sortValues[position], options: criterion.options)
            if order != .orderedSame { return (order == .orderedAscending) == criterion.isAscending }
        }
        if let left = left.id, let right = right.id { return ObjectID.inOrderOfCreation(left, right) }
        let (first, second) = values.isDistinct ? (left.columns, right.columns) : (left.slots, right.slots)
        for (left, right) in zip(first, second) {
            if case (.objectID(let left), .objectID(let right)) = (left, right) {
                if left != right { return ObjectID.inOrderOfCreation(left, right) }
                continue
            }
            let order = left.compare(right)
            if order != .orderedSame { return order == .orderedAscending }
        }
        return false
    }
}
