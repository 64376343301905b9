// The validated model: names resolved, inheritance flattened, immutable and shared by all layers.
//
// Invariants
//   1. A model exists only if the whole of it is valid; otherwise `init` reports every error at once.
//   2. A model is immutable, so it is Sendable and needs no lock.
//   3. Entities refer to each other by index into `entities`, not by reference, so there are no reference cycles.
//   4. In `Entity.attributes` and `.relationships` inherited properties come first, so a property has the same index
//      ("slot") in an entity and in all its subentities.

/// A schema: entities, their properties and their rules, checked as a whole (Behaviour MD-01 to MD-33).
public final class ManagedObjectModel: Sendable {
    /// The position of an entity in `entities`.
    public typealias EntityIndex = Int

    /// All entities, in the order of their descriptions.
    public let entities: [Entity]
    /// The names that the developer gave to this version of the model.
    public let versionIdentifiers: [String]
    /// Named selections of entities, in the order of their descriptions (MD-04).
    public let configurations: [ConfigurationDescription]
    /// Named requests, in the order of their descriptions.
    public let fetchRequestTemplates: [FetchRequestTemplate]
    /// The class of the objects of each entity, by entity name; empty for a model described without classes.
    package let classes: [String: AnyClass]
    /// The destinations of relationships without an inverse.
    package let oneWayDestinations: [Entity]
    /// The actions that uniqueness constraints declare.
    package let constraintActions: [ConstraintName: ConstraintAction]
    /// Names and messages by language (MD-07).
    public let messageTables: [String: MessageTable]
    /// The language in which descriptions of violations are; `nil` = the words of the model itself.
    public let language: String?
    /// The table of that language, with names of inherited properties.
    package let messages: MessageTable?
    /// Whether the model is refused if no store can keep the answers of its conditions (FetchPredicate+Keeping), or if
    /// two properties continue the same one.
    ///
    /// Not so for the model in a store file: an older library may have written it.
    let judgesKeeping: Bool
    private let indexByName: [String: EntityIndex]

    /// Checks the descriptions as a whole and resolves them.
    ///
    /// The conditions of named requests are checked here, and not in models that come from files or that are merged:
    /// Core Data takes a model whose request fits no entity, and only that request fails.
    ///
    /// - Throws: `ModelError` with every problem found, not only the first.
    /// - Complexity: O(entities x properties), and O(size) for each condition.
    public convenience init(
        entities descriptions: [EntityDescription], versionIdentifiers: [String] = [],
        configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestTemplate] = []
    ) throws(ModelError) {
        try self.init(
            entities: descriptions, versionIdentifiers: versionIdentifiers, classes: [:],
            configurations: configurations, fetchRequestTemplates: fetchRequestTemplates)
        let wrong = fetchRequestTemplateProblems
        guard wrong.isEmpty else { throw ModelError(problems: wrong) }
    }

    /// Checks and resolves like the public initializer, apart from the conditions of named requests, and records the
    /// class of each entity.
    package init(
        entities descriptions: [EntityDescription], versionIdentifiers: [String], classes: [String: AnyClass],
        configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestTemplate] = [],
        judgesKeeping: Bool = true
    ) throws(ModelError) {
        let checker = ModelChecker(descriptions, isStored: !judgesKeeping)
        let problems = checker.problems() + checker.problems(of: configurations, fetchRequestTemplates)
        guard problems.isEmpty else { throw ModelError(problems: problems) }
        entities = ModelResolver(descriptions).entities()
        indexByName = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1.name, $0) })
        let led = entities.lazy.flatMap(\.relationships).filter { $0.inverse == nil }.map(\.destination)
        oneWayDestinations = Set(led).sorted().map { [entities] in entities[$0] }
        var actions: [ConstraintName: ConstraintAction] = [:]
        for entity in descriptions {
            for (properties, action) in entity.constraintActions {
                actions[ConstraintName(entity.name, properties)] = action
            }
        }
        constraintActions = actions
        self.versionIdentifiers = versionIdentifiers
        self.configurations = configurations
        self.fetchRequestTemplates = fetchRequestTemplates
        self.classes = classes
        self.judgesKeeping = judgesKeeping
        (messageTables, language, messages) = ([:], nil, nil)
        let wrong = derivationProblems + indexConditionProblems + indexExpressionProblems + fetchedPropertyProblems
        guard wrong.isEmpty else { throw ModelError(problems: wrong) }
    }

    /// The same model, with the same entities, and with other names and messages.
    init(_ model: ManagedObjectModel, messageTables: [String: MessageTable], language: String?) {
        (entities, indexByName, classes) = (model.entities, model.indexByName, model.classes)
        judgesKeeping = model.judgesKeeping
        (versionIdentifiers, configurations) = (model.versionIdentifiers, model.configurations)
        fetchRequestTemplates = model.fetchRequestTemplates
        (oneWayDestinations, constraintActions) = (model.oneWayDestinations, model.constraintActions)
        (self.messageTables, self.language) = (messageTables, language)
        messages = language.flatMap { Self.key(for: $0, messageTables) }.flatMap { messageTables[$0] }
            .map { $0.completed(for: model.entities) }
    }

    /// The entity called `name`.
    public func entity(named name: String) -> Entity? { indexByName[name].map { entities[$0] } }

    /// The entity at the other end of `relationship`.
    public func destination(of relationship: Relationship) -> Entity { entities[relationship.destination] }

    /// The inverse relationship; `nil` if there is none (MD-30).
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

    /// The descriptions from which this model was made.
    public var descriptions: [EntityDescription] { entities.map(\.description) }

    /// The descriptions as a store keeps them, without the parts that only applications need.
    package var storedDescriptions: [EntityDescription] { entities.map(\.description.stored) }
}

/// An entity of a validated model.
public final class Entity: Sendable {
    /// The kind and slot of a named property.
    public enum Property: Sendable, Hashable {
        /// The slot in `attributes`.
        case attribute(Int)
        /// The slot in `relationships`.
        case relationship(Int)
    }

    /// The developer's description, with the entity's own properties only.
    public let description: EntityDescription
    /// The index of the entity in the model.
    public let index: ManagedObjectModel.EntityIndex
    /// The index of the direct superentity.
    public let superentity: ManagedObjectModel.EntityIndex?
    /// The index of the topmost entity of the hierarchy, possibly this one.
    ///
    /// All entities of a hierarchy share one tree in a store.
    public let root: ManagedObjectModel.EntityIndex
    /// The indices of this entity and all its descendants, ascending.
    public let family: [ManagedObjectModel.EntityIndex]
    /// All attributes, inherited ones first; the index is the attribute's slot.
    public let attributes: [Attribute]
    /// All relationships, inherited ones first; the index is the relationship's slot.
    public let relationships: [Relationship]
    /// All fetched properties, inherited ones first.
    public let fetchedProperties: [FetchedPropertyDescription]
    /// All uniqueness constraints, inherited ones first.
    public let uniquenessConstraints: [[String]]
    /// All indexes, inherited ones first.
    ///
    /// An index of a single `isIndexed` attribute has the attribute's name.
    public let indexes: [EntityDescription.Index]
    /// The number of the entity's name in the `ObjectID`s of this process.
    package let tag: UInt32
    private let propertiesByName: [String: Property]

    package init(
        description: EntityDescription, index: Int, superentity: Int?, root: Int, family: [Int],
        attributes: [Attribute], relationships: [Relationship], fetchedProperties: [FetchedPropertyDescription],
        uniquenessConstraints: [[String]], indexes: [EntityDescription.Index]
    ) {
        self.description = description
        self.index = index
        self.superentity = superentity
        self.root = root
        self.family = family
        self.attributes = attributes
        self.relationships = relationships
        self.fetchedProperties = fetchedProperties
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
    /// Whether every object must belong to a subentity.
    public var isAbstract: Bool { description.isAbstract }
    /// The property called `name`; `nil` if the entity has no such property.
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

    /// The relationships, inherited ones too, whose destination is declared as exactly this entity (MD-09).
    ///
    /// - Complexity: O(relationships of the entity).
    public func relationships(forDestination entity: Entity) -> [Relationship] {
        relationships.filter { $0.description.destination == entity.name }
    }

    /// The fetched property called `name` (FR-24).
    public func fetchedProperty(named name: String) -> FetchedPropertyDescription? {
        fetchedProperties.first { $0.name == name }
    }

    /// Whether this entity is `other` or inherits from it.
    public func isKind(of other: Entity) -> Bool { self === other || other.family.contains(index) }
}

/// An attribute of a validated model.
public final class Attribute: Sendable {
    /// The developer's description.
    public let description: AttributeDescription
    /// The index among all attributes of the entity and of its subentities.
    public let slot: Int
    /// The index of the entity that declares it.
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
    /// Whether its values are not stored.
    public var isTransient: Bool { description.isTransient }
    /// The value a new object begins with.
    public var defaultValue: AttributeValue { description.defaultValue }
    /// Whether `value` can be stored unchanged in this attribute.
    ///
    /// Equals `description.accepts`, without a copy of the description.
    package func accepts(_ value: AttributeValue) -> Bool { description.accepts(value) }
}

/// A relationship of a validated model.
public final class Relationship: Sendable {
    /// The developer's description.
    public let description: RelationshipDescription
    /// The index among all relationships of the entity and of its subentities.
    public let slot: Int
    /// The index of the entity that declares it.
    public let declaredBy: ManagedObjectModel.EntityIndex
    /// The index of the destination entity.
    public let destination: ManagedObjectModel.EntityIndex
    /// The slot of the inverse in the destination entity; `nil` = none.
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
    /// Whether more than one destination is possible.
    public var isToMany: Bool { description.cardinality != .toOne }
    /// Whether the order of the destinations is kept.
    public var isOrdered: Bool { description.cardinality == .ordered }
    /// The effect on the destinations when an object is deleted.
    public var deleteRule: DeleteRule { description.deleteRule }
    /// Whether it may be empty when saved.
    public var isOptional: Bool { description.isOptional }
}
