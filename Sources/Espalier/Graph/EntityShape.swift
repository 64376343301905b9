// What all objects of one entity in one context share: entity, class, defaults, inverses, and names already looked up.
//
// Invariants
//   1. Within an entity a property name means one slot, so the address of a name's literal means one slot too.
//   2. A shape belongs to one context (or to one object without context): it is not Sendable and needs no lock.

import EspalierModel

/// What a model demands of an attribute: that it has a value, or that its number is small enough.
struct AttributeRule {
    let mustHaveValue: Bool
    /// The numbers an integer of less than 64 bits can have.
    let range: ClosedRange<Int64>?

    /// `nil` if there is nothing to check.
    init?(_ attribute: Attribute) {
        switch attribute.type {
        case .integer16: range = Int64(Int16.min)...Int64(Int16.max)
        case .integer32: range = Int64(Int32.min)...Int64(Int32.max)
        default: range = nil
        }
        mustHaveValue = !attribute.isOptional
        if attribute.isTransient || (!mustHaveValue && range == nil) { return nil }
    }

    /// What is wrong with `value`, if something is.
    func reason(against value: AttributeValue) -> Violation.Reason? {
        switch value {
        case .null: return mustHaveValue ? .missingValue : nil
        case .integer(let number):
            guard let range, !range.contains(number) else { return nil }
            return .outOfRange(value: value, minimum: range.lowerBound, maximum: range.upperBound)
        default: return nil
        }
    }
}

/// The part of an object that is the same for all objects of its entity.
@safe
final class EntityShape: SharedByObjects {
    /// The context whose objects have this shape, until it detaches them.
    private(set) var context: Unretained<ManagedObjectContext>
    /// The context that has forgotten the objects of this shape, as long as it lives.
    private(set) weak var formerContext: ManagedObjectContext?
    /// Whether the objects of this shape had a context, if it lives no more.
    var isContextEnded: Bool { context.isNil && formerContext == nil }
    let entity: Entity
    /// `nil` for an object whose entity is of no model of a context (see `ManagedObject.init(context:)`).
    let model: ManagedObjectModel?
    let objectClass: ManagedObject.Type
    /// The values a new object begins with, by slot.
    let defaultValues: [AttributeValue]
    /// The types of the attributes, by slot.
    let attributeTypes: [AttributeType]
    let hasTransientAttributes: Bool
    /// The relationship back of each relationship, by slot.
    let inverses: [Relationship?]
    /// The entity at the other end of each relationship, by slot; empty without a model.
    let destinationEntities: [Entity]
    /// What the model demands of attributes, by slot.
    let attributeRules: [AttributeRule?]
    /// The relationships for which a model has rules: those that must have a destination, or a number of them.
    let checkedRelationships: [Relationship]
    /// The to-many relationships whose pairs or order this side tells the store; the others follow from to-one sides.
    let sentRelationships: [Relationship]
    /// The relationships whose destinations can forbid a deletion.
    let denyingRelationships: [Relationship]
    /// A cache of names by open addressing, with at least two places for each property.
    ///
    /// A search visits each place at most once. It has memory of its own, because Swift checks the exclusivity of an
    /// array in a class at each use: see Decisions, "Names of properties".
    private let names: UnsafeMutablePointer<NameEntry>
    private let nameMask: Int

    private struct NameEntry {
        /// The address of the literal, or the scalar it consists of; 0 = free.
        var literal: UInt = 0
        var property: Entity.Property?
    }

    init(
        _ entity: Entity, model: ManagedObjectModel?, objectClass: ManagedObject.Type, in context: ManagedObjectContext?
    ) {
        self.context = Unretained(context)
        self.entity = entity
        self.model = model
        self.objectClass = objectClass
        defaultValues = entity.attributes.map(\.defaultValue)
        attributeTypes = entity.attributes.map(\.type)
        hasTransientAttributes = entity.attributes.contains(where: \.isTransient)
        inverses = entity.relationships.map { model?.inverse(of: $0) }
        destinationEntities = model.map { model in entity.relationships.map(model.destination(of:)) } ?? []
        attributeRules = entity.attributes.map(AttributeRule.init)
        checkedRelationships = entity.relationships.filter { relationship in
            // Counting may load the list: only where a rule asks for it.
            !relationship.isOptional
                || relationship.isToMany
                    && (relationship.description.minCount > 0 || relationship.description.maxCount > 0)
        }
        sentRelationships = entity.relationships.filter { relationship in
            guard relationship.isToMany else { return false }
            guard !relationship.isOrdered, let inverse = model?.inverse(of: relationship) else { return true }
            guard inverse.isToMany, !inverse.isOrdered else { return false }
            // Of the two sides of an unordered many-to-many relationship one sends the pairs.
            return (relationship.declaredBy, relationship.slot) <= (inverse.declaredBy, inverse.slot)
        }
        denyingRelationships = entity.relationships.filter { $0.deleteRule == .deny }
        var capacity = 8
        while capacity < 2 * (entity.attributes.count + entity.relationships.count) { capacity *= 2 }
        nameMask = capacity - 1
        // SAFETY: as long as the shape lives, all `capacity` entries are there.
        unsafe names = .allocate(capacity: capacity)
        unsafe names.initialize(repeating: NameEntry(), count: capacity)
    }

    deinit {
        // SAFETY: made so by `init`.
        unsafe names.deinitialize(count: nameMask + 1)
        unsafe names.deallocate()
    }

    /// Makes all objects of this shape objects of no context.
    func detachObjects(formerContext: ManagedObjectContext?) {
        context = Unretained(nil)
        self.formerContext = formerContext
    }

    /// What the property called `name` is; `nil` if the entity has none.
    ///
    /// - Parameter index: where the search in the cache begins: the position of the property in its class.
    /// - Complexity: O(1) without hashing or comparing text, after the first time.
    @inline(__always)
    func property(_ name: StaticString, at index: Int) -> Entity.Property? {
        let literal = Self.identity(of: name)
        // SAFETY: every position is masked.
        let entry = unsafe names[index & nameMask]
        return entry.literal == literal ? entry.property : searchedProperty(name, literal, home: index & nameMask)
    }

    @inline(never)
    private func searchedProperty(_ name: StaticString, _ literal: UInt, home: Int) -> Entity.Property? {
        var position = home
        // SAFETY: every position is masked.
        repeat {
            let entry = unsafe names[position]
            if entry.literal == literal { return entry.property }
            if entry.literal == 0 { break }
            position = (position + 1) & nameMask
        } while position != home
        // If no place is free, because many modules use the same names, the entry at the first place is replaced.
        let property = entity.property(named: name.description)
        unsafe names[position] = NameEntry(literal: literal, property: property)
        return property
    }

    private static func identity(of name: StaticString) -> UInt {
        guard name.hasPointerRepresentation else { return UInt(name.unicodeScalar.value) }
        // SAFETY: the pointer is only made a number; nothing is read through it.
        return unsafe UInt(bitPattern: name.utf8Start)
    }
}
