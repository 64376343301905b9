// What a developer writes down about attributes and relationships; plain values, checked only as part of a whole model.
//
// Not here: the checked, resolved form that contexts and stores work with (ManagedObjectModel).

/// What happens to the other side of a relationship when an object is deleted (Behaviour MC-13 to MC-16).
public enum DeleteRule: UInt8, Sendable, Hashable, CaseIterable {
    /// The destination is left as it is; the caller keeps integrity.
    ///
    /// Core Data would leave a reference to nothing behind; here the save fails unless the same save has led the
    /// destination elsewhere or deleted it. On disk: never renumber.
    case noAction = 0
    /// The destination's inverse is set to nil, or the object removed from it.
    case nullify = 1
    /// The destination is deleted too, and then its own rules run.
    case cascade = 2
    /// The save fails if there still is a destination.
    case deny = 3
}

/// One attribute of an entity, as the developer describes it.
public struct AttributeDescription: Sendable, Hashable {
    /// The name, unique among all properties of the entity and its superentities.
    public var name: String
    /// The type of its values.
    public var type: AttributeType
    /// Whether the attribute may be without a value when saved.
    public var isOptional: Bool
    /// Whether the value lives in the object only and is never stored (MO-40).
    public var isTransient: Bool
    /// The value a new object begins with.
    public var defaultValue: AttributeValue
    /// Whether a single-attribute index is kept for it.
    public var isIndexed: Bool
    /// The parts of a `composite` attribute.
    public var elements: [AttributeDescription]
    /// The name of the value transformer of a `transformable` attribute.
    public var valueTransformerName: String?
    /// The name in an older version of the model (MD-33).
    public var renamingIdentifier: String?
    /// A text that makes the version hash another one, where all else is equal (MD-05); no store keeps it.
    public var versionHashModifier: String?
    /// Texts of the application's own (MD-15); no store keeps them.
    public var userInfo: [String: String]

    /// Describes an attribute.
    public init(
        _ name: String, _ type: AttributeType, isOptional: Bool = true, isTransient: Bool = false,
        defaultValue: AttributeValue = .null, isIndexed: Bool = false, elements: [AttributeDescription] = [],
        valueTransformerName: String? = nil, renamingIdentifier: String? = nil, versionHashModifier: String? = nil,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.defaultValue = defaultValue
        self.isIndexed = isIndexed
        self.elements = elements
        self.valueTransformerName = valueTransformerName
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
    }
}

/// One relationship of an entity, as the developer describes it.
public struct RelationshipDescription: Sendable, Hashable {
    /// How many destinations there may be, and whether their order is kept.
    public enum Cardinality: UInt8, Sendable, Hashable {
        /// At most one destination. On disk: never renumber.
        case toOne = 0
        /// A set of destinations.
        case toMany = 1
        /// A list of distinct destinations whose order is kept (MD-31).
        case ordered = 2
    }

    /// The name, unique among all properties of the entity and its superentities.
    public var name: String
    /// The name of the destination entity.
    public var destination: String
    /// The name of the relationship back, on the destination entity; `nil` = none (MD-30).
    public var inverse: String?
    /// To-one, to-many or ordered to-many.
    public var cardinality: Cardinality
    /// What happens to the destinations when an object is deleted.
    public var deleteRule: DeleteRule
    /// Whether the relationship may be empty when saved.
    public var isOptional: Bool
    /// The least number of destinations of a non-empty relationship; 0 = no limit (MD-29).
    public var minCount: Int
    /// The greatest number of destinations; 0 = no limit.
    ///
    /// Always 1 for a to-one relationship.
    public var maxCount: Int
    /// The name in an older version of the model (MD-33).
    public var renamingIdentifier: String?
    /// A text that makes the version hash another one, where all else is equal (MD-05); no store keeps it.
    public var versionHashModifier: String?
    /// Texts of the application's own (MD-15); no store keeps them.
    public var userInfo: [String: String]

    /// Describes a relationship.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, _ cardinality: Cardinality = .toOne,
        deleteRule: DeleteRule = .nullify, isOptional: Bool = true, minCount: Int = 0, maxCount: Int? = nil,
        renamingIdentifier: String? = nil, versionHashModifier: String? = nil, userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.cardinality = cardinality
        self.deleteRule = deleteRule
        self.isOptional = isOptional
        self.minCount = minCount
        self.maxCount = maxCount ?? (cardinality == .toOne ? 1 : 0)
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
    }
}
