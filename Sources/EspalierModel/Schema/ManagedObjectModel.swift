// The checked model: every name resolved, inheritance flattened, immutable and shared by all layers.
//
// Invariants
//   1. A model exists only if the whole of it is valid; otherwise `init` reports every error at once.
//   2. Nothing in it ever changes, so it is Sendable and needs no lock.
//   3. Entities refer to each other by index into `entities`, never by reference: there is no cycle to leak.
//   4. In `Entity.attributes` and `.relationships` inherited properties come first, so that a property has the same
//      index ("slot") in an entity and in all its subentities.

/// A schema: entities, their properties and their rules, checked as a whole (Behaviour MD-01 to MD-33).
public final class ManagedObjectModel: Sendable {
    /// The position of an entity in `entities`.
    public typealias EntityIndex = Int

    /// All entities, in the order they were described in.
    public let entities: [Entity]
    /// Names the developer gave this version of the model.
    public let versionIdentifiers: [String]
    /// Named choices of entities, in the order they were described in (MD-04).
    public let configurations: [ConfigurationDescription]
    /// Requests that have a name, in the order they were described in.
    public let fetchRequestTemplates: [FetchRequestTemplate]
    /// The class of the objects of each entity, by entity name; empty for a model that was described without classes.
    package let classes: [String: AnyClass]
    /// The entities that relationships without inverse lead to.
    package let oneWayDestinations: [Entity]
    private let indexByName: [String: EntityIndex]

    /// Checks the descriptions as a whole and resolves them.
    ///
    /// - Throws: `ModelError` with every problem found, not only the first.
    /// - Complexity: O(entities x properties).
    public convenience init(
        entities descriptions: [EntityDescription], versionIdentifiers: [String] = [],
        configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestTemplate] = []
    ) throws(ModelError) {
        try self.init(
            entities: descriptions, versionIdentifiers: versionIdentifiers, classes: [:],
            configurations: configurations, fetchRequestTemplates: fetchRequestTemplates)
    }

    /// Checks and resolves as the public initializer does, and remembers which class stands for which entity.
    package init(
        entities descriptions: [EntityDescription], versionIdentifiers: [String], classes: [String: AnyClass],
        configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestTemplate] = []
    ) throws(ModelError) {
        let checker = ModelChecker(descriptions)
        let problems = checker.problems() + checker.problems(of: configurations, fetchRequestTemplates)
        guard problems.isEmpty else { throw ModelError(problems: problems) }
        entities = ModelResolver(descriptions).entities()
        indexByName = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.name, $0) })
        let led = entities.lazy.flatMap(\.relationships).filter { $0.inverse == nil }.map(\.destination)
        oneWayDestinations = Set(led).sorted().map { [entities] in entities[$0] }
        self.versionIdentifiers = versionIdentifiers
        self.configurations = configurations
        self.fetchRequestTemplates = fetchRequestTemplates
        self.classes = classes
    }

    /// The entity called `name`.
    public func entity(named name: String) -> Entity? { indexByName[name].map { entities[$0] } }

    /// The entity at the other end of `relationship`.
    public func destination(of relationship: Relationship) -> Entity { entities[relationship.destination] }

    /// The relationship back, or `nil` if it has none (MD-30).
    public func inverse(of relationship: Relationship) -> Relationship? {
        relationship.inverse.map { entities[relationship.destination].relationships[$0] }
    }

    /// The entities of the configuration called `name`, in its order; `nil` if there is none.
    public func entities(forConfigurationNamed name: String) -> [Entity]? {
        configurations.first { $0.name == name }.map { $0.entities.compactMap { entity(named: $0) } }
    }

    /// The request called `name`.
    public func fetchRequestTemplate(named name: String) -> FetchRequestTemplate? {
        fetchRequestTemplates.first { $0.name == name }
    }

    /// The descriptions this model was made of.
    public var descriptions: [EntityDescription] { entities.map(\.description) }

    /// The descriptions as a store keeps them, so that a file explains itself: without what only applications need.
    package var storedDescriptions: [EntityDescription] { entities.map(\.description.stored) }
}

/// An entity of a checked model.
public final class Entity: Sendable {
    /// What a name of a property stands for.
    public enum Property: Sendable, Hashable {
        /// Slot in `attributes`.
        case attribute(Int)
        /// Slot in `relationships`.
        case relationship(Int)
    }

    /// What the developer wrote: own properties only.
    public let description: EntityDescription
    /// The position in the model.
    public let index: ManagedObjectModel.EntityIndex
    /// The direct superentity.
    public let superentity: ManagedObjectModel.EntityIndex?
    /// The topmost entity of the hierarchy (itself, if it inherits from none): all share one tree in a store.
    public let root: ManagedObjectModel.EntityIndex
    /// This entity and everything that inherits from it, at any depth, in ascending order.
    public let family: [ManagedObjectModel.EntityIndex]
    /// All attributes, inherited ones first; the position is the attribute's slot.
    public let attributes: [Attribute]
    /// All relationships, inherited ones first; the position is the relationship's slot.
    public let relationships: [Relationship]
    /// All uniqueness constraints, inherited ones first.
    public let uniquenessConstraints: [[String]]
    /// All indexes, inherited ones first, those of single `isIndexed` attributes included (named like the attribute).
    public let indexes: [EntityDescription.Index]
    /// The number that stands for the entity's name in an `ObjectID` of this process.
    package let tag: UInt32
    private let propertiesByName: [String: Property]

    package init(
        description: EntityDescription, index: Int, superentity: Int?, root: Int, family: [Int],
        attributes: [Attribute], relationships: [Relationship], uniquenessConstraints: [[String]],
        indexes: [EntityDescription.Index]
    ) {
        self.description = description
        self.index = index
        self.superentity = superentity
        self.root = root
        self.family = family
        self.attributes = attributes
        self.relationships = relationships
        self.uniquenessConstraints = uniquenessConstraints
        self.indexes = indexes
        tag = Interned.entities.tag(of: description.name)
        var properties: [String: Property] = [:]
        for (slot, attribute) in attributes.enumerated() { properties[attribute.name] = .attribute(slot) }
        for (slot, relationship) in relationships.enumerated() { properties[relationship.name] = .relationship(slot) }
        propertiesByName = properties
    }

    /// The name, unique in the model.
    public var name: String { description.name }
    /// Whether no object may be of exactly this entity.
    public var isAbstract: Bool { description.isAbstract }
    /// What `name` stands for; `nil` if the entity has no such property.
    public func property(named name: String) -> Property? { propertiesByName[name] }

    /// The attribute called `name`.
    public func attribute(named name: String) -> Attribute? {
        guard case .attribute(let slot)? = propertiesByName[name] else { return nil }
        return attributes[slot]
    }

    /// The relationship called `name`.
    public func relationship(named name: String) -> Relationship? {
        guard case .relationship(let slot)? = propertiesByName[name] else { return nil }
        return relationships[slot]
    }

    /// Whether this entity is `other` or inherits from it.
    public func isKind(of other: Entity) -> Bool { self === other || other.family.contains(index) }
}

/// An attribute of a checked model.
public final class Attribute: Sendable {
    /// What the developer wrote.
    public let description: AttributeDescription
    /// The position among all attributes of the entity and of its subentities.
    public let slot: Int
    /// The entity that declares it.
    public let declaredBy: ManagedObjectModel.EntityIndex

    package init(description: AttributeDescription, slot: Int, declaredBy: Int) {
        (self.description, self.slot, self.declaredBy) = (description, slot, declaredBy)
    }

    /// The name.
    public var name: String { description.name }
    /// The type of its values.
    public var type: AttributeType { description.type }
    /// Whether it may be without a value when saved.
    public var isOptional: Bool { description.isOptional }
    /// Whether it is never stored.
    public var isTransient: Bool { description.isTransient }
    /// The value a new object begins with.
    public var defaultValue: AttributeValue { description.defaultValue }
    /// Whether `value` may be stored as it is in this attribute.
    ///
    /// The same as the description says, without a copy of the description.
    package func accepts(_ value: AttributeValue) -> Bool { description.accepts(value) }
}

/// A relationship of a checked model.
public final class Relationship: Sendable {
    /// What the developer wrote.
    public let description: RelationshipDescription
    /// The position among all relationships of the entity and of its subentities.
    public let slot: Int
    /// The entity that declares it.
    public let declaredBy: ManagedObjectModel.EntityIndex
    /// The entity at the other end.
    public let destination: ManagedObjectModel.EntityIndex
    /// The slot of the relationship back, in the destination entity; `nil` = none.
    public let inverse: Int?

    package init(description: RelationshipDescription, slot: Int, declaredBy: Int, destination: Int, inverse: Int?) {
        self.description = description
        self.slot = slot
        self.declaredBy = declaredBy
        self.destination = destination
        self.inverse = inverse
    }

    /// The name.
    public var name: String { description.name }
    /// Whether there may be more than one destination.
    public var isToMany: Bool { description.cardinality != .toOne }
    /// Whether the order of the destinations is kept.
    public var isOrdered: Bool { description.cardinality == .ordered }
    /// What happens to destinations when an object is deleted.
    public var deleteRule: DeleteRule { description.deleteRule }
    /// Whether it may be empty when saved.
    public var isOptional: Bool { description.isOptional }
}
