// A number as C writes it for "%.20f": the notation of dates in stores of Core Data in XML.

extension Double {
    /// The number with 20 decimals, rounded to the nearest; `nil` if this text is read as another number, or if the
    /// magnitude is 2^120 or more, or not finite.
    ///
    /// Numbers from 0.0001 on have a text: their first 17 digits, which tell them apart, are before the 21st decimal.
    var textWithTwentyDecimals: String? {
        guard isFinite, magnitude < 0x1p120 else { return nil }
        var whole = UInt128(magnitude)
        // The fraction in units of 2^-120: bits below are lost, and lie below the last decimal too.
        let one: UInt128 = 1 << 120
        var rest = UInt128((magnitude - magnitude.rounded(.down)) * 0x1p120)
        var digits: [UInt8] = []
        for _ in 0..<20 {
            rest *= 10
            digits.append(UInt8(rest >> 120))
            rest &= one - 1
        }
        // A half is rounded to the even digit.
        if rest > one / 2 || (rest == one / 2 && digits[19] % 2 == 1) {
            var position = 19
            while position >= 0, digits[position] == 9 {
                digits[position] = 0
                position -= 1
            }
            if position >= 0 { digits[position] += 1 } else { whole += 1 }
        }
        let text = (sign == .minus ? "-" : "") + "\(whole)." + digits.map { "\($0)" }.joined()
        return Double(text)?.bitPattern == bitPattern ? text : nil
    }
}
