// What all objects of one entity in one context share: entity, class, defaults, inverses, and names already looked up.
//
// Invariants
//   1. Within an entity a property name stands for one slot, so the address of a name's literal does too.
//   2. A shape belongs to one context (or to one object without context): it is not Sendable and needs no lock.

import EspalierModel

/// The part of an object that is the same for all objects of its entity.
final class EntityShape {
    let entity: Entity
    /// `nil` for an object whose entity is of no model of a context (see `ManagedObject.init(context:)`).
    let model: ManagedObjectModel?
    let objectClass: ManagedObject.Type
    /// The values a new object begins with, by slot.
    let defaultValues: [AttributeValue]
    /// The slots of `defaultValues`.
    let attributeSlots: [UInt16]
    let hasTransientAttributes: Bool
    /// The relationship back of each relationship, by slot.
    let inverses: [Relationship?]
    private var names: [NameEntry]

    private struct NameEntry {
        /// The address of the literal, or the scalar it consists of; 0 = free.
        var literal: UInt = 0
        /// Where the search for it begins.
        var index = 0
        var property: Entity.Property?
    }

    init(_ entity: Entity, model: ManagedObjectModel?, objectClass: ManagedObject.Type) {
        self.entity = entity
        self.model = model
        self.objectClass = objectClass
        defaultValues = entity.attributes.map(\.defaultValue)
        attributeSlots = entity.attributes.indices.map(UInt16.init)
        hasTransientAttributes = entity.attributes.contains(where: \.isTransient)
        inverses = entity.relationships.map { model?.inverse(of: $0) }
        names = Array(repeating: NameEntry(), count: 16)
    }

    /// What the property called `name` is; `nil` if the entity has none.
    ///
    /// - Parameter index: where the search in the cache begins: the position of the property in its class.
    /// - Complexity: O(1) without hashing or comparing text, after the first time.
    func property(_ name: StaticString, at index: Int) -> Entity.Property? {
        let literal = Self.identity(of: name)
        let mask = names.count - 1
        var position = index & mask
        while names[position].literal != 0 {
            if names[position].literal == literal { return names[position].property }
            position = (position + 1) & mask
        }
        let property = entity.property(named: name.description)
        remember(NameEntry(literal: literal, index: index, property: property))
        return property
    }

    private func remember(_ entry: NameEntry) {
        let known = names.filter { $0.literal != 0 } + [entry]
        // At most half full, so that every search meets a free entry.
        if known.count * 2 > names.count {
            names = Array(repeating: NameEntry(), count: names.count * 2)
            for entry in known { place(entry) }
        } else {
            place(entry)
        }
    }

    private func place(_ entry: NameEntry) {
        var position = entry.index & (names.count - 1)
        while names[position].literal != 0 { position = (position + 1) & (names.count - 1) }
        names[position] = entry
    }

    private static func identity(of name: StaticString) -> UInt {
        guard name.hasPointerRepresentation else { return UInt(name.unicodeScalar.value) }
        // SAFETY: the pointer is only made a number; nothing is read through it.
        return unsafe UInt(bitPattern: name.utf8Start)
    }
}
