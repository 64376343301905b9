// Conversions of a value for evaluation: to a double, to plain text, to a member of a set.

package import FoundationEssentials

extension AttributeValue {
    /// The number as the nearest double; `nil` if the value is not a number.
    var approximation: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .float(let value): Double(value)
        case .decimal(let value): Double(value.description)
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: nil
        }
    }

    /// Whether the value is a NaN: a number or a date without a numeric value.
    package var isNaN: Bool {
        switch self {
        case .double(let value): value.isNaN
        case .float(let value): value.isNaN
        case .decimal(let value): value.isNaN
        case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
        case .null, .integer, .string, .boolean, .binary, .uuid, .uri, .transformable, .objectID, .composite: false
        }
    }

    /// A value that is `==` for all values of a property that compare as equal: equal numbers of different types become
    /// one value, all NaN another, and a URI loses its base.
    package var canonical: AttributeValue {
        switch self {
        case .double(let value):
            if let whole = Int64(exactly: value) { .integer(whole) } else { value.isNaN ? .decimal(.nan) : self }
        case .float(let value): AttributeValue.double(Double(value)).canonical
        case .decimal(let value):
            if value.isNaN {
                .decimal(.nan)
            } else if let whole = ExactNumber.decimal(value).integer {
                .integer(whole)
            } else if let double = Double(value.description), compare(.double(double)) == .orderedSame {
                .double(double)
            } else {
                self
            }
        case .date where isNaN: .decimal(.nan)
        case .uri(let uri) where uri.baseURL != nil: .uri(uri.absoluteURL)
        case .composite(let parts): .composite(parts.mapValues(\.canonical))
        default: self
        }
    }

    /// The value as the text that CAST returns.
    var plainText: String {
        switch self {
        case .string(let value): value
        case .binary(let value), .transformable(let value): value.hexDigits
        default: shortText
        }
    }
}

extension [AttributeValue] {
    /// The values in their order, without duplicates.
    func withoutRepetition() -> [AttributeValue] {
        var seen: Set<AttributeValue> = []
        return filter { seen.insert($0.canonical).inserted }
    }
}

extension Data {
    /// The bytes as two lower-case hexadecimal digits each.
    package var hexDigits: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes that `text` spells as pairs of hexadecimal digits.
    package init?(hexDigits text: String) {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes = Data(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        self = bytes
    }
}

extension Decimal {
    /// The exact decimal number that `text` as a whole spells.
    init?(exactly text: String) {
        let body = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = body.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard !body.isEmpty, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
            if text.lowercased() == "nan" { self = .nan } else { return nil }
            return
        }
        // Trailing zeros belong to the exponent: 10^100 has one significant digit.
        let digits = parts.joined()
        let zeroCount = digits.reversed().prefix { $0 == "0" }.count
        let fractionCount = parts.count == 2 ? parts[1].count : 0
        let significant = zeroCount == digits.count ? "0" : digits.dropLast(zeroCount)
        guard let significand = UInt128(significant) else { return nil }
        self.init(
            isNegative: body.count < text.count, significand: significand,
            exponent: significand == 0 ? 0 : zeroCount - fractionCount)
    }
}
