// The options that `@Attribute(...)` and `@Relationship(...)` add to a property.

public import EspalierModel

/// Options of one property; each applies to attributes, relationships or both, and is ignored for the others.
public struct PropertyOptions: Sendable, Hashable {
    /// Attribute: whether the store keeps an index of it.
    public var isIndexed: Bool
    /// Attribute: whether no two objects may have the same value.
    public var isUnique: Bool
    /// Attribute: the action of a save on new objects with a value that another one has, if the value is unique; `nil`
    /// = the merge policy decides.
    public var uniqueAction: ConstraintAction?
    /// Attribute: whether a store may keep large values in files of their own.
    public var allowsExternalStorage: Bool
    /// Attribute: whether its value is only in the object and never stored.
    public var isTransient: Bool
    /// Attribute: the rule by which stores compute the value; `nil` = the application sets it.
    public var derivation: Derivation?
    /// Attribute: the rules that each value must follow when it is saved.
    public var rules: [ValidationRule]
    /// Relationship: the name of the inverse relationship, on the destination.
    public var inverse: String?
    /// Relationship: the rule for destinations when the object is deleted.
    public var deleteRule: DeleteRule
    /// Relationship: whether it must not be empty when saved.
    public var isRequired: Bool
    /// Relationship: the least number of destinations; 0 = no limit.
    public var minCount: Int
    /// Relationship: the greatest number of destinations; `nil` = no limit, or 1 if it is to-one.
    public var maxCount: Int?
    /// The name in an older version of the model.
    public var renamingIdentifier: String?
    /// A text that changes the version hash of an otherwise equal property (MD-05).
    public var versionHashModifier: String?

    /// Options; parameters that are left out have their defaults.
    public init(
        isIndexed: Bool = false, isUnique: Bool = false, uniqueAction: ConstraintAction? = nil,
        allowsExternalStorage: Bool = false, isTransient: Bool = false, derivation: Derivation? = nil,
        rules: [ValidationRule] = [], inverse: String? = nil, deleteRule: DeleteRule = .nullify,
        isRequired: Bool = false, minCount: Int = 0, maxCount: Int? = nil, renamingIdentifier: String? = nil,
        versionHashModifier: String? = nil
    ) {
        self.isIndexed = isIndexed
        self.isUnique = isUnique
        self.uniqueAction = uniqueAction
        self.allowsExternalStorage = allowsExternalStorage
        self.isTransient = isTransient
        self.derivation = derivation
        self.rules = rules
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.isRequired = isRequired
        self.minCount = minCount
        self.maxCount = maxCount
        self.renamingIdentifier = renamingIdentifier
        self.versionHashModifier = versionHashModifier
    }
}
