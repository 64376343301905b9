// Aggregates of a collection: COUNT, SUM, AVG, MIN, MAX and related functions (Behaviour PR-11, FR-19).
//
// Invariants
//   1. Nulls are ignored, also by COUNT.
//   2. Over no values COUNT and SUM are 0, all other aggregates are null (FR-19).
//   3. A sum of whole numbers is whole unless it overflows; an average of whole numbers is not truncated. A sum is
//      exact and rounded once (`ExactSum`); with a NaN, or with both infinities, it is null.
//   4. The least and the greatest value are those of the order of all values, in which NaN follows every number.

import FoundationEssentials

extension ResolvedExpression.Aggregate {
    /// The aggregate of `values`.
    ///
    /// - Complexity: O(n); median, mode and standard deviation O(n log n).
    func callAsFunction(_ values: [AttributeValue]) -> AttributeValue {
        var accumulator = Accumulator(self)
        for value in values { accumulator.add(value) }
        return accumulator.result
    }

    /// The average of `count` numbers with this sum.
    func average(of sum: AttributeValue, _ count: Int) -> AttributeValue {
        ResolvedFunction.divide([Self.unrounded(sum), .integer(Int64(count))])
    }

    /// Median, mode or standard deviation of values in ascending order, none of which is null.
    func measure(ofSorted values: [AttributeValue]) -> AttributeValue {
        switch self {
        case .median: Self.median(of: values)
        case .mode: Self.mode(of: values)
        case .stddev: Self.standardDeviation(of: values)
        case .count, .sum, .average, .min, .max: .null
        }
    }

    private static func unrounded(_ value: AttributeValue) -> AttributeValue {
        if case .integer(let whole) = value { .double(Double(whole)) } else { value }
    }

    private static func median(of sorted: [AttributeValue]) -> AttributeValue {
        guard !sorted.isEmpty else { return .null }
        let middle = sorted.count / 2
        if !sorted.count.isMultiple(of: 2) { return sorted[middle] }
        return ResolvedFunction.divide([
            unrounded(ResolvedFunction.add([sorted[middle - 1], sorted[middle]])), .integer(2),
        ])
    }

    /// The most frequent value; the smallest of several.
    private static func mode(of sorted: [AttributeValue]) -> AttributeValue {
        var best: (value: AttributeValue, count: Int) = (.null, 0)
        var run: (value: AttributeValue, count: Int) = (.null, 0)
        for value in sorted {
            run = run.count > 0 && run.value.compare(value) == .orderedSame ? (value, run.count + 1) : (value, 1)
            if run.count > best.count { best = run }
        }
        return best.value
    }

    /// The standard deviation of the whole population.
    private static func standardDeviation(of sorted: [AttributeValue]) -> AttributeValue {
        let numbers = sorted.compactMap(\.approximation)
        guard !numbers.isEmpty else { return .null }
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        let squares = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        let deviation = (squares / Double(numbers.count)).squareRoot()
        return deviation.isNaN ? .null : .double(deviation)
    }
}
