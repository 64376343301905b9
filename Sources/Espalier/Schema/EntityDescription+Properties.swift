// Builds entity descriptions from the stored properties of a class: `@Entity` expands to calls of these methods.
//
// Invariants
//   1. The property's Swift type alone selects the overload of `_property`, at compile time.
//   2. The description of a class never uses the description of another class, because classes refer to each other in
//      cycles: a destination is identified only by its `entityName`.

public import EspalierModel

extension EntityDescription {
    /// An entity with these properties; attributes marked unique become uniqueness constraints.
    ///
    /// For @Entity only.
    /// - Parameter groupActions: The actions of `#Unique`, by group; they come before those of `constraintActions`.
    public init(
        _ name: String, superentity: String? = nil, isAbstract: Bool = false, properties: [_PropertyDescription],
        uniquenessConstraints: [[String]] = [], constraintActions: [[String]: ConstraintAction] = [:],
        groupActions: [(properties: [String], action: ConstraintAction?)] = [], indexes: [Index] = [],
        renamingIdentifier: String? = nil, managedObjectClassName: String? = nil, versionHashModifier: String? = nil
    ) {
        self.init(
            name, superentity: superentity, isAbstract: isAbstract, uniquenessConstraints: uniquenessConstraints,
            constraintActions: constraintActions, indexes: indexes, renamingIdentifier: renamingIdentifier,
            managedObjectClassName: managedObjectClassName, versionHashModifier: versionHashModifier)
        for (names, action) in groupActions {
            if let action { self.constraintActions[names] = action }
        }
        for property in properties {
            switch property {
            case .attribute(let attribute, let isUnique, let action):
                attributes.append(attribute)
                if isUnique { self.uniquenessConstraints.append([attribute.name]) }
                if let action { self.constraintActions[[attribute.name]] = action }
            case .relationship(let relationship, _):
                relationships.append(relationship)
            case .fetched(let property, _):
                fetchedProperties.append(property)
            }
        }
    }

    /// Accepts the class of an entity.
    ///
    /// For @Entity only.
    public static func _checkClass<Object: ManagedObject>(_ objectClass: Object.Type) {}

    /// An attribute that must have a value.
    ///
    /// For @Entity only.
    public static func _property<Value: AttributeConvertible>(
        _ name: String, _ type: Value.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        attribute(
            name, Value.attributeType, isOptional: false, defaultValue?.attributeValue, options,
            elements: Value.attributeElements)
    }

    /// An attribute that may be without a value.
    ///
    /// For @Entity only.
    public static func _property<Value: AttributeConvertible>(
        _ name: String, _ type: Value?.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        attribute(
            name, Value.attributeType, isOptional: true, defaultValue?.attributeValue, options,
            elements: Value.attributeElements)
    }

    /// A literal that is a default, as a value of the property's type.
    ///
    /// An application can make a type expressible by literals that the macro does not know for it.
    ///
    /// For @Entity and @Composite only.
    public static func _literal<Value>(_ value: Value, of type: Value.Type) -> Value { value }

    /// A to-one relationship.
    ///
    /// For @Entity only.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: Destination?.Type, defaultValue: Destination? = nil,
        options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        relationship(name, to: Destination.self, .toOne, options)
    }

    /// A to-many relationship.
    ///
    /// For @Entity only.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: Set<Destination>.Type, defaultValue: Set<Destination>? = nil,
        options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        relationship(name, to: Destination.self, .toMany, options)
    }

    /// An ordered to-many relationship.
    ///
    /// For @Entity only.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: [Destination].Type, defaultValue: [Destination]? = nil,
        options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        relationship(name, to: Destination.self, .ordered, options)
    }

    /// A to-many relationship whose property is a live collection.
    ///
    /// For @Entity only.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: ToMany<Destination>.Type, defaultValue: ToMany<Destination>? = nil,
        options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        relationship(name, to: Destination.self, .toMany, options)
    }

    /// An ordered to-many relationship whose property is a live collection.
    ///
    /// For @Entity only.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: OrderedToMany<Destination>.Type, defaultValue: OrderedToMany<Destination>? = nil,
        options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        relationship(name, to: Destination.self, .ordered, options)
    }

    /// A fetched property (FR-24).
    ///
    /// For @Entity only.
    public static func _fetched<Destination: ManagedObject>(
        _ name: String, _ type: [Destination].Type, where condition: String? = nil,
        sortedBy sortElements: [FetchedPropertyDescription.SortElement] = [], limit: Int = 0,
        userInfo: [String: String] = [:]
    ) -> _PropertyDescription {
        .fetched(
            FetchedPropertyDescription(
                name, of: Destination.entityName, predicateFormat: condition, sortedBy: sortElements,
                fetchLimit: limit, userInfo: userInfo), of: Destination.self)
    }

    static func attribute(
        _ name: String, _ type: AttributeType, isOptional: Bool, _ defaultValue: AttributeValue?,
        _ options: PropertyOptions, elements: [AttributeDescription] = [], transformerName: String? = nil
    ) -> _PropertyDescription {
        let description = AttributeDescription(
            name, type, isOptional: isOptional, isTransient: options.isTransient, defaultValue: defaultValue ?? .null,
            isIndexed: options.isIndexed, allowsExternalBinaryDataStorage: options.allowsExternalStorage,
            elements: elements, valueTransformerName: transformerName,
            renamingIdentifier: options.renamingIdentifier, versionHashModifier: options.versionHashModifier,
            validationRules: options.rules.map { $0.converted(to: type) }, derivation: options.derivation)
        return .attribute(description, isUnique: options.isUnique, action: options.uniqueAction)
    }

    private static func relationship(
        _ name: String, to destination: ManagedObject.Type, _ cardinality: RelationshipDescription.Cardinality,
        _ options: PropertyOptions
    ) -> _PropertyDescription {
        .relationship(
            RelationshipDescription(
                name, to: destination.entityName, inverse: options.inverse, cardinality,
                deleteRule: options.deleteRule, isOptional: !options.isRequired, minCount: options.minCount,
                maxCount: options.maxCount, renamingIdentifier: options.renamingIdentifier,
                versionHashModifier: options.versionHashModifier), to: destination)
    }
}
