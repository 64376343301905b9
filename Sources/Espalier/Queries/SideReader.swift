// Reads the values of one property on the sides of a conflict, with the type of the property.
//
// Invariants
//   1. A value that is none of the property's type is never read as the absence of a value: the reader remembers it,
//      and the sides are then unreadable as a whole.

import EspalierModel

/// Reads the sides of a conflict one after the other.
struct SideReader<Value> {
    /// The Swift value of a value that is not null; `nil` for one of another type.
    private let convert: (AttributeValue) -> Value?
    /// Whether a side had a value that is none of the property's type.
    private(set) var hasOtherType = false

    private init(_ convert: @escaping (AttributeValue) -> Value?) { self.convert = convert }

    /// A reader of the values of an attribute.
    static var ofAttribute: SideReader { SideReader { SwiftValue<Value>($0)?.value } }

    /// A reader of the destinations of a to-one relationship.
    static func destination<Destination: ManagedObject>(
        of objectClass: Destination.Type
    ) -> SideReader where Value == Ref<Destination> {
        SideReader { if case .objectID(let id) = $0 { Ref<Destination>(id) } else { nil } }
    }

    /// The Swift value of a side; `nil` for none, and for a value of another type.
    mutating func value(_ side: AttributeValue?) -> Value? {
        guard let side, !side.isNull else { return nil }
        let converted = convert(side)
        if converted == nil { hasOtherType = true }
        return converted
    }
}
