// Transformers, which turn values of one Swift type into the bytes of a transformable attribute and back (MD-24).
//
// Invariants
//   1. The transformer decides the type of the value, never the bytes: bytes from a file name no class.
//   2. A transformer of a name is found by every thread as soon as `register` has returned.

public import FoundationEssentials
import Synchronization

/// Turns values of one type into bytes and back, for transformable attributes.
///
///     struct ColorTransformer: AttributeTransformer {
///         func data(from color: Color) throws -> Data { Data([color.red, color.green, color.blue]) }
///         func value(from data: Data) throws -> Color {
///             guard data.count == 3 else { throw ColorError.length(data.count) }
///             return Color(red: data[0], green: data[1], blue: data[2])
///         }
///     }
///     try AttributeTransformers.register(ColorTransformer(), forName: "Color")
///
///     @Entity final class Pen: ManagedObject {
///         @Attribute(.transformable(by: "Color")) var color: Color?
///     }
///
/// Equal values must become equal bytes: an object is changed if the bytes are. The bytes come from a file, so
/// `value(from:)` must not trust them.
public protocol AttributeTransformer<Value>: Sendable {
    /// The type of the values.
    associatedtype Value
    /// The bytes that the store keeps; they begin at index 0.
    ///
    /// - Throws: any error; the change of the property is then refused, and the next save reports it.
    func data(from value: Value) throws -> Data
    /// The value of these bytes.
    ///
    /// - Throws: any error; the property then reads as `nil`, and the next save reports it.
    func value(from data: Data) throws -> Value
}

/// The transformers of the process, by name.
public enum AttributeTransformers {
    /// The name of the transformer of every `Codable` type.
    package static let codableName = "Codable"

    private static let registered = Mutex<[String: any AttributeTransformer]>([:])

    /// Registers a transformer, in place of an earlier one of the same name.
    ///
    /// Attributes refer to it by `@Attribute(.transformable(by:))`, or by `valueTransformerName` in a model file.
    ///
    /// - Throws: `AttributeTransformerError.reservedName` for an empty name and for `Codable`.
    public static func register(
        _ transformer: any AttributeTransformer, forName name: String
    ) throws(AttributeTransformerError) {
        guard !name.isEmpty, name != codableName else { throw .reservedName(name) }
        registered.withLock { $0[name] = transformer }
    }

    /// The transformer that is registered under `name`; `nil` if there is none.
    public static func transformer(forName name: String) -> (any AttributeTransformer)? {
        registered.withLock { $0[name] }
    }

    /// The registered names, in the order of the alphabet.
    public static var names: [String] { registered.withLock { $0.keys.sorted() } }

    /// The bytes of a value.
    static func data<Value>(from value: Value, by name: String) throws(AttributeTransformerError) -> Data {
        try data(from: value, by: try known(name), name)
    }

    /// The value of bytes.
    static func value<Value>(from data: Data, by name: String) throws(AttributeTransformerError) -> Value {
        try value(from: data, by: try known(name), name)
    }

    private static func known(_ name: String) throws(AttributeTransformerError) -> any AttributeTransformer {
        guard let transformer = transformer(forName: name) else { throw .unregistered(name: name, known: names) }
        return transformer
    }

    private static func data<Value, Transformer: AttributeTransformer>(
        from value: Value, by transformer: Transformer, _ name: String
    ) throws(AttributeTransformerError) -> Data {
        guard let value = value as? Transformer.Value else {
            throw .wrongType(name: name, found: "\(Transformer.Value.self)", expected: "\(Value.self)")
        }
        do { return try transformer.data(from: value) } catch { throw .failed(name: name, reason: "\(error)") }
    }

    private static func value<Value, Transformer: AttributeTransformer>(
        from data: Data, by transformer: Transformer, _ name: String
    ) throws(AttributeTransformerError) -> Value {
        // The bytes may be a slice of a page; transformers count from 0.
        let bytes = data.startIndex == 0 ? data : Data(data)
        let found: Transformer.Value
        do { found = try transformer.value(from: bytes) } catch { throw .failed(name: name, reason: "\(error)") }
        guard let value = found as? Value else {
            throw .wrongType(name: name, found: "\(Transformer.Value.self)", expected: "\(Value.self)")
        }
        return value
    }
}

/// The form in which attributes keep values of `Codable` types: JSON in UTF-8, with sorted keys.
///
/// Sorted keys make equal values equal bytes. Numbers that JSON lacks are the texts `Infinity`, `-Infinity` and `NaN`;
/// dates are seconds since 2001-01-01 00:00:00 UTC, bytes are Base64.
enum CodableForm {
    /// The bytes of a value.
    static func data(from value: some Encodable) throws(AttributeTransformerError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do {
            return try encoder.encode(value)
        } catch {
            throw .failed(name: AttributeTransformers.codableName, reason: "\(error)")
        }
    }

    /// The value of bytes.
    static func value<Value: Decodable>(from data: Data) throws(AttributeTransformerError) -> Value {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do {
            return try decoder.decode(Value.self, from: data)
        } catch {
            throw .failed(name: AttributeTransformers.codableName, reason: "\(error)")
        }
    }
}
