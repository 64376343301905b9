// The values that an attribute type accepts, and the lossless conversions from other types.
//
// Invariants
//   1. `accepts` is true exactly for values that a row can hold: the right case, integers in range, or null.
//   2. `converting` returns a value that `accepts` allows and that equals the given one, or throws; it does not round.
//   3. A binary and a decimal fraction are equal if the shortest text of one is the text of the other: 0.1 is 0.1.

import FoundationEssentials

/// The reason why an attribute cannot have a value.
public enum AttributeValueError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The value is of another kind.
    case wrongType(AttributeValue, AttributeType)
    /// The number is too big or too small for the type.
    case outOfRange(AttributeValue, AttributeType)
    /// The number has digits that the type cannot hold.
    case inexact(AttributeValue, AttributeType)
    /// A composite has no element of this name.
    case unknownElement(String)
    /// An element of a composite does not accept its value.
    indirect case element(String, AttributeValueError)

    /// The error and the values that the type accepts.
    public var description: String {
        switch self {
        case .wrongType(let value, let type):
            "\(value.kindDescription) is not a value of type \(type), which takes \(type.valueDescription)"
        case .outOfRange(let value, let type):
            "\(value.shortText) is out of range for type \(type), which takes \(type.valueDescription)"
        case .inexact(let value, let type):
            "\(value.shortText) has no exact value of type \(type), which takes \(type.valueDescription)"
        case .unknownElement(let name): "the composite has no element '\(name)'"
        case .element(let name, let error): "element '\(name)': \(error)"
        }
    }
}

extension AttributeType {
    /// Whether `value` can be stored unchanged in an attribute of this type (Behaviour MD-18, MD-19).
    ///
    /// Stricter than Core Data: the range of an integer type is checked. Elements of a composite are checked by
    /// `AttributeDescription.accepts`.
    public func accepts(_ value: AttributeValue) -> Bool {
        if self == .undefined { return true }
        // The switch is over the value alone: a tuple with the type would copy the value, for every value of a save.
        switch value {
        case .null: return true
        case .integer(let number):
            return switch self {
            case .integer16: Int16(exactly: number) != nil
            case .integer32: Int32(exactly: number) != nil
            default: self == .integer64
            }
        case .decimal: return self == .decimal
        case .double: return self == .double
        case .float: return self == .float
        case .string: return self == .string
        case .boolean: return self == .boolean
        case .date: return self == .date
        case .binary: return self == .binary
        case .uuid: return self == .uuid
        case .uri: return self == .uri
        case .transformable: return self == .transformable
        case .objectID: return self == .objectID
        case .composite: return self == .composite
        }
    }

    /// `value` converted to this type.
    ///
    /// Numbers become numbers of this type if that loses nothing; 0 and 1 become booleans.
    ///
    /// - Throws: `AttributeValueError` if this type has no equal value.
    public func converting(_ value: AttributeValue) throws(AttributeValueError) -> AttributeValue {
        if accepts(value) { return value }
        guard isNumeric || self == .boolean, let number = value.number else { throw .wrongType(value, self) }
        switch self {
        case .integer16, .integer32, .integer64:
            guard let whole = number.integer else {
                throw number.isWhole ? .outOfRange(value, self) : .inexact(value, self)
            }
            guard accepts(.integer(whole)) else { throw .outOfRange(value, self) }
            return .integer(whole)
        case .decimal:
            guard let decimal = value.decimal else { throw .inexact(value, self) }
            return .decimal(decimal)
        case .double:
            guard let double = value.binaryDouble else { throw .inexact(value, self) }
            return .double(double)
        case .float:
            guard let float = value.binaryFloat else { throw .inexact(value, self) }
            return .float(float)
        default:
            guard let bit = number.integer, bit == 0 || bit == 1 else { throw .wrongType(value, self) }
            return .boolean(bit == 1)
        }
    }

    /// Whether values of this type are numbers.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float: true
        case .undefined, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: false
        }
    }

    /// The values of this type in words.
    var valueDescription: String {
        switch self {
        case .undefined: "any value"
        case .integer16: "whole numbers from -32768 to 32767"
        case .integer32: "whole numbers from -2147483648 to 2147483647"
        case .integer64: "whole numbers from -9223372036854775808 to 9223372036854775807"
        case .decimal: "decimal numbers of up to 38 digits"
        case .double: "numbers"
        case .float: "numbers of about 7 digits"
        case .string: "text"
        case .boolean: "true or false"
        case .date: "dates"
        case .binary: "bytes"
        case .uuid: "UUIDs"
        case .uri: "URIs"
        case .transformable: "the bytes of a value transformer"
        case .objectID: "object IDs"
        case .composite: "named values"
        }
    }
}

extension ExactNumber {
    /// The number as an integer; `nil` if it is not whole or does not fit.
    var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .decimal(let value):
            Int64(value.description).flatMap { compare(.integer($0)) == .orderedSame ? $0 : nil }
        }
    }

    var isWhole: Bool {
        switch self {
        case .integer: true
        case .double(let value): value.isFinite && value == value.rounded(.towardZero)
        case .decimal(let value): value.isFinite && !value.description.contains(".")
        }
    }
}

extension AttributeValue {
    /// The number as a decimal; a binary fraction becomes the decimal of its shortest text.
    var decimal: Decimal? {
        switch self {
        case .integer(let value): return Decimal(value)
        case .decimal(let value): return value
        case .double(let value):
            guard value.isFinite, let decimal = Decimal(string: value.description) else { return nil }
            return Double(decimal.description) == value ? decimal : nil
        case .float(let value):
            guard value.isFinite, let decimal = Decimal(string: value.description) else { return nil }
            return Float(decimal.description) == value ? decimal : nil
        default: return nil
        }
    }

    fileprivate var binaryDouble: Double? {
        switch self {
        case .integer(let value): return Double(exactly: value)
        case .double(let value): return value
        case .float(let value): return Double(value)
        case .decimal(let value):
            guard let double = Double(value.description), Decimal(string: double.description) == value else {
                return nil
            }
            return double
        default: return nil
        }
    }

    fileprivate var binaryFloat: Float? {
        switch self {
        case .integer(let value): return Float(exactly: value)
        case .float(let value): return value
        case .double(let value):
            let float = Float(value)
            return Double(float) == value || value.isNaN || float.description == value.description ? float : nil
        case .decimal(let value):
            guard let float = Float(value.description), Decimal(string: float.description) == value else { return nil }
            return float
        default: return nil
        }
    }

    /// The kind of this value in words.
    package var kindDescription: String {
        switch self {
        case .null: "no value"
        case .integer: "the whole number \(shortText)"
        case .decimal, .double, .float: "the number \(shortText)"
        case .string: "the text \(shortText)"
        case .boolean: "the boolean \(shortText)"
        case .date: "the date \(shortText)"
        case .binary, .transformable: "the bytes \(shortText)"
        case .uuid: "the UUID \(shortText)"
        case .uri: "the URI \(shortText)"
        case .objectID: "the object \(shortText)"
        case .composite: "a composite"
        }
    }

    /// The value as text for a message, cut if it is long.
    package var shortText: String {
        switch self {
        case .null: "nil"
        case .integer(let value): "\(value)"
        case .decimal(let value): value.description
        case .double(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let value): value.count > 40 ? "\"\(value.prefix(40))…\"" : "\"\(value)\""
        case .boolean(let value): value ? "YES" : "NO"
        case .date(let value): DateText.text(of: value)
        case .binary(let value), .transformable(let value): "of length \(value.count)"
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .objectID(let value): value.uriRepresentation
        case .composite(let parts): "{" + parts.keys.sorted().joined(separator: ", ") + "}"
        }
    }
}
