// One value of one attribute, as it crosses every border between graph, store and file.
//
// Invariants
//   1. `.null` stands for "no value" of every type; there is no other spelling of it.
//   2. All three integer types share `.integer`; the range belongs to the attribute, not to the value.
// Not here: how values are ordered and compared (AttributeValue+Comparison), how they look in a row (EspalierStore).

public import FoundationEssentials

/// One value of one attribute: what snapshots hold, predicates compare and stores encode.
public enum AttributeValue: Sendable, Hashable {
    /// No value.
    case null
    /// A value of an `integer16`, `integer32` or `integer64` attribute.
    case integer(Int64)
    /// A value of a `decimal` attribute.
    case decimal(Decimal)
    /// A value of a `double` attribute.
    case double(Double)
    /// A value of a `float` attribute.
    case float(Float)
    /// A value of a `string` attribute.
    case string(String)
    /// A value of a `boolean` attribute.
    case boolean(Bool)
    /// A value of a `date` attribute.
    case date(Date)
    /// A value of a `binary` attribute.
    case binary(Data)
    /// A value of a `uuid` attribute.
    case uuid(UUID)
    /// A value of a `uri` attribute.
    case uri(URL)
    /// The bytes a transformer made of a `transformable` attribute's value.
    case transformable(Data)
    /// An object ID.
    case objectID(ObjectID)
    /// The named parts of a `composite` attribute.
    case composite([String: AttributeValue])

    /// Whether this is `.null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }
}
