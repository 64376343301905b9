// Arithmetic of whole and binary numbers, for values and for the bytes of rows alike.
//
// Rules
//   1. Whole numbers stay whole as long as the result fits; a result that does not fit is computed as a double.
//   2. A result that is no number is none: that of a division by zero, too.

extension ResolvedFunction {
    /// Whether the function is computed from two numbers.
    package var isArithmetic: Bool {
        switch self {
        case .add, .subtract, .multiply, .divide, .modulus, .power: true
        default: false
        }
    }

    /// The result of arithmetic with two numbers; none if one of them is missing, or for another function.
    package func result(_ left: PlainNumber, _ right: PlainNumber) -> PlainNumber {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): whole(left, right) ?? binary(Double(left), Double(right))
        case (.integer(let left), .double(let right)): binary(Double(left), right)
        case (.double(let left), .integer(let right)): binary(left, Double(right))
        case (.double(let left), .double(let right)): binary(left, right)
        case (.null, _), (_, .null): .null
        }
    }

    /// The result as a whole number; `nil` if it does not fit.
    private func whole(_ left: Int64, _ right: Int64) -> PlainNumber? {
        let result: (partialValue: Int64, overflow: Bool)
        switch self {
        case .add: result = left.addingReportingOverflow(right)
        case .subtract: result = left.subtractingReportingOverflow(right)
        case .multiply: result = left.multipliedReportingOverflow(by: right)
        case .divide where right != 0: result = left.dividedReportingOverflow(by: right)
        case .modulus where right != 0:
            result = left.remainderReportingOverflow(dividingBy: right)
            // The only division that overflows is by -1, and its remainder is 0.
            return .integer(result.overflow ? 0 : result.partialValue)
        case .power where right >= 0: return ResolvedFunction.wholePower(left, right)
        case .power: return nil
        default: return .null
        }
        return result.overflow ? nil : .integer(result.partialValue)
    }

    private static func wholePower(_ base: Int64, _ exponent: Int64) -> PlainNumber? {
        if base == 0 || base == 1 { return .integer(exponent == 0 ? 1 : base) }
        if base == -1 { return .integer(exponent.isMultiple(of: 2) ? 1 : -1) }
        var power: Int64 = 1
        for _ in 0..<min(exponent, 64) {
            let (product, overflow) = power.multipliedReportingOverflow(by: base)
            if overflow { return nil }
            power = product
        }
        return .integer(power)
    }

    private func binary(_ left: Double, _ right: Double) -> PlainNumber {
        let result: Double =
            switch self {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left * right
            case .divide: right == 0 ? .nan : left / right
            case .modulus: right == 0 ? .nan : left.truncatingRemainder(dividingBy: right)
            case .power: ResolvedFunction.power(left, right)
            default: .nan
            }
        return result.isNaN ? .null : .double(result)
    }

    /// `base` to a whole exponent; NaN for other exponents.
    private static func power(_ base: Double, _ exponent: Double) -> Double {
        guard exponent == exponent.rounded(), Swift.abs(exponent) < 1_000_000 else { return .nan }
        var (result, square, rest) = (1.0, base, Int(Swift.abs(exponent)))
        while rest > 0 {
            if rest & 1 == 1 { result *= square }
            square *= square
            rest >>= 1
        }
        return exponent < 0 ? 1 / result : result
    }
}
