// A developer's descriptions of attributes and relationships; plain values, which are checked only as part of a whole
// model.
//
// Not here: the validated, resolved form that contexts and stores use (ManagedObjectModel).

/// The effect on the other side of a relationship when an object is deleted (Behaviour MC-13 to MC-16).
public enum DeleteRule: UInt8, Sendable, Hashable, CaseIterable, Codable {
    /// The destination is left unchanged; the caller is responsible for integrity.
    ///
    /// Core Data would leave a dangling reference. In Espalier the save fails unless the same save links the
    /// destination to another object or deletes it. On disk: never renumber.
    case noAction = 0
    /// The inverse is set to nil, or the object is removed from it.
    case nullify = 1
    /// The destination is deleted too, and its own delete rules are applied.
    case cascade = 2
    /// The save fails if a destination still exists.
    case deny = 3
}

/// One attribute of an entity, as the developer describes it.
public struct AttributeDescription: Sendable, Hashable, Codable {
    /// The name, unique among all properties of the entity and its superentities.
    public var name: String
    /// The type of its values.
    public var type: AttributeType
    /// Whether the attribute may be null when saved.
    public var isOptional: Bool
    /// Whether the value exists only in the object and is not stored (MO-40).
    public var isTransient: Bool
    /// The initial value in a new object.
    public var defaultValue: AttributeValue
    /// Whether the store keeps an index of this attribute alone.
    public var isIndexed: Bool
    /// Whether a store may keep large values of binary data in files of their own (MD-22); stores do not keep it.
    ///
    /// The stores of Espalier keep every value in their own file, or in memory, where it is saved, checked, copied and
    /// deleted together with its row; a store of the application's own may do otherwise.
    public var allowsExternalBinaryDataStorage: Bool
    /// The parts of a `composite` attribute.
    public var elements: [AttributeDescription]
    /// The name of the value transformer of a `transformable` attribute.
    public var valueTransformerName: String?
    /// The name in an older version of the model (MD-33).
    public var renamingIdentifier: String?
    /// A text that changes the version hash of an otherwise equal attribute (MD-05); stores do not keep it.
    public var versionHashModifier: String?
    /// The application's own texts (MD-15); stores do not keep them.
    public var userInfo: [String: String]
    /// The rules that each value must follow when it is saved (MD-16); stores do not keep them.
    public var validationRules: [ValidationRule]
    /// The rule by which stores compute the value (MD-27); `nil` = the application sets it.
    public var derivation: Derivation?

    /// Describes an attribute.
    public init(
        _ name: String, _ type: AttributeType, isOptional: Bool = true, isTransient: Bool = false,
        defaultValue: AttributeValue = .null, isIndexed: Bool = false, allowsExternalBinaryDataStorage: Bool = false,
        elements: [AttributeDescription] = [],
        valueTransformerName: String? = nil, renamingIdentifier: String? = nil, versionHashModifier: String? = nil,
        userInfo: [String: String] = [:], validationRules: [ValidationRule] = [], derivation: Derivation? = nil
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isTransient = isTransient
        self.defaultValue = defaultValue
        self.isIndexed = isIndexed
        self.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
        self.elements = elements
        self.valueTransformerName = valueTransformerName
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
        self.validationRules = validationRules
        self.derivation = derivation
    }
}

/// One relationship of an entity, as the developer describes it.
public struct RelationshipDescription: Sendable, Hashable, Codable {
    /// The number of destinations that are possible, and whether their order is kept.
    public enum Cardinality: UInt8, Sendable, Hashable, Codable {
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
    /// The name of the inverse relationship, on the destination entity; `nil` = none (MD-30).
    public var inverse: String?
    /// To-one, to-many or ordered to-many.
    public var cardinality: Cardinality
    /// The effect on the destinations when an object is deleted.
    public var deleteRule: DeleteRule
    /// Whether the relationship may be empty when saved.
    public var isOptional: Bool
    /// The minimum number of destinations of a nonempty relationship; 0 = no limit (MD-29).
    public var minCount: Int
    /// The maximum number of destinations; 0 = no limit.
    ///
    /// Always 1 for a to-one relationship.
    public var maxCount: Int
    /// The name in an older version of the model (MD-33).
    public var renamingIdentifier: String?
    /// A text that changes the version hash of an otherwise equal relationship (MD-05); stores do not keep it.
    public var versionHashModifier: String?
    /// The application's own texts (MD-15); stores do not keep them.
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
