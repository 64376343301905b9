// Random attributes of every type that a store keeps, their values, and the values that they have under another type.

import EspalierModel
import Foundation

extension MigrationWalk {
    private static let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid, .uri,
        .transformable, .composite,
    ]

    /// The types that have an equal for every value of this walk that the type of the key has.
    static let wider: [AttributeType: [AttributeType]] = [
        .integer16: [.integer32, .integer64, .string, .double, .decimal],
        .integer32: [.integer64, .string, .double, .decimal], .integer64: [.string, .integer32, .decimal],
        .boolean: [.integer16, .string], .float: [.double], .double: [.string, .decimal], .decimal: [.string, .double],
        .string: [.binary], .uuid: [.string], .uri: [.string], .binary: [.transformable], .transformable: [.binary],
    ]

    /// A new attribute without a default.
    mutating func newAttribute() -> AttributeDescription {
        let type = Self.types.randomElement(using: &random) ?? .string
        let isIndexed = type.hasKeyOrder && chance(3)
        var attribute = AttributeDescription(newName("a"), type, isIndexed: isIndexed)
        if type == .composite { attribute.elements = [newElement(), newElement()] }
        return attribute
    }

    /// A new element of a composite; one in eight is a composite itself.
    mutating func newElement(mayHaveDefault: Bool = false) -> AttributeDescription {
        var element = AttributeDescription(newName("e"), Self.types.dropLast().randomElement(using: &random) ?? .string)
        if chance(8) {
            element.type = .composite
            element.elements = [AttributeDescription(newName("e"), .integer32)]
        }
        if mayHaveDefault, chance(3) {
            element.defaultValue = value(of: element)
            element.isOptional = chance(2)
        }
        return element
    }

    /// A value of an attribute, not null; a composite has those of its elements that must have a value, and any others.
    mutating func value(of attribute: AttributeDescription) -> AttributeValue {
        switch attribute.type {
        case .integer16, .integer32, .integer64: return .integer(Int64.random(in: -300...300, using: &random))
        case .boolean: return .boolean(Bool.random(using: &random))
        case .float: return .float(Float(Int.random(in: -50...50, using: &random)) / 4)
        case .double: return .double(Double(Int.random(in: -500...500, using: &random)) / 8)
        case .decimal: return .decimal(Decimal(Int.random(in: -500...500, using: &random)) / 8)
        case .date:
            let seconds = Double(Int.random(in: 0...1_000_000, using: &random))
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .binary: return .binary(bytes())
        case .transformable: return .transformable(bytes())
        case .uuid:
            let bytes = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
            return .uuid(UUID(uuid: (bytes[0], bytes[1], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, bytes[2], bytes[3])))
        case .uri:
            let text = "https://example.org/\(Int.random(in: 0...99, using: &random))"
            return .uri(URL(string: text) ?? URL(filePath: "/"))
        case .composite:
            var parts: [String: AttributeValue] = [:]
            for element in attribute.elements where !element.isOptional || !chance(4) {
                parts[element.name] = value(of: element)
            }
            return .composite(parts)
        case .string, .undefined, .objectID: return .string("text \(Int.random(in: 0...40, using: &random))")
        }
    }

    private mutating func bytes() -> Data {
        Data((0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// The value of a wider type that equals `value`.
    static func convert(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue {
        switch (value, type) {
        case (.integer(let number), .string): .string("\(number)")
        case (.integer(let number), .double): .double(Double(number))
        case (.integer(let number), .decimal): .decimal(Decimal(number))
        case (.double(let number), .string): .string("\(number)")
        case (.double(let number), .decimal): .decimal(Decimal(Int(number * 8)) / 8)
        case (.float(let number), .double): .double(Double(number))
        case (.decimal(let number), .string): .string("\(number)")
        case (.decimal(let number), .double): .double(Double("\(number)") ?? .nan)
        case (.boolean(let bit), .string): .string(bit ? "true" : "false")
        case (.boolean(let bit), _): .integer(bit ? 1 : 0)
        case (.string(let text), .binary): .binary(Data(text.utf8))
        case (.uuid(let uuid), .string): .string(uuid.uuidString)
        case (.uri(let uri), .string): .string(uri.absoluteString)
        case (.binary(let bytes), .transformable): .transformable(bytes)
        case (.transformable(let bytes), .binary): .binary(bytes)
        default: value
        }
    }
}
