// The properties of a new row that its sender has named.
//
// Invariants
//   1. Bits beyond the properties of the entity are 0, so that two values are equal if they name the same properties.
// The rows of an entity with few properties need no memory of their own: one word has all bits.

package import EspalierModel

/// A set of properties of one entity.
package struct NamedProperties: Sendable, Hashable {
    private let attributeCount: Int
    /// A bit for each attribute and then one for each relationship: the first 64.
    private var first: UInt64 = 0
    /// The others, 64 in each; empty if there are none.
    private var rest: [UInt64] = []

    /// No properties, of an entity with so many.
    package init(attributeCount: Int, relationshipCount: Int) {
        assert(attributeCount >= 0 && relationshipCount >= 0, "\(attributeCount) attributes of an entity")
        self.attributeCount = attributeCount
        let count = attributeCount + relationshipCount
        if count > 64 { rest = Array(repeating: 0, count: (count - 1) / 64) }
    }

    /// Adds a property.
    package mutating func insert(_ property: Entity.Property) {
        let place = place(of: property)
        let bit: UInt64 = 1 << UInt64(place & 63)
        if place < 64 { first |= bit } else { rest[place / 64 - 1] |= bit }
        assert(contains(property), "a property at \(place) was added and is not there")
    }

    /// Removes all properties.
    package mutating func removeAll() {
        first = 0
        for position in rest.indices { rest[position] = 0 }
        assert(first == 0 && rest.allSatisfy { $0 == 0 }, "some of \(attributeCount) attributes stay named")
    }

    /// Whether the property is one of them.
    package func contains(_ property: Entity.Property) -> Bool {
        let place = place(of: property)
        let word = place < 64 ? first : rest[place / 64 - 1]
        return word >> UInt64(place & 63) & 1 != 0
    }

    private func place(of property: Entity.Property) -> Int {
        switch property {
        case .attribute(let slot):
            assert(slot >= 0 && slot < attributeCount, "attribute \(slot) of \(attributeCount)")
            return slot
        case .relationship(let slot): return attributeCount + slot
        }
    }
}
