// The output of attribute values and objects: in tables for people, as JSON for programs.

import EspalierModel
import Foundation

extension AttributeValue {
    /// The value in a table; empty for null.
    var cellText: String {
        switch self {
        case .null: ""
        case .integer(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .double(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let value): value
        case .boolean(let value): value ? "true" : "false"
        case .date(let value): DateText.text(of: value)
        case .binary(let value), .transformable(let value): BytesText.short([UInt8](value), byteCountMax: 16)
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .objectID(let value): value.shortText
        case .composite(let parts):
            "{" + parts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.cellText)" }.joined(separator: ", ")
                + "}"
        }
    }

    /// The value for programs: bytes in base 64, dates as ISO 8601 text, decimals as numbers with all their digits.
    var json: JSONValue {
        switch self {
        case .null: .null
        case .integer(let value): .integer(value)
        case .decimal(let value): value.isFinite ? .digits("\(value)") : .null
        case .double(let value): .number(value)
        case .float(let value): value.isFinite ? .digits("\(value)") : .null
        case .string(let value): .string(value)
        case .boolean(let value): .boolean(value)
        case .date(let value): .string(DateText.text(of: value))
        case .binary(let value), .transformable(let value): .string(value.base64EncodedString())
        case .uuid(let value): .string(value.uuidString)
        case .uri(let value): .string(value.absoluteString)
        case .objectID(let value): .string(value.shortText)
        case .composite(let parts):
            .object(parts.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value.json) })
        }
    }
}

extension ObjectID {
    /// The row's name within its store: `Track/42`.
    var shortText: String { "\(entityName)/\(key)" }
}

extension AttributeType {
    /// Whether tables align the values to the right.
    var isNumber: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: true
        case .undefined, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: false
        }
    }
}
