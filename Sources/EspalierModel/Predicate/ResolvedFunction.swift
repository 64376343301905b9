// Functions of the predicate grammar that are computed from values alone (Behaviour PR-17).
//
// Invariants
//   1. A function of null is null, and so is a function without a result: division by zero, the root of a negative
//      number.
//   2. Whole numbers stay whole as long as the result fits; division of whole numbers truncates, as in Swift. A result
//      that does not fit becomes a double. A decimal with any other number gives a decimal, if that number has a
//      decimal value.
//   3. No function traps, whatever its operands are.
// Not here: arithmetic of whole and binary numbers (ResolvedFunction+Numbers); logarithms, exponentials and powers with
// fractional exponents, which the resolver refuses.

import FoundationEssentials

/// A function of one or more values.
package enum ResolvedFunction: Sendable, Hashable {
    case add, subtract, multiply, divide, modulus, power
    case squareRoot, absolute, floor, ceiling, truncate
    case uppercase, lowercase, canonical
    /// The number of characters of a text, as Swift counts them.
    case characterCount
    case bitAnd, bitOr, bitXor, shiftLeft, shiftRight, onesComplement
    /// CAST to a type.
    case cast(AttributeType)
    /// Returns its argument; hides a key path from the planner (PR-16).
    case noIndex
    /// The element of a collection at an index from its start (0 ...) or its end (-1 ...).
    case element(Int)
    /// Operations on collections, whose results are collections.
    case union, intersect, minus, distinct

    /// Whether the result is a collection.
    package var givesCollection: Bool {
        switch self {
        case .union, .intersect, .minus, .distinct: true
        default: false
        }
    }

    /// The result for `arguments`.
    func callAsFunction(_ arguments: [AttributeValue]) -> AttributeValue {
        guard let first = arguments.first, !arguments.contains(where: \.isNull) else { return .null }
        let second = arguments.last ?? first
        switch self {
        case .add, .subtract, .multiply, .divide, .modulus, .power: return arithmetic(first, second)
        case .squareRoot:
            let root = first.approximation?.squareRoot() ?? .nan
            return root.isNaN ? .null : .double(root)
        case .absolute, .floor, .ceiling, .truncate: return rounding(first)
        case .uppercase, .lowercase, .canonical, .characterCount: return text(first)
        case .bitAnd, .bitOr, .bitXor, .shiftLeft, .shiftRight, .onesComplement: return bits(first, second)
        case .cast(let type): return ResolvedFunction.cast(first, to: type)
        case .noIndex: return first
        case .element, .union, .intersect, .minus, .distinct: return .null
        }
    }

    /// The result of a function of collections.
    func callAsFunction(collections: [[AttributeValue]]) -> [AttributeValue] {
        guard let first = collections.first, let second = collections.last else { return [] }
        switch self {
        case .distinct: return first.withoutRepetition()
        case .union: return (first + second).withoutRepetition()
        case .intersect:
            let members = Set(second.map(\.canonical))
            return first.filter { members.contains($0.canonical) }.withoutRepetition()
        case .minus:
            let members = Set(second.map(\.canonical))
            return first.filter { !members.contains($0.canonical) }.withoutRepetition()
        case .element(let position):
            let index = position < 0 ? first.count + position : position
            return first.indices.contains(index) ? [first[index]] : []
        default: return []
        }
    }

    private func arithmetic(_ left: AttributeValue, _ right: AttributeValue) -> AttributeValue {
        if let left = PlainNumber(left), let right = PlainNumber(right) { return result(left, right).value }
        let hasDecimal = [left, right].contains { if case .decimal = $0 { true } else { false } }
        if hasDecimal, let left = left.decimal, let right = right.decimal { return decimal(left, right) }
        if case .date(let date) = left { return self.date(date, right) }
        guard let left = left.approximation, let right = right.approximation else { return .null }
        return result(.double(left), .double(right)).value
    }

    private func decimal(_ left: Decimal, _ right: Decimal) -> AttributeValue {
        let result: Decimal
        switch self {
        case .add: result = left + right
        case .subtract: result = left - right
        case .multiply: result = left * right
        case .divide where right != 0: result = left / right
        case .power:
            guard let exponent = ExactNumber.decimal(right).integer, exponent.magnitude < 1000 else { return .null }
            result = exponent < 0 ? (left == 0 ? .nan : 1 / pow(left, Int(-exponent))) : pow(left, Int(exponent))
        default:
            guard let left = AttributeValue.decimal(left).approximation,
                let right = AttributeValue.decimal(right).approximation
            else { return .null }
            return self.result(.double(left), .double(right)).value
        }
        return result.isNaN ? .null : .decimal(result)
    }

    /// A date plus or minus a number of seconds, or the seconds between two dates.
    private func date(_ left: Date, _ right: AttributeValue) -> AttributeValue {
        let seconds = left.timeIntervalSinceReferenceDate
        switch (self, right) {
        case (.subtract, .date(let other)): return .double(seconds - other.timeIntervalSinceReferenceDate)
        case (.add, _), (.subtract, _):
            guard let offset = right.approximation else { return .null }
            return .date(Date(timeIntervalSinceReferenceDate: self == .add ? seconds + offset : seconds - offset))
        default: return .null
        }
    }

    private func rounding(_ value: AttributeValue) -> AttributeValue {
        if case .integer(let whole) = value {
            guard self == .absolute, whole < 0 else { return value }
            return whole == .min ? .double(-Double(whole)) : .integer(-whole)
        }
        if case .decimal(let decimal) = value, self == .absolute { return .decimal(Swift.abs(decimal)) }
        guard let number = value.approximation else { return .null }
        switch self {
        case .absolute: return .double(Swift.abs(number))
        case .floor: return .double(number.rounded(.down))
        case .ceiling: return .double(number.rounded(.up))
        default: return .double(number.rounded(.towardZero))
        }
    }

    private func text(_ value: AttributeValue) -> AttributeValue {
        guard case .string(let text) = value else { return .null }
        switch self {
        case .uppercase: return .string(text.uppercased())
        case .lowercase: return .string(text.lowercased())
        case .characterCount: return .integer(Int64(text.count))
        default: return .string(TextFolding.folded(text, [.caseInsensitive, .diacriticInsensitive]))
        }
    }

    private func bits(_ left: AttributeValue, _ right: AttributeValue) -> AttributeValue {
        guard let left = left.number?.integer, let right = right.number?.integer else { return .null }
        switch self {
        case .bitAnd: return .integer(left & right)
        case .bitOr: return .integer(left | right)
        case .bitXor: return .integer(left ^ right)
        // Swift's smart shifts accept any count and do not trap.
        case .shiftLeft: return .integer(left << right)
        case .shiftRight: return .integer(left >> right)
        default: return .integer(~left)
        }
    }

    /// A constant that CAST converts to the type that the condition calls `name`; `nil` if it is no value of that type.
    ///
    /// A number keeps its type: NSNumber does not name a type of number.
    static func cast(constant: AttributeValue, to type: AttributeType, named name: String) -> AttributeValue? {
        if name == "NSNumber", constant.number != nil { return constant }
        let converted = cast(constant, to: type)
        return converted.isNull && !constant.isNull ? nil : converted
    }

    /// The reason why CAST cannot convert a constant.
    static func castMismatch(
        of constant: AttributeValue, to type: AttributeType, named name: String
    ) -> FetchPredicateError.Reason {
        let values =
            type == .objectID
            ? "the URI of an object in a store that this process has opened" : type.valueDescription
        return .typeMismatch(found: constant.kindDescription, expected: "\(values) for '\(name)'")
    }

    /// `value` converted by the rules of CAST: numbers and dates by seconds, text by its meaning.
    static func cast(_ value: AttributeValue, to type: AttributeType) -> AttributeValue {
        if let converted = try? type.converting(value) { return converted }
        switch (type, value) {
        case (.string, _): return .string(value.plainText)
        case (.date, .string(let text)): return DateText.date(from: text).map(AttributeValue.date) ?? .null
        case (.date, _):
            return value.approximation.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null
        case (.uuid, .string(let text)): return UUID(uuidString: text).map(AttributeValue.uuid) ?? .null
        case (.uri, .string(let text)): return URL(string: text).map(AttributeValue.uri) ?? .null
        case (.binary, .string(let text)): return Data(hexDigits: text).map(AttributeValue.binary) ?? .null
        case (.transformable, .string(let text)):
            return Data(hexDigits: text).map(AttributeValue.transformable) ?? .null
        case (.objectID, .string(let text)):
            return ObjectID(uriRepresentation: text).map(AttributeValue.objectID) ?? .null
        case (.objectID, .uri(let uri)): return cast(.string(uri.absoluteString), to: type)
        case (.decimal, .string(let text)): return Decimal(exactly: text).map(AttributeValue.decimal) ?? .null
        case (.float, .string(let text)): return Float(text).map(AttributeValue.float) ?? .null
        case (.float, _): return value.approximation.map { .float(Float($0)) } ?? .null
        case (_, .date(let date)) where type.isNumeric:
            return cast(.double(date.timeIntervalSinceReferenceDate), to: type)
        case (_, .string(let text)) where type.isNumeric:
            return Double(text).map { cast(.double($0), to: type) } ?? .null
        case (.double, _): return value.approximation.map(AttributeValue.double) ?? .null
        case (.integer16, _), (.integer32, _), (.integer64, _):
            let whole = value.approximation.flatMap { Int64(exactly: $0.rounded(.towardZero)) }
            return whole.flatMap { try? type.converting(.integer($0)) } ?? .null
        default: return .null
        }
    }
}
