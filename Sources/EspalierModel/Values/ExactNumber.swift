// Numbers of different types, compared by exact mathematical value.
//
// Invariants
//   1. Comparisons do not round: Int64 against Double, and Decimal against both, are decided with whole numbers.
//   2. NaN (of Double or Decimal) equals NaN and follows every other number; -0 equals 0.

package import FoundationEssentials

/// A number of any attribute type.
enum ExactNumber {
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)

    /// Compares this number with `other`.
    ///
    /// - Complexity: O(1); a decimal needs some hundred operations more than the other types.
    func compare(_ other: ExactNumber) -> ComparisonResult {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): ordered(left, right)
        case (.double(let left), .double(let right)): ExactNumber.compare(left, right)
        case (.integer(let left), .double(let right)): ExactNumber.compare(left, right)
        case (.double(let left), .integer(let right)): ExactNumber.compare(right, left).reversed
        case (.decimal, _), (_, .decimal): ScaledMagnitude.compare(self, other)
        }
    }

    static func compare(_ left: Double, _ right: Double) -> ComparisonResult {
        if left < right { return .orderedAscending }
        if left > right { return .orderedDescending }
        if left == right { return .orderedSame }
        return ordered(left.isNaN ? 1 : 0, right.isNaN ? 1 : 0)
    }

    private static func compare(_ left: Int64, _ right: Double) -> ComparisonResult {
        if right.isNaN || right >= 0x1p63 { return .orderedAscending }
        if right < -0x1p63 { return .orderedDescending }
        let whole = right.rounded(.towardZero)
        let integers = ordered(left, Int64(whole))
        return integers == .orderedSame ? ordered(0, right - whole) : integers
    }
}

extension ComparisonResult {
    /// The result for exchanged sides.
    var reversed: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedSame: .orderedSame
        case .orderedDescending: .orderedAscending
        }
    }
}

/// ± significand x 10^decimalExponent x 2^binaryExponent; infinities and NaN are encoded in `rank`.
private struct ScaledMagnitude {
    /// -1 = below every finite number, 0 = finite, 1 = above every finite number, 2 = not a number.
    var rank = 0
    var isNegative = false
    var significand: UInt128 = 0
    var decimalExponent = 0
    var binaryExponent = 0

    init(_ number: ExactNumber) {
        switch number {
        case .integer(let value):
            (isNegative, significand) = (value < 0, UInt128(value.magnitude))
        case .decimal(let value):
            if let parts = value.parts {
                (isNegative, significand, decimalExponent) = (parts.isNegative, parts.significand, parts.exponent)
            } else {
                rank = 2
            }
        case .double(let value):
            if value.isFinite, value != 0 {
                // A double is its 53-bit significand times a power of two, both exact.
                (isNegative, significand) = (value < 0, UInt128(value.significand * 0x1p52))
                binaryExponent = Int(value.exponent) - 52
            } else if value != 0 {
                rank = value.isNaN ? 2 : value < 0 ? -1 : 1
            }
        }
    }

    static func compare(_ left: ExactNumber, _ right: ExactNumber) -> ComparisonResult {
        let (left, right) = (ScaledMagnitude(left), ScaledMagnitude(right))
        guard left.rank == 0, right.rank == 0 else { return ordered(left.rank, right.rank) }
        guard left.sign == right.sign, left.sign != 0 else { return ordered(left.sign, right.sign) }
        // Scaling both sides by the same powers of ten and two makes all exponents nonnegative.
        let (ten, two) = (
            min(left.decimalExponent, right.decimalExponent), min(left.binaryExponent, right.binaryExponent)
        )
        let magnitudes = left.whole(above: ten, two).compare(right.whole(above: ten, two))
        return left.isNegative ? magnitudes.reversed : magnitudes
    }

    private var sign: Int { significand == 0 ? 0 : isNegative ? -1 : 1 }

    private func whole(above ten: Int, _ two: Int) -> WholeNumber {
        var whole = WholeNumber(significand)
        whole.multiply(by: 10, times: decimalExponent - ten)
        whole.multiply(by: 2, times: binaryExponent - two)
        return whole
    }
}

/// A nonnegative whole number of any size, with the operations that comparison needs.
private struct WholeNumber {
    /// The limbs, least significant first, without leading zeros.
    private var limbs: [UInt32] = []

    init(_ value: UInt128) {
        var rest = value
        while rest != 0 {
            limbs.append(UInt32(truncatingIfNeeded: rest))
            rest >>= 32
        }
    }

    mutating func multiply(by base: UInt64, times: Int) {
        // Multiplies by as many factors at once as 32 bits can hold: 10^9, 2^31.
        let (chunk, count): (UInt64, Int) = base == 10 ? (1_000_000_000, 9) : (1 << 31, 31)
        for _ in 0..<times / count { multiply(by: chunk) }
        for _ in 0..<times % count { multiply(by: base) }
    }

    private mutating func multiply(by factor: UInt64) {
        var carry: UInt64 = 0
        for index in limbs.indices {
            let product = UInt64(limbs[index]) * factor + carry
            limbs[index] = UInt32(truncatingIfNeeded: product)
            carry = product >> 32
        }
        if carry != 0 { limbs.append(UInt32(carry)) }
    }

    func compare(_ other: WholeNumber) -> ComparisonResult {
        guard limbs.count == other.limbs.count else { return ordered(limbs.count, other.limbs.count) }
        for (left, right) in zip(limbs.reversed(), other.limbs.reversed()) where left != right {
            return ordered(left, right)
        }
        return .orderedSame
    }
}

extension Decimal {
    /// The number as ± significand x 10^exponent, exactly; `nil` for NaN.
    ///
    /// Row and key encodings are made from these parts. The exponent is in -128...127. Equal numbers can have different
    /// parts (1.0 and 1.00).
    package var parts: (isNegative: Bool, significand: UInt128, exponent: Int)? {
        guard !isNaN else { return nil }
        // The 128 bits are not public API; the digits of the significand are.
        guard let digits = UInt128(Swift.abs(significand).description) else { return nil }
        return (sign == .minus && digits != 0, digits, exponent)
    }

    /// Makes the number with these parts.
    ///
    /// - Returns: `nil` if the exponent is outside -128...127.
    package init?(isNegative: Bool, significand: UInt128, exponent: Int) {
        guard (-128...127).contains(exponent), let digits = Decimal(string: significand.description) else { return nil }
        self.init(sign: isNegative ? .minus : .plus, exponent: exponent, significand: digits)
    }
}
