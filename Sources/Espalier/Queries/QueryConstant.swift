// Constants of typed predicates as attribute values: captured variables, literals, objects, lists and ranges.

import EspalierModel
import FoundationEssentials

enum QueryConstant {
    /// The attribute value of a Swift value; nil becomes null.
    static func value(_ any: Any) throws(TranslationProblem) -> AttributeValue {
        guard let content = unwrapped(any) else { return .null }
        switch content {
        case let value as any AttributeConvertible: return value.attributeValue
        case let value as any PredicateArgument:
            if case .value(let value) = value.predicateExpression { return value }
        case let value as any BinaryInteger:
            return Int64(exactly: value).map(AttributeValue.integer) ?? .double(Double(value))
        case let value as any StringProtocol: return .string(String(value))
        case let value as Character: return .string(String(value))
        default: break
        }
        throw TranslationProblem(
            "a constant of type \(type(of: content))",
            "its type is not AttributeConvertible; compare with a value of the attribute's own type")
    }

    /// The values of a Swift sequence; `nil` if `any` is no sequence.
    static func values(_ any: Any) throws(TranslationProblem) -> [AttributeValue]? {
        guard let members = members(any) else { return nil }
        var values: [AttributeValue] = []
        values.reserveCapacity(members.count)
        for member in members { values.append(try value(member)) }
        return values
    }

    /// The elements of a Swift collection; `nil` if `any` is none, or is a text or a range.
    static func members(_ any: Any) -> [Any]? {
        guard let content = unwrapped(any), !(content is any StringProtocol), !(content is any ConstantRange),
            let collection = content as? any Collection
        else { return nil }
        func elements<Elements: Collection>(_ elements: Elements) -> [Any] { elements.map { $0 as Any } }
        return elements(collection)
    }

    /// The content of an optional, at any depth; `nil` for nil.
    static func unwrapped(_ any: Any) -> Any? {
        guard let optional = any as? any OptionalValue else { return any }
        return optional.content.flatMap(unwrapped)
    }

    /// The bounds of a Swift range; `nil` if `any` is none.
    static func range(_ any: Any) throws(TranslationProblem) -> QueryRange? {
        guard let range = any as? any ConstantRange else { return nil }
        let (lower, upper, isClosed) = range.bounds
        return QueryRange(
            lower: try lower.map { bound throws(TranslationProblem) in .value(try value(bound)) },
            upper: try upper.map { bound throws(TranslationProblem) in .value(try value(bound)) }, isClosed: isClosed)
    }
}

/// An optional of any type.
private protocol OptionalValue {
    var content: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var content: Any? { map { $0 as Any } }
}

/// A range of any type, and of any kind.
protocol ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { get }
}

extension Range: ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, upperBound, false) }
}

extension ClosedRange: ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, upperBound, true) }
}

extension PartialRangeFrom: ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { (lowerBound, nil, false) }
}

extension PartialRangeUpTo: ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { (nil, upperBound, false) }
}

extension PartialRangeThrough: ConstantRange {
    var bounds: (lower: Any?, upper: Any?, isClosed: Bool) { (nil, upperBound, true) }
}
