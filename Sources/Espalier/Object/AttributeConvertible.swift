// Swift types as attribute values: the possible types of a stored property of an `@Entity` class.
//
// Invariants
//   1. A round trip yields an equal value: `T(attributeValue: x.attributeValue) == x`.
//   2. No conversion traps: an unsuitable value yields `nil`.

public import EspalierModel
public import FoundationEssentials

/// A type whose values an attribute can hold.
///
/// An enum with a raw value of such a type conforms by declaration:
///
///     enum Medium: String, CaseIterable, AttributeConvertible { case vinyl, file }
public protocol AttributeConvertible {
    /// The type of the attribute.
    static var attributeType: AttributeType { get }
    /// The elements, if the type is `composite`; otherwise empty.
    static var attributeElements: [AttributeDescription] { get }
    /// The value of a non-optional property while its attribute has none (`save()` then reports that).
    static var unsetValue: Self { get }
    /// The Swift value; `nil` if `attributeValue` is null, of another type or out of range.
    init?(attributeValue: AttributeValue)
    /// The value in the form that an attribute holds.
    var attributeValue: AttributeValue { get }
}

extension AttributeConvertible {
    /// None.
    public static var attributeElements: [AttributeDescription] { [] }
}

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
    /// The type of the raw value's attribute.
    public static var attributeType: AttributeType { RawValue.attributeType }
    /// The case with that raw value; `nil` if there is none.
    public init?(attributeValue: AttributeValue) {
        guard let rawValue = RawValue(attributeValue: attributeValue) else { return nil }
        self.init(rawValue: rawValue)
    }
    /// The raw value.
    public var attributeValue: AttributeValue { rawValue.attributeValue }
}

extension AttributeConvertible where Self: CaseIterable {
    /// The first case.
    public static var unsetValue: Self { allCases[allCases.startIndex] }
}

extension Int64: AttributeConvertible {
    /// `integer64`.
    public static var attributeType: AttributeType { .integer64 }
    /// Zero.
    public static var unsetValue: Int64 { 0 }
    /// The integer.
    public init?(attributeValue: AttributeValue) {
        guard case .integer(let value) = attributeValue else { return nil }
        self = value
    }
    /// The integer.
    public var attributeValue: AttributeValue { .integer(self) }
}

extension Int: AttributeConvertible {
    /// `integer64`.
    public static var attributeType: AttributeType { .integer64 }
    /// Zero.
    public static var unsetValue: Int { 0 }
    /// The integer, if it fits.
    public init?(attributeValue: AttributeValue) {
        guard case .integer(let value) = attributeValue else { return nil }
        self.init(exactly: value)
    }
    /// The integer.
    public var attributeValue: AttributeValue { .integer(Int64(self)) }
}

extension Int32: AttributeConvertible {
    /// `integer32`.
    public static var attributeType: AttributeType { .integer32 }
    /// Zero.
    public static var unsetValue: Int32 { 0 }
    /// The integer, if it fits.
    public init?(attributeValue: AttributeValue) {
        guard case .integer(let value) = attributeValue else { return nil }
        self.init(exactly: value)
    }
    /// The integer.
    public var attributeValue: AttributeValue { .integer(Int64(self)) }
}

extension Int16: AttributeConvertible {
    /// `integer16`.
    public static var attributeType: AttributeType { .integer16 }
    /// Zero.
    public static var unsetValue: Int16 { 0 }
    /// The integer, if it fits.
    public init?(attributeValue: AttributeValue) {
        guard case .integer(let value) = attributeValue else { return nil }
        self.init(exactly: value)
    }
    /// The integer.
    public var attributeValue: AttributeValue { .integer(Int64(self)) }
}

extension Double: AttributeConvertible {
    /// `double`.
    public static var attributeType: AttributeType { .double }
    /// Zero.
    public static var unsetValue: Double { 0 }
    /// The number.
    public init?(attributeValue: AttributeValue) {
        guard case .double(let value) = attributeValue else { return nil }
        self = value
    }
    /// The number.
    public var attributeValue: AttributeValue { .double(self) }
}

extension Float: AttributeConvertible {
    /// `float`.
    public static var attributeType: AttributeType { .float }
    /// Zero.
    public static var unsetValue: Float { 0 }
    /// The number.
    public init?(attributeValue: AttributeValue) {
        guard case .float(let value) = attributeValue else { return nil }
        self = value
    }
    /// The number.
    public var attributeValue: AttributeValue { .float(self) }
}

extension String: AttributeConvertible {
    /// `string`.
    public static var attributeType: AttributeType { .string }
    /// The empty text.
    public static var unsetValue: String { "" }
    /// The text.
    public init?(attributeValue: AttributeValue) {
        guard case .string(let value) = attributeValue else { return nil }
        self = value
    }
    /// The text.
    public var attributeValue: AttributeValue { .string(self) }
}

extension Bool: AttributeConvertible {
    /// `boolean`.
    public static var attributeType: AttributeType { .boolean }
    /// False.
    public static var unsetValue: Bool { false }
    /// The truth value.
    public init?(attributeValue: AttributeValue) {
        guard case .boolean(let value) = attributeValue else { return nil }
        self = value
    }
    /// The truth value.
    public var attributeValue: AttributeValue { .boolean(self) }
}

extension Date: AttributeConvertible {
    /// `date`.
    public static var attributeType: AttributeType { .date }
    /// The distant past.
    public static var unsetValue: Date { .distantPast }
    /// The point in time.
    public init?(attributeValue: AttributeValue) {
        guard case .date(let value) = attributeValue else { return nil }
        self = value
    }
    /// The point in time.
    public var attributeValue: AttributeValue { .date(self) }
}

extension Data: AttributeConvertible {
    /// `binary`.
    public static var attributeType: AttributeType { .binary }
    /// No bytes.
    public static var unsetValue: Data { Data() }
    /// The bytes.
    public init?(attributeValue: AttributeValue) {
        guard case .binary(let value) = attributeValue else { return nil }
        self = value
    }
    /// The bytes.
    public var attributeValue: AttributeValue { .binary(self) }
}

extension UUID: AttributeConvertible {
    /// `uuid`.
    public static var attributeType: AttributeType { .uuid }
    /// All bits zero.
    public static var unsetValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    /// The identifier.
    public init?(attributeValue: AttributeValue) {
        guard case .uuid(let value) = attributeValue else { return nil }
        self = value
    }
    /// The identifier.
    public var attributeValue: AttributeValue { .uuid(self) }
}

extension URL: AttributeConvertible {
    /// `uri`.
    public static var attributeType: AttributeType { .uri }
    /// `file:///`.
    public static var unsetValue: URL { URL(filePath: "/", directoryHint: .isDirectory) }
    /// The URI.
    public init?(attributeValue: AttributeValue) {
        guard case .uri(let value) = attributeValue else { return nil }
        self = value
    }
    /// The URI.
    public var attributeValue: AttributeValue { .uri(self) }
}

extension Decimal: AttributeConvertible {
    /// `decimal`.
    public static var attributeType: AttributeType { .decimal }
    /// Zero.
    public static var unsetValue: Decimal { 0 }
    /// The number.
    public init?(attributeValue: AttributeValue) {
        guard case .decimal(let value) = attributeValue else { return nil }
        self = value
    }
    /// The number.
    public var attributeValue: AttributeValue { .decimal(self) }
}
