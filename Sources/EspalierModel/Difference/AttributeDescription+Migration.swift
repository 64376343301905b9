// Converts values of an attribute whose type changed: the result is the same value in the new type, or `nil`.
//
// Invariants
//   1. No value is rounded, cut or guessed. A text becomes a value only if it is the text of that value.

import FoundationEssentials

extension AttributeDescription {
    /// Converts a value of another attribute to this attribute; `nil` if that is not possible without loss.
    ///
    /// Numbers become equal numbers. True and false become 1 and 0 and the reverse. Numbers, booleans, UUIDs, URIs and
    /// dates become their texts and the reverse; texts become their UTF-8 and the reverse; bytes become the bytes of a
    /// transformer and the reverse. Elements that a composite does not have are left out (`AttributeConversion` knows
    /// those that have had other names).
    package func migrated(_ value: AttributeValue) -> AttributeValue? {
        if case .composite = value, type == .composite {
            return AttributeConversion(from: self, to: self).value(of: value)
        }
        if type.accepts(value) { return value }
        switch (value, type) {
        case (.string(let text), _): return Self.value(of: text, type)
        case (_, .string): return Self.text(of: value).map { .string($0) }
        case (.boolean(let bit), _): return type.isNumeric ? try? type.converting(.integer(bit ? 1 : 0)) : nil
        case (.binary(let bytes), .transformable): return .transformable(bytes)
        case (.transformable(let bytes), .binary): return .binary(bytes)
        default: return try? type.converting(value)
        }
    }

    /// The value of type `type` whose text is `text`.
    private static func value(of text: String, _ type: AttributeType) -> AttributeValue? {
        let found: AttributeValue? =
            switch type {
            case .integer16, .integer32, .integer64: Int64(text).map { .integer($0) }
            case .decimal: Decimal(string: text).map { .decimal($0) }
            case .double: Double(text).map { .double($0) }
            case .float: Float(text).map { .float($0) }
            case .boolean: Bool(text).map { .boolean($0) }
            case .date: DateText.date(from: text).map { .date($0) }
            case .uuid: UUID(uuidString: text).map { .uuid($0) }
            case .uri: URL(string: text).map { .uri($0) }
            case .binary: .binary(Data(text.utf8))
            case .string, .transformable, .composite, .undefined, .objectID: nil
            }
        guard let found, type.accepts(found), let back = Self.text(of: found) else { return nil }
        // A UUID may be spelled in lower case.
        return back == text || type == .uuid && back == text.uppercased() ? found : nil
    }

    private static func text(of value: AttributeValue) -> String? {
        switch value {
        case .string(let text): return text
        case .integer(let number): return String(number)
        case .decimal(let number): return number.isNaN ? nil : number.description
        case .double(let number): return number.isFinite ? number.description : nil
        case .float(let number): return number.isFinite ? number.description : nil
        case .boolean(let bit): return bit.description
        case .uuid(let uuid): return uuid.uuidString
        case .uri(let uri): return uri.absoluteString
        case .date(let date):
            let text = DateText.text(of: date)
            return DateText.date(from: text) == date ? text : nil
        case .binary(let bytes): return String(validating: bytes, as: UTF8.self)
        case .null, .transformable, .objectID, .composite: return nil
        }
    }
}
