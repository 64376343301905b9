// One value of one attribute, in the form that graph, store and file exchange.
//
// Invariants
//   1. `.null` is the only representation of "no value", for every type.
//   2. All three integer types share `.integer`; the range belongs to the attribute, not to the value.
// Not here: the order of values (AttributeValue+Comparison), their encoding in a row (EspalierStore).

public import FoundationEssentials

/// One value of one attribute: snapshots hold it, predicates compare it, and stores encode it.
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
    /// The bytes that a transformer made from the value of a `transformable` attribute.
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
