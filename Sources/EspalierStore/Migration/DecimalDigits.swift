// Integers as their decimal texts, for fields of rows that are read and written without a string.
//
// Invariants
//   1. The text of a number is that of its description. A text is a number only if it is the text of that number: no
//      plus sign, no zero before other digits.

/// The decimal texts of integers.
enum DecimalDigits {
    /// The number of bytes of a minus sign and 19 digits.
    private static let byteCountMax = 20
    // The digit 0, and a minus sign. Not a tuple: see `RowOffsets.Widths`.
    private static let zero: UInt8 = 0x30
    private static let minus: UInt8 = 0x2D

    /// The number of bytes of the text of `number`.
    static func byteCount(of number: Int64) -> Int {
        var (rest, count) = (number.magnitude / 10, number < 0 ? 2 : 1)
        while rest > 0 {
            rest /= 10
            count += 1
        }
        assert(count <= byteCountMax, "\(number) has \(count) bytes")
        return count
    }

    /// Writes the text of `number` at `offset`; returns the number of its bytes.
    static func write(_ number: Int64, to row: inout MutableRawSpan, at offset: Int) -> Int {
        let count = byteCount(of: number)
        var (rest, place) = (number.magnitude, offset + count)
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            place -= 1
            row.write(zero + UInt8(truncatingIfNeeded: digit), at: place)
            rest = quotient
        } while rest > 0
        if number < 0 { row.write(minus, at: offset) }
        assert(place == (number < 0 ? offset + 1 : offset), "\(number) begins at \(place)")
        return count
    }

    /// The number whose text is `text`; `nil` if there is none.
    static func number(in text: RawSpan) -> Int64? {
        let count = text.byteCount
        guard count > 0, count <= byteCountMax else { return nil }
        let isNegative = text.byte(at: 0) == minus
        let first = isNegative ? 1 : 0
        guard first < count else { return nil }
        if text.byte(at: first) == zero { return count == 1 ? 0 : nil }
        // Below zero, because the least number has no positive counterpart.
        var negated: Int64 = 0
        for index in first..<count {
            let digit = text.byte(at: index) &- zero
            guard digit < 10 else { return nil }
            let (tens, hasOverflown) = negated.multipliedReportingOverflow(by: 10)
            let (sum, isTooLow) = tens.subtractingReportingOverflow(Int64(digit))
            guard !hasOverflown, !isTooLow else { return nil }
            negated = sum
        }
        if isNegative { return negated }
        return negated == .min ? nil : -negated
    }
}
