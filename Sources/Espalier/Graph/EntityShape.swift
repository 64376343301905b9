// The shared part of all objects of one entity in one context: entity, class, defaults, inverses, resolved names.
//
// Invariants
//   1. Within an entity a property name identifies one slot, so the address of a name's literal identifies one slot
//      too.
//   2. A shape belongs to one context (or to one object without context): it is not Sendable and needs no lock.

import EspalierModel

/// The model's demands on an attribute: that it has a value, or that its number is in the range of its type.
struct AttributeRule {
    let mustHaveValue: Bool
    /// The values of an integer type of less than 64 bits; `nil` for other types.
    let range: ClosedRange<Int64>?

    /// `nil` if there is nothing to check.
    init?(_ attribute: Attribute) {
        switch attribute.type {
        case .integer16: range = Int64(Int16.min)...Int64(Int16.max)
        case .integer32: range = Int64(Int32.min)...Int64(Int32.max)
        default: range = nil
        }
        mustHaveValue = !attribute.isOptional
        // A store computes a derived value, also where an object in memory does not have it.
        if attribute.isTransient || attribute.derivation != nil || (!mustHaveValue && range == nil) { return nil }
    }

    /// The reason why `value` is invalid; `nil` if it is valid.
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

/// The state that all objects of one entity in one context share.
@safe
final class EntityShape: SharedByObjects {
    /// The context whose objects have this shape, until it detaches them.
    private(set) var context: Unretained<ManagedObjectContext>
    /// The context that has forgotten the objects of this shape; `nil` after it has ended.
    private(set) weak var formerContext: ManagedObjectContext?
    /// Whether the objects of this shape belong to no context, and the context that forgot them, if any, has ended.
    var isContextEnded: Bool { context.isNil && formerContext == nil }
    let entity: Entity
    /// `nil` for an object whose entity does not belong to a context's model (see `ManagedObject.init(context:)`).
    let model: ManagedObjectModel?
    let objectClass: ManagedObject.Type
    /// The initial values of a new object, by slot.
    let defaultValues: [AttributeValue]
    /// The types of the attributes, by slot.
    let attributeTypes: [AttributeType]
    /// The same, without those of derived attributes, which cannot be set.
    let settableTypes: [AttributeType?]
    let hasTransientAttributes: Bool
    /// The rules of derived attributes, by slot; empty if there are none.
    let derivations: [ResolvedDerivation?]
    /// The context's observed objects, to which reads are reported, as long as it has these; `nil` if it does not care.
    var observed: Unretained<ObservedObjects>
    /// The inverse of each relationship, by slot.
    let inverses: [Relationship?]
    /// The entity at the other end of each relationship, by slot; empty without a model.
    let destinationEntities: [Entity]
    /// The checks that the model demands of attributes, by slot.
    let attributeRules: [AttributeRule?]
    /// The rules for values of attributes and their elements, by slot.
    let validationRules: [[PreparedRule]]
    /// Whether an attribute has such a rule.
    let hasValidationRules: Bool
    /// The relationships with rules of the model: those that must have a destination, or a certain number of them.
    let checkedRelationships: [Relationship]
    /// The to-many relationships whose pairs or order this side sends to the store; the others follow from to-one
    /// sides.
    let sentRelationships: [Relationship]
    /// The properties that the class itself checks, and the names of those that the entity does not have.
    let validatedProperties: [(name: String, property: Entity.Property?)]
    /// The relationships whose destinations can forbid a deletion.
    let denyingRelationships: [Relationship]
    /// A cache of names by open addressing, with at least two places for each property.
    ///
    /// A search visits each place at most once. The cache is allocated outside Swift's arrays, because Swift checks
    /// exclusive access to an array in a class at each use: see Decisions, "Names of properties".
    private let names: UnsafeMutablePointer<NameEntry>
    private let nameMask: Int

    private struct NameEntry {
        /// The address of the literal, or its scalar if it consists of one; 0 = free.
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
        observed = Unretained(context?.observed)
        defaultValues = entity.attributes.map(\.defaultValue)
        attributeTypes = entity.attributes.map(\.type)
        hasTransientAttributes = entity.attributes.contains(where: \.isTransient)
        let derivations =
            entity.attributes.contains { $0.derivation != nil }
            ? entity.attributes.map { model?.derivation(of: $0) } : []
        settableTypes = entity.attributes.map { derivations.isEmpty || derivations[$0.slot] == nil ? $0.type : nil }
        self.derivations = derivations
        inverses = entity.relationships.map { model?.inverse(of: $0) }
        destinationEntities = model.map { model in entity.relationships.map(model.destination(of:)) } ?? []
        attributeRules = entity.attributes.map(AttributeRule.init)
        validationRules = entity.attributes.map(\.description.preparedRules)
        hasValidationRules = validationRules.contains { !$0.isEmpty }
        checkedRelationships = entity.relationships.filter { relationship in
            // Counting may load the list, so a relationship is checked only if it has such a rule.
            !relationship.isOptional
                || relationship.isToMany
                    && (relationship.description.minCount > 0 || relationship.description.maxCount > 0)
        }
        sentRelationships = entity.relationships.filter { relationship in
            guard relationship.isToMany else { return false }
            guard !relationship.isOrdered, let inverse = model?.inverse(of: relationship) else { return true }
            guard inverse.isToMany, !inverse.isOrdered else { return false }
            // Only one side of an unordered many-to-many relationship sends the pairs.
            return (relationship.declaredBy, relationship.slot) <= (inverse.declaredBy, inverse.slot)
        }
        validatedProperties = objectClass.validatedKeys.map { ($0, entity.property(named: $0)) }
        denyingRelationships = entity.relationships.filter { $0.deleteRule == .deny }
        var capacity = 8
        while capacity < 2 * (entity.attributes.count + entity.relationships.count) { capacity *= 2 }
        nameMask = capacity - 1
        // SAFETY: all `capacity` entries stay initialized until `deinit`.
        unsafe names = .allocate(capacity: capacity)
        unsafe names.initialize(repeating: NameEntry(), count: capacity)
    }

    deinit {
        // SAFETY: `init` allocated and initialized this number of entries.
        unsafe names.deinitialize(count: nameMask + 1)
        unsafe names.deallocate()
    }

    /// The rule of the attribute in `slot`, if it is derived.
    @inline(__always)
    func derivation(at slot: Int) -> ResolvedDerivation? { derivations.isEmpty ? nil : derivations[slot] }

    /// Detaches all objects of this shape from their context.
    func detachObjects(formerContext: ManagedObjectContext?) {
        (context, observed) = (Unretained(nil), Unretained(nil))
        self.formerContext = formerContext
    }

    /// The property called `name`; `nil` if the entity has none.
    ///
    /// - Parameter index: where the search in the cache begins: the position of the property in its class.
    /// - Complexity: O(1) after the first time, without hashing or comparing text.
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
        // SAFETY: the pointer is only converted to a number; nothing is read through it.
        return unsafe UInt(bitPattern: name.utf8Start)
    }
}
