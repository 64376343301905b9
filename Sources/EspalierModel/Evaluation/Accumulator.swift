// An aggregate that gets its values one after another, and can be joined with the same aggregate of other rows.
//
// Invariants
//   1. The result does not depend on the order of the values, nor on how they are divided among joined accumulators.

internal import FoundationEssentials

/// One aggregate over the values that it was given (Behaviour FR-19); it ignores nulls.
package struct Accumulator: Sendable {
    private let aggregate: ResolvedExpression.Aggregate
    private var count = 0
    private var sum = ExactSum()
    private var extreme = AttributeValue.null
    /// All values, for the aggregates that need them.
    private var values: [AttributeValue] = []

    /// An aggregate without values.
    package init(_ aggregate: ResolvedExpression.Aggregate) { self.aggregate = aggregate }

    /// Adds a value.
    ///
    /// - Complexity: O(1); median, mode and standard deviation keep the value.
    @inline(__always)
    package mutating func add(_ value: AttributeValue) {
        if value.isNull { return }
        count &+= 1
        switch aggregate {
        case .count: break
        case .sum, .average: sum.add(value)
        case .min: if extreme.isNull || value.compare(extreme) == .orderedAscending { extreme = value }
        case .max: if extreme.isNull || value.compare(extreme) == .orderedDescending { extreme = value }
        case .median, .mode, .stddev: values.append(value)
        }
    }

    /// Counts objects; for `count` only.
    @inline(__always)
    package mutating func addObjects(_ number: Int = 1) { count &+= number }

    /// Adds everything that was added to `other`.
    package mutating func merge(_ other: Accumulator) {
        let former = count
        if !other.extreme.isNull { add(other.extreme) }
        count = former &+ other.count
        sum.merge(other.sum)
        values += other.values
    }

    /// The aggregate of the values so far.
    ///
    /// - Complexity: O(1); median, mode and standard deviation O(n log n).
    package var result: AttributeValue {
        switch aggregate {
        case .count: .integer(Int64(count))
        case .sum: sum.value
        case .average: aggregate.average(of: sum.value, count)
        case .min, .max: extreme
        case .median, .mode, .stddev: aggregate.measure(ofSorted: values.sorted { $0.compare($1) == .orderedAscending })
        }
    }
}
