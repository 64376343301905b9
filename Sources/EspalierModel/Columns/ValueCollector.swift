// Collects what a request for values reads of objects, in any order and from several sources: stores and unsaved
// changes.
//
// Invariants
//   1. The finished rows do not depend on the order in which objects are added, nor on how they are divided among
//      merged collectors: groups and aggregates have no order, and rows of objects are sorted in the end.
//   2. `keys[n]` identifies group n, whose accumulators follow those of group n - 1.
// Not here: the rows that are made of it (+Rows).

/// The values of objects, or of groups of objects, that a store or context has read for a request.
public struct ValueCollector: Sendable {
    /// The values of one object.
    struct Entry: Sendable {
        let id: ObjectID
        var values: [AttributeValue]
    }

    /// The values of a group's kept inputs, equal for equal groups.
    private struct GroupingKey: Hashable {
        let values: [AttributeValue]

        init(_ values: [AttributeValue]) { self.values = values.map(\.canonical) }
    }

    /// The values that are read.
    public let values: ResolvedValues
    private(set) var entries: [Entry] = []
    package private(set) var keys: [[AttributeValue]] = []
    private var accumulators: [Accumulator] = []
    private var positions: [GroupingKey: Int] = [:]
    /// Whether all objects were added in the order of the request, or by ascending key if it has none.
    ///
    /// A store that adds them so sets it afterwards; adding another object ends it.
    public var isInOrder = false

    /// A collector without objects.
    public init(_ values: ResolvedValues) { self.values = values }

    /// The number of objects or groups.
    public var count: Int { values.isGrouped ? keys.count : entries.count }

    /// Adds an object, whose entity is that of the request or inherits from it.
    ///
    /// - Throws: The error of reading the object.
    /// - Complexity: O(columns).
    public mutating func add<Subject: PredicateSubject>(_ subject: Subject) throws(Subject.Failure) {
        var inputs: [AttributeValue] = []
        inputs.reserveCapacity(values.inputs.count)
        for input in values.inputs { inputs.append(try input.value(on: subject)) }
        add(subject.objectID, inputs)
    }

    /// Adds an object with these values of the inputs.
    package mutating func add(_ id: ObjectID, _ inputs: [AttributeValue]) {
        assert(inputs.count == values.inputs.count, "\(inputs.count) values for \(values.inputs.count) inputs")
        isInOrder = false
        var group = 0
        if values.isGrouped {
            group = self.group(Array(inputs.prefix(values.keptCount)))
        } else {
            entries.append(Entry(id: id, values: Array(inputs.prefix(values.keptCount))))
        }
        addToAggregates(of: group) { inputs[$0] }
    }

    /// The group with these values of the kept inputs, a new one if there is none.
    package mutating func group(_ key: [AttributeValue]) -> Int {
        if positions.count != keys.count {
            for (position, key) in keys.enumerated() { positions[GroupingKey(key)] = position }
        }
        let groupingKey = GroupingKey(key)
        if let position = positions[groupingKey] { return position }
        positions[groupingKey] = keys.count
        return addGroup(key)
    }

    /// Adds a group of which the caller knows that there is none with these values.
    package mutating func addGroup(_ key: [AttributeValue]) -> Int {
        keys.append(key)
        addAccumulators(upTo: keys.count)
        return keys.count - 1
    }

    private mutating func addAccumulators(upTo groupCount: Int) {
        while accumulators.count < groupCount * values.aggregations.count {
            for aggregation in values.aggregations { accumulators.append(Accumulator(aggregation.aggregate)) }
        }
    }

    /// Adds the values of an object's inputs to the aggregates of its group.
    @inline(__always)
    package mutating func addToAggregates(of group: Int, _ input: (Int) -> AttributeValue) {
        guard !values.aggregations.isEmpty else { return }
        if accumulators.isEmpty { addAccumulators(upTo: 1) }
        var position = group * values.aggregations.count
        for aggregation in values.aggregations {
            if let number = aggregation.input {
                accumulators[position].add(input(number))
            } else {
                accumulators[position].addObjects()
            }
            position += 1
        }
    }

    /// Adds objects to a group, if all aggregates only count objects.
    package mutating func addObjects(_ count: Int, to group: Int) {
        addAccumulators(upTo: max(1, group + 1))
        for position in values.aggregations.indices {
            assert(values.aggregations[position].input == nil, "an aggregate needs more than the number of objects")
            accumulators[group * values.aggregations.count + position].addObjects(count)
        }
    }

    /// Replaces the only group's aggregates that have a value, of which the source knows the result.
    package mutating func setAggregates(_ results: [AttributeValue]) {
        assert(values.keptCount == 0 && values.isGrouped, "there is not one group")
        let group = self.group([])
        for (position, result) in results.enumerated() {
            if values.aggregations[position].aggregate == .count, case .integer(let count) = result {
                accumulators[group * results.count + position].addObjects(Int(clamping: count))
            } else {
                accumulators[group * results.count + position].add(result)
            }
        }
    }

    /// Adds everything that was added to `other`, a collector for the same request.
    public mutating func merge(_ other: ValueCollector) {
        isInOrder = isInOrder && other.count == 0 || count == 0 && other.isInOrder
        let width = values.aggregations.count
        if values.isGrouped {
            for (position, key) in other.keys.enumerated() {
                let group = self.group(key)
                for aggregation in 0..<width {
                    accumulators[group * width + aggregation].merge(other.accumulators[position * width + aggregation])
                }
            }
            return
        }
        entries += other.entries
        guard !other.accumulators.isEmpty else { return }
        addAccumulators(upTo: 1)
        for position in 0..<width { accumulators[position].merge(other.accumulators[position]) }
    }

    /// The aggregates of a group.
    func aggregates(of group: Int) -> [AttributeValue] {
        let width = values.aggregations.count
        guard !accumulators.isEmpty else { return values.aggregations.map { Accumulator($0.aggregate).result } }
        return accumulators[group * width..<(group + 1) * width].map(\.result)
    }
}
