// Aggregates of plain values, for the oracle of requests for values.
//
// Invariants
//   1. Nulls are ignored, and the result does not depend on the order of the values.

import EspalierModel
import Foundation

enum PlainAggregate {
    /// The result of an aggregate that a column names.
    static func result(_ function: String, _ all: [AttributeValue]) -> AttributeValue {
        let values = all.filter { !$0.isNull }
        switch function {
        case "count": return .integer(Int64(values.count))
        case "min": return values.min { $0.compare($1) == .orderedAscending } ?? .null
        case "max": return values.max { $0.compare($1) == .orderedAscending } ?? .null
        case "sum": return sum(values)
        case "median": return median(values)
        case "mode": return mode(values)
        case "stddev": return deviation(values)
        default:
            let sum = sum(values)
            guard !values.isEmpty, !sum.isNull else { return .null }
            switch sum {
            case .integer(let number): return .double(Double(number) / Double(values.count))
            case .double(let number): return .double(number / Double(values.count))
            case .decimal(let number): return .decimal(number / Decimal(values.count))
            default: return .null
            }
        }
    }

    /// The sum, of sorted numbers, so that it does not depend on their order; the numbers of a walk are few.
    private static func sum(_ values: [AttributeValue]) -> AttributeValue {
        var (whole, real, money): (Int128, [Double], Decimal?) = (0, [], nil)
        for value in values {
            switch value {
            case .integer(let number): whole += Int128(number)
            case .double(let number): real.append(number)
            case .decimal(let number): money = (money ?? 0) + number
            default: return .null
            }
        }
        if real.contains(where: \.isNaN) { return .null }
        if let money { return .decimal(money) }
        guard !real.isEmpty else { return Int64(exactly: whole).map { .integer($0) } ?? .double(Double(whole)) }
        // Each number is a whole multiple of 2^-60: the sum is exact in 128 bits, and rounded once.
        let exact = real.reduce(Int128(0)) { $0 + Int128($1 * 0x1p60) }
        return .double(Double(exact) * 0x1p-60)
    }

    /// The middle value, or the average of both in the middle.
    private static func median(_ values: [AttributeValue]) -> AttributeValue {
        let sorted = values.sorted { $0.compare($1) == .orderedAscending }
        guard !sorted.isEmpty else { return .null }
        let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
        if !sorted.count.isMultiple(of: 2) { return high }
        switch (low, high) {
        case (.integer(let low), .integer(let high)):
            let sum = Int128(low) + Int128(high)
            // A sum that is no whole number of 64 bits is one of doubles.
            return .double((Int64(exactly: sum).map { Double($0) } ?? Double(low) + Double(high)) / 2)
        case (.double(let low), .double(let high)): return (low + high).isNaN ? .null : .double((low + high) / 2)
        case (.decimal(let low), .decimal(let high)): return .decimal((low + high) / 2)
        default: return .null
        }
    }

    /// The value that most others equal; of several, the least one.
    private static func mode(_ values: [AttributeValue]) -> AttributeValue {
        func frequency(_ value: AttributeValue) -> Int { values.count { $0.compare(value) == .orderedSame } }
        let most = values.map(frequency).max() ?? 0
        return result("min", values.filter { frequency($0) == most })
    }

    /// The standard deviation of all: it is added up in ascending order, as rounding depends on it.
    private static func deviation(_ values: [AttributeValue]) -> AttributeValue {
        var numbers: [Double] = []
        for value in values {
            switch value {
            case .integer(let number): numbers.append(Double(number))
            case .double(let number): numbers.append(number)
            default: return .null
            }
        }
        // Any NaN makes the result none, wherever it is in the order.
        guard !numbers.isEmpty, !numbers.contains(where: \.isNaN) else { return .null }
        numbers.sort()
        var (sum, squares) = (0.0, 0.0)
        for number in numbers { sum += number }
        let mean = sum / Double(numbers.count)
        for number in numbers { squares += (number - mean) * (number - mean) }
        return .double((squares / Double(numbers.count)).squareRoot())
    }
}

extension [AttributeValue] {
    /// Whether both have equal values, of whatever types of numbers.
    func isEqual(to other: [AttributeValue]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.compare($1) == .orderedSame }
    }
}
