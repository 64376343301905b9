// The types that an attribute can have, with Core Data's names and numbers.
//
// Invariants
//   1. Raw values are those of NSAttributeType (Behaviour MD-18) and are on disk: never renumber.

/// The type of an attribute (Behaviour MD-18).
public enum AttributeType: UInt16, Sendable, Hashable, CaseIterable, Codable {
    /// No type; legal only for transient attributes, because a store does not hold such values.
    case undefined = 0
    /// A signed 16-bit integer.
    case integer16 = 100
    /// A signed 32-bit integer.
    case integer32 = 200
    /// A signed 64-bit integer.
    case integer64 = 300
    /// An exact decimal number.
    case decimal = 400
    /// An IEEE 754 double.
    case double = 500
    /// An IEEE 754 float.
    case float = 600
    /// Unicode text.
    case string = 700
    /// True or false.
    case boolean = 800
    /// A point in time, stored as seconds since 2001-01-01 00:00:00 UTC in a double (MD-21).
    case date = 900
    /// Raw bytes.
    case binary = 1000
    /// A 128-bit identifier.
    case uuid = 1100
    /// A URI, stored as its text.
    case uri = 1200
    /// A value that a named transformer turns into bytes (MD-24).
    case transformable = 1800
    /// An object ID; only legal for transient attributes (MD-25).
    case objectID = 2000
    /// A group of named values (MD-26).
    case composite = 2100
}
