// A developer's description of an entity; a plain value, which is checked only as part of a whole model.

/// One entity: a class of objects, its properties and its rules.
public struct EntityDescription: Sendable, Hashable, Codable {
    /// An index over one or more properties, in the given order.
    public struct Index: Sendable, Hashable, Codable {
        /// One part of an index.
        public struct Element: Sendable, Hashable, Codable {
            /// The attribute or to-one relationship; for an element of a composite, the path to it; empty for an
            /// expression.
            public var property: String
            /// The expression whose values are indexed, as `FetchExpression` parses it; `nil` for a property.
            ///
            /// It reads values of the object itself only, such as `lowercase(name)` or `price * quantity`. A fetch uses
            /// the index for conditions that compare the same expression with constants (FR-25).
            public var expressionFormat: String?
            /// Whether smaller values come first.
            public var isAscending: Bool
            /// The differences between texts that the index ignores: case, diacritics or both, as `[cd]` does.
            public var folding: ComparisonOptions

            /// Describes a part of an index.
            public init(_ property: String, isAscending: Bool = true, folding: ComparisonOptions = []) {
                (self.property, self.isAscending, self.folding) = (property, isAscending, folding)
            }

            /// Describes a part of an index whose values are those of an expression (FR-25).
            ///
            ///     EntityDescription.Index("total", on: [.init(expression: "price * quantity")])
            public init(expression format: String, isAscending: Bool = true, folding: ComparisonOptions = []) {
                (property, expressionFormat) = ("", format)
                (self.isAscending, self.folding) = (isAscending, folding)
            }

            /// The property or the expression, as text.
            package var name: String { expressionFormat ?? property }
        }
        /// The name, unique within the entity hierarchy.
        public var name: String
        /// The parts, most significant first.
        public var elements: [Element]
        /// The condition for an object to be in the index, as `FetchPredicate` parses it; `nil` = all objects are.
        ///
        /// It reads values of the object itself only. It has no MATCHES, no `[w]`, no `characterCount` and no `now()`,
        /// because a store could not keep its answers. A fetch uses the index if its own predicate requires the same.
        public var predicateFormat: String?

        /// Describes an index.
        public init(_ name: String, on elements: [Element], predicateFormat: String? = nil) {
            (self.name, self.elements, self.predicateFormat) = (name, elements, predicateFormat)
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
    /// The entity's own fetched properties, without inherited ones (FR-24); stores do not keep them.
    public var fetchedProperties: [FetchedPropertyDescription]
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
        relationships: [RelationshipDescription] = [], fetchedProperties: [FetchedPropertyDescription] = [],
        uniquenessConstraints: [[String]] = [], constraintActions: [[String]: ConstraintAction] = [:],
        indexes: [Index] = [],
        renamingIdentifier: String? = nil, managedObjectClassName: String? = nil, versionHashModifier: String? = nil,
        userInfo: [String: String] = [:]
    ) {
        self.name = name
        self.superentity = superentity
        self.isAbstract = isAbstract
        self.attributes = attributes
        self.relationships = relationships
        self.fetchedProperties = fetchedProperties
        self.uniquenessConstraints = uniquenessConstraints
        self.constraintActions = constraintActions
        self.indexes = indexes
        self.renamingIdentifier = renamingIdentifier
        self.managedObjectClassName = managedObjectClassName
        self.versionHashModifier = versionHashModifier
        self.userInfo = userInfo
    }
}
