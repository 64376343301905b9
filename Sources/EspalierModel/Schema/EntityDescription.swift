// A developer's description of an entity; a plain value, which is checked only as part of a whole model.

/// One entity: a class of objects, its properties and its rules.
public struct EntityDescription: Sendable, Hashable {
    /// An index over one or more properties, in the given order.
    public struct Index: Sendable, Hashable {
        /// One part of an index.
        public struct Element: Sendable, Hashable {
            /// The attribute or to-one relationship.
            public var property: String
            /// Whether smaller values come first.
            public var isAscending: Bool

            /// Describes a part of an index.
            public init(_ property: String, isAscending: Bool = true) {
                self.property = property
                self.isAscending = isAscending
            }
        }
        /// The name, unique within the entity hierarchy.
        public var name: String
        /// The parts, most significant first.
        public var elements: [Element]

        /// Describes an index.
        public init(_ name: String, on elements: [Element]) {
            self.name = name
            self.elements = elements
        }
    }

    /// The name, unique in the model.
    public var name: String
    /// The name of the superentity; `nil` = none (MD-10).
    public var superentity: String?
    /// Whether every object must belong to a subentity.
    public var isAbstract: Bool
    /// The entity's own attributes, without inherited ones, in the developer's order.
    public var attributes: [AttributeDescription]
    /// The entity's own relationships, without inherited ones, in the developer's order.
    public var relationships: [RelationshipDescription]
    /// Groups of properties whose combined values must be unique (MD-12).
    public var uniquenessConstraints: [[String]]
    /// The actions of a save on new objects whose unique values another one has already, by the properties of the
    /// constraint (F-6); without an action the merge policy decides.
    ///
    /// They are no part of the version hash, and stores do not keep them.
    public var constraintActions: [[String]: ConstraintAction]
    /// The indexes, except those of single `isIndexed` attributes.
    public var indexes: [Index]
    /// The name in an older version of the model (MD-33).
    public var renamingIdentifier: String?
    /// The name of the class of its objects, as in a model file; `nil` = not specified.
    ///
    /// It is for tools that generate classes from a model. Stores do not keep it.
    public var managedObjectClassName: String?
    /// A text that changes the version hash of an otherwise equal entity (MD-05); stores do not keep it.
    public var versionHashModifier: String?
    /// The application's own texts (MD-09); stores do not keep them.
    public var userInfo: [String: String]

    /// Describes an entity.
    public init(
        _ name: String, superentity: String? = nil, isAbstract: Bool = false, attributes: [AttributeDescription] = [],
        relationships: [RelationshipDescription] = [], uniquenessConstraints: [[String]] = [],
        constraintActions: [[String]: ConstraintAction] = [:], indexes: [Index] = [],
        renamingIdentifier: String? = nil, managedObjectClassName: String? = nil, versionHashModifier: String? = nil,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.superentity = superentity
        self.isAbstract = isAbstract
        self.attributes = attributes
        self.relationships = relationships
        self.uniquenessConstraints = uniquenessConstraints
        self.constraintActions = constraintActions
        self.indexes = indexes
        self.renamingIdentifier = renamingIdentifier
        self.managedObjectClassName = managedObjectClassName
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
    }
}
