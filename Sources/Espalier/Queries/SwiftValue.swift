// Stored values as values of the types of properties, for access by key path to values that no object has.

import EspalierModel
import FoundationEssentials

/// A stored value as a value of a property's type.
struct SwiftValue<Value> {
    let value: Value

    /// The value; `nil` if it is none of this type.
    init?(_ stored: AttributeValue) {
        var found: Any?
        if let type = Value.self as? any AttributeConvertible.Type {
            found = type.init(attributeValue: stored)
        } else if let type = Value.self as? any RawRepresentable.Type, Self.hasStoredRawValue(type) {
            found = Self.raw(stored, type)
        } else if let type = Value.self as? any Decodable.Type, case .transformable(let data) = stored {
            found = Self.decoded(data, type)
        }
        guard let value = found as? Value else { return nil }
        self.value = value
    }

    /// Whether the property is stored as its raw value; one with another kind of raw value is stored as `Codable`.
    private static func hasStoredRawValue<Raw: RawRepresentable>(_ type: Raw.Type) -> Bool {
        Raw.RawValue.self is any AttributeConvertible.Type
    }

    private static func raw<Raw: RawRepresentable>(_ stored: AttributeValue, _ type: Raw.Type) -> Any? {
        guard let rawType = Raw.RawValue.self as? any AttributeConvertible.Type,
            let raw = rawType.init(attributeValue: stored) as? Raw.RawValue
        else { return nil }
        return Raw(rawValue: raw)
    }

    private static func decoded<Content: Decodable>(_ data: Data, _ type: Content.Type) -> Any? {
        let content: Content? = try? CodableForm.value(from: data)
        return content
    }
}
