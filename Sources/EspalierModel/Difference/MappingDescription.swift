// The mappings between two versions of a model as plain values: what a mapping file says.

/// The mappings between two versions of a model as plain values (Behaviour MG-06).
///
/// A mapping file gives one, and `MappingModel` makes mappings of it that can be carried out.
public struct MappingDescription: Sendable, Hashable {
    /// The mappings of entities, in the order in which they are carried out.
    public var entityMappings: [EntityMappingDescription]
    /// The path of the older version's model file, as the mapping file has it.
    public var sourceModelPath: String?
    /// The path of the newer version's model file, as the mapping file has it.
    public var destinationModelPath: String?

    /// A description of these mappings.
    public init(_ entityMappings: [EntityMappingDescription] = []) { self.entityMappings = entityMappings }
}

/// A mapping from one older entity to one newer entity as plain values.
public struct EntityMappingDescription: Sendable, Hashable {
    /// The name, by which other mappings refer to this one.
    public var name: String
    /// The older entity; `nil` if the mapping adds objects.
    public var sourceEntityName: String?
    /// The newer entity; `nil` if the mapping removes objects.
    public var destinationEntityName: String?
    /// The condition on the source objects; `nil` = all.
    public var predicateFormat: String?
    /// A request for the source objects that has no form here, as text.
    public var sourceExpression: String?
    /// The sources of the properties of the destination.
    public var propertyMappings: [PropertyMappingDescription]
    /// The name of the class with the hooks of the mapping.
    public var policyClassName: String?
    /// The application's own texts, for policies; no mapping file is known that has any.
    public var userInfo: [String: String] = [:]

    /// A mapping without a condition, without a policy and without texts.
    public init(
        _ name: String, from source: String?, to destination: String?,
        _ propertyMappings: [PropertyMappingDescription] = []
    ) {
        (self.name, sourceEntityName, destinationEntityName) = (name, source, destination)
        self.propertyMappings = propertyMappings
    }
}

/// The source of one property of a destination object as a plain value.
public struct PropertyMappingDescription: Sendable, Hashable {
    /// The kinds of sources.
    public enum Source: Sendable, Hashable {
        /// The property of the source object that it continues, by its name or renaming identifier, if there is one.
        case sameName
        /// The attribute at this path from the source object.
        case keyPath(String)
        /// The same value in all objects.
        case constant(AttributeValue)
        /// The time at which the object is made.
        case now
        /// The objects that those at a path of relationships have become; `through` is the name of a mapping.
        case following(String, through: String?)
        /// The object that the mapping with this name made from the same source object.
        case made(by: String)
        /// An expression that has no form here, as text.
        case expression(String)
    }

    /// The name of the property of the destination entity.
    public var name: String
    /// The source of its value.
    public var source: Source
    /// The application's own texts, for policies; no mapping file is known that has any.
    public var userInfo: [String: String] = [:]

    /// A property with this source.
    public init(_ name: String, _ source: Source) { (self.name, self.source) = (name, source) }
}
