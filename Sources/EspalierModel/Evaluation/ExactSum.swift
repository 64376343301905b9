// The exact sum of numbers, rounded once: it is the same in whatever order the numbers come, so that a fetch gives the
// same sum before and after a save, from a tree and from memory.
//
// Invariants
//   1. Whole numbers are added in 128 bits, which no count of rows can exceed.
//   2. The exact sum of the doubles is that of `partials` and of `large` x 2^120; the numbers of each do not overlap,
//      and ascend in magnitude (Shewchuk, "Adaptive precision floating-point arithmetic", 1997).
//   3. Decimals are added as whole numbers, apart for each exponent, without trailing zeros.

internal import FoundationEssentials

/// A sum of numbers of any type.
struct ExactSum: Sendable {
    /// The kinds of values that have been added besides finite numbers, and the types of these.
    private struct Kinds: OptionSet {
        let rawValue: UInt8
        static let double = Kinds(rawValue: 1)
        static let decimal = Kinds(rawValue: 2)
        static let notANumber = Kinds(rawValue: 4)
        static let plusInfinity = Kinds(rawValue: 8)
        static let minusInfinity = Kinds(rawValue: 16)
    }

    private var kinds: Kinds = []
    private var whole: Int128 = 0
    private var partials: [Double] = []
    /// Sums of numbers that are so large that their sum might exceed the greatest double.
    private var large: [Double] = []
    private var decimals: [Int: SignedSum] = [:]

    /// Adds a value; anything but a number makes the sum null.
    ///
    /// - Complexity: O(1) for whole numbers; O(partials), two or three for most data, for doubles.
    @inline(__always)
    mutating func add(_ value: AttributeValue) {
        switch value {
        case .integer(let number): whole &+= Int128(number)
        case .double(let number): add(number)
        case .float(let number): add(Double(number))
        case .decimal(let number): add(number)
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite:
            kinds.insert(.notANumber)
        }
    }

    /// Adds everything that was added to `other`.
    mutating func merge(_ other: ExactSum) {
        kinds.formUnion(other.kinds)
        whole &+= other.whole
        for number in other.partials { Self.add(number, to: &partials) }
        for number in other.large { Self.add(number, to: &large) }
        for (exponent, sum) in other.decimals { decimals[exponent, default: SignedSum()].merge(sum) }
    }

    /// The sum: whole if all numbers are and it fits, decimal if one of them is; null if it is no number.
    var value: AttributeValue {
        if kinds.contains(.notANumber) || kinds.isSuperset(of: [.plusInfinity, .minusInfinity]) { return .null }
        if kinds.contains(.plusInfinity) { return .double(.infinity) }
        if kinds.contains(.minusInfinity) { return .double(-.infinity) }
        if kinds.contains(.decimal) { return decimalValue }
        if kinds.contains(.double) { return .double(total) }
        return Int64(exactly: whole).map(AttributeValue.integer) ?? .double(Double(whole))
    }

    // MARK: Doubles

    private mutating func add(_ number: Double) {
        kinds.insert(.double)
        guard number.isFinite else {
            return kinds.formUnion(number.isNaN ? .notANumber : number > 0 ? .plusInfinity : .minusInfinity)
        }
        if number.magnitude < 0x1p960 {
            Self.add(number, to: &partials)
        } else {
            Self.add(number * 0x1p-120, to: &large)
        }
    }

    /// Adds a number to others without rounding: each step keeps the error of a sum as a number of its own.
    private static func add(_ number: Double, to partials: inout [Double]) {
        var (sum, count) = (number, 0)
        for position in partials.indices {
            var partial = partials[position]
            if sum.magnitude < partial.magnitude { swap(&sum, &partial) }
            let high = sum + partial
            let low = partial - (high - sum)
            if low != 0 {
                partials[count] = low
                count += 1
            }
            sum = high
        }
        partials.removeLast(partials.count - count)
        partials.append(sum)
    }

    /// The sum of all numbers except decimals, rounded once.
    private var total: Double {
        var all = partials
        var rest = whole
        while rest != 0 {
            let part = Double(rest)
            Self.add(part, to: &all)
            rest -= Int128(part)
        }
        guard !large.isEmpty else { return Self.rounded(all) }
        var scaled = large
        for number in all { Self.add(number * 0x1p-120, to: &scaled) }
        return Self.rounded(scaled) * 0x1p120
    }

    /// The sum of numbers that do not overlap, to the nearest double, and to the even one of two.
    private static func rounded(_ partials: [Double]) -> Double {
        var rest = partials
        guard var sum = rest.popLast() else { return 0 }
        var low = 0.0
        while low == 0, let next = rest.popLast() {
            let high = sum + next
            low = next - (high - sum)
            sum = high
        }
        // The sum lies between two doubles: the smaller numbers decide.
        if low != 0, let next = rest.last, next != 0, (low < 0) == (next < 0) {
            let high = sum + 2 * low
            if high - sum == 2 * low { sum = high }
        }
        return sum
    }

    // MARK: Decimals

    private mutating func add(_ number: Decimal) {
        kinds.insert(.decimal)
        guard let parts = number.parts else { return kinds.formUnion(.notANumber) }
        var (significand, exponent) = (parts.significand, parts.exponent)
        guard significand != 0 else { return }
        // A greater exponent than 127 has no decimal.
        while significand % 10 == 0, exponent < 127 { (significand, exponent) = (significand / 10, exponent + 1) }
        decimals[exponent, default: SignedSum()].add(significand, isNegative: parts.isNegative)
    }

    /// The sum as a decimal; a double without decimal value makes it a double.
    private var decimalValue: AttributeValue {
        var sum = Decimal(string: "\(whole)") ?? .nan
        for (exponent, part) in decimals.sorted(by: { $0.key < $1.key }) { sum += part.decimal(exponent) }
        guard kinds.contains(.double) else { return sum.isNaN ? .null : .decimal(sum) }
        var doubles = self
        doubles.whole = 0
        return ResolvedFunction.add([.decimal(sum), .double(doubles.total)])
    }
}

/// A whole number of 192 bits, in two's complement.
private struct SignedSum: Sendable {
    private var low: UInt128 = 0
    private var high: Int64 = 0

    mutating func add(_ number: UInt128, isNegative: Bool) {
        let (sum, overflows) =
            isNegative ? low.subtractingReportingOverflow(number) : low.addingReportingOverflow(number)
        low = sum
        if overflows { high &+= isNegative ? -1 : 1 }
    }

    mutating func merge(_ other: SignedSum) {
        let (sum, overflows) = low.addingReportingOverflow(other.low)
        low = sum
        high &+= other.high &+ (overflows ? 1 : 0)
    }

    /// The number x 10^`exponent`, rounded to the digits of a decimal.
    func decimal(_ exponent: Int) -> Decimal {
        let isNegative = high < 0
        let magnitude = isNegative ? ~low &+ 1 : low
        let upper = isNegative ? ~high &+ (low == 0 ? 1 : 0) : high
        let unit = Decimal(isNegative: isNegative, significand: 1, exponent: exponent) ?? .nan
        let lower = Decimal(isNegative: isNegative, significand: magnitude, exponent: exponent) ?? .nan
        if upper == 0 { return lower }
        return lower + Decimal(upper) * unit * ((Decimal(string: "\(UInt128.max)") ?? .nan) + 1)
    }
}
