// Aggregates of a collection: COUNT, SUM, AVG, MIN, MAX and related functions (Behaviour PR-11, FR-19).
//
// Invariants
//   1. Nulls are ignored, also by COUNT.
//   2. Over no values COUNT and SUM are 0, all other aggregates are null (FR-19).
//   3. A sum of whole numbers is whole unless it overflows; an average of whole numbers is not truncated.

import FoundationEssentials

extension ResolvedExpression.Aggregate {
    /// The aggregate of `values`.
    ///
    /// - Complexity: O(n); median and mode O(n log n).
    func callAsFunction(_ values: [AttributeValue]) -> AttributeValue {
        let values = values.filter { !$0.isNull }
        switch self {
        case .count: return .integer(Int64(values.count))
        case .sum: return Self.sum(of: values)
        case .average: return ResolvedFunction.divide([Self.unrounded(Self.sum(of: values)), count(of: values)])
        case .min: return values.min { $0.compare($1) == .orderedAscending } ?? .null
        case .max: return values.max { $0.compare($1) == .orderedAscending } ?? .null
        case .median: return Self.median(of: values)
        case .mode: return Self.mode(of: values)
        case .stddev: return Self.standardDeviation(of: values)
        }
    }

    private func count(of values: [AttributeValue]) -> AttributeValue { .integer(Int64(values.count)) }

    private static func sum(of values: [AttributeValue]) -> AttributeValue {
        values.reduce(.integer(0)) { ResolvedFunction.add([$0, $1]) }
    }

    private static func unrounded(_ value: AttributeValue) -> AttributeValue {
        if case .integer(let whole) = value { .double(Double(whole)) } else { value }
    }

    private static func median(of values: [AttributeValue]) -> AttributeValue {
        let sorted = values.sorted { $0.compare($1) == .orderedAscending }
        guard !sorted.isEmpty else { return .null }
        let middle = sorted.count / 2
        if !sorted.count.isMultiple(of: 2) { return sorted[middle] }
        return ResolvedFunction.divide([
            unrounded(ResolvedFunction.add([sorted[middle - 1], sorted[middle]])), .integer(2),
        ])
    }

    /// The most frequent value; the smallest of several.
    private static func mode(of values: [AttributeValue]) -> AttributeValue {
        var best: (value: AttributeValue, count: Int) = (.null, 0)
        var run: (value: AttributeValue, count: Int) = (.null, 0)
        for value in values.sorted(by: { $0.compare($1) == .orderedAscending }) {
            run = run.count > 0 && run.value.compare(value) == .orderedSame ? (value, run.count + 1) : (value, 1)
            if run.count > best.count { best = run }
        }
        return best.value
    }

    /// The standard deviation of the whole population.
    private static func standardDeviation(of values: [AttributeValue]) -> AttributeValue {
        let numbers = values.compactMap(\.approximation)
        guard !numbers.isEmpty else { return .null }
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        let squares = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        let deviation = (squares / Double(numbers.count)).squareRoot()
        return deviation.isNaN ? .null : .double(deviation)
    }
}
