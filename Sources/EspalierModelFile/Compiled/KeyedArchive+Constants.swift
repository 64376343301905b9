// The constants of archived expressions as values of attributes.

import EspalierModel
import FoundationEssentials

extension KeyedArchive {
    /// The value that an archived constant stands for; `nil` if it is of a class that has no attribute type here, such
    /// as a set.
    func constant(_ field: Value?) -> AttributeValue? {
        guard let field else { return .null }
        if let object = object(field) {
            switch (object.className, object.fields["NS.time"]) {
            case ("NSDate", .real(let seconds)?): return .date(Date(timeIntervalSinceReferenceDate: seconds))
            case ("NSNull", _): return .null
            case ("NSMutableString", _): return text(object.fields["NS.string"]).map(AttributeValue.string)
            case ("NSDecimalNumber", _), ("NSDecimalNumberPlaceholder", _):
                return decimal(object).map(AttributeValue.decimal)
            default: return nil
            }
        }
        guard case .reference(let number) = field else { return nil }
        switch value(number) {
        case .boolean(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .real(let value): return .double(value)
        case .date(let seconds): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let bytes): return .binary(Data(bytes))
        case .string(let text): return .string(text)
        case .null: return .null
        case .reference, .array, .dictionary: return nil
        }
    }

    /// The number of an archived decimal; `nil` if it is none, or its parts do not fit together.
    ///
    /// It is a sign, a power of ten and up to 8 digits of 16 bits, least significant first. Each digit has the byte
    /// order that a number tells: 1 = little-endian.
    private func decimal(_ object: Object) -> Decimal? {
        guard case .integer(let length)? = object.fields["NS.length"], (0...8).contains(length),
            case .integer(let exponent)? = object.fields["NS.exponent"], (-128...127).contains(exponent),
            case .data(let bytes)? = object.fields["NS.mantissa"], bytes.count >= 2 * Int(length)
        else { return nil }
        let isNegative = object.fields["NS.negative"] == .boolean(true)
        // No digits and a sign stand for no number.
        guard length > 0 || !isNegative else { return nil }
        let isLittle = object.fields["NS.mantissa.bo"] == .integer(1)
        var significand = Decimal(0)
        for place in (0..<Int(length)).reversed() {
            let (first, second) = (Int(bytes[2 * place]), Int(bytes[2 * place + 1]))
            significand = significand * 65_536 + Decimal(isLittle ? second << 8 | first : first << 8 | second)
        }
        let number = Decimal(sign: isNegative ? .minus : .plus, exponent: Int(exponent), significand: significand)
        return number.isFinite ? number : nil
    }
}
