// The rule by which objects of one older entity become objects of one newer entity.

public import EspalierModel

/// A rule by which objects of a source entity make objects of a destination entity (Behaviour MG-07).
///
/// Several mappings with the same source split an entity, by predicate or into parts; several with the same destination
/// unite entities.
///
///     EntityMapping("Person", to: "Employee", where: try FetchPredicate(format: "salary > 0"))
///     EntityMapping("Person", to: "Address", [.copy("city", from: "city")])
public struct EntityMapping: Sendable {
    /// Work with a new object after its attributes have been set.
    public typealias Work =
        @Sendable (_ source: ManagedObject, _ destination: ManagedObject, MigrationSession) throws -> Void

    /// The name, by which other mappings and policies refer to this one; `PersonToEmployee` unless set.
    public let name: String
    /// The older entity, without its subentities; `nil` if only the policy makes objects.
    public let sourceEntityName: String?
    /// The newer entity.
    public let destinationEntityName: String
    /// The condition on the source objects; `nil` = all.
    public var predicate: FetchPredicate?
    /// The rules for the properties of the destination.
    ///
    /// A property without a rule continues the property of the source that a migration without mappings would find for
    /// it: by its renaming identifier or its name, as both versions of the model have them. Stores compute derived
    /// attributes. A relationship without a rule refuses destinations that have become what it cannot lead to.
    public var propertyMappings: [PropertyMapping]
    /// Properties of the source that the policy or the work reads, in addition to the rules.
    public var reading: Set<String> = []
    /// The hooks around the mapping.
    public var policy: any EntityMigrationPolicy
    /// The application's own texts, which the hooks of the policy find in their mapping.
    public var userInfo: [String: String] = [:]
    var work: Work?

    /// A mapping by names.
    ///
    /// - Parameters:
    ///   - predicate: the condition on the source objects.
    ///   - name: the name of the mapping, unique in its model.
    ///   - reading: properties of the source that the policy reads, in addition to the rules.
    public init(
        _ source: String?, to destination: String, where predicate: FetchPredicate? = nil,
        _ propertyMappings: [PropertyMapping] = [], name: String? = nil, reading: Set<String> = [],
        policy: any EntityMigrationPolicy = PlainMigrationPolicy()
    ) {
        (sourceEntityName, destinationEntityName) = (source, destination)
        self.name = name ?? "\(source ?? "")To\(destination)"
        (self.predicate, self.propertyMappings) = (predicate, propertyMappings)
        (self.reading, self.policy) = (reading, policy)
    }

    /// A mapping between two classes, one of each version of the model.
    ///
    ///     EntityMapping(from: Version1.Person.self, to: Version2.Employee.self, reading: ["first", "last"]) {
    ///         old, new, _ in new.name = "\(old.first) \(old.last)"
    ///     }
    ///
    /// - Parameters:
    ///   - reading: properties of the source that `work` reads, in addition to the rules.
    ///   - work: sets attributes of the new object, whose other attributes have been set by rules; relationships can be
    ///     set only by rules and policies, because not all objects exist yet.
    public init<Source: ManagedObject, Destination: ManagedObject>(
        from source: Source.Type, to destination: Destination.Type, where predicate: FetchPredicate? = nil,
        _ propertyMappings: [PropertyMapping] = [], name: String? = nil, reading: Set<String> = [],
        _ work: @escaping @Sendable (Source, Destination, MigrationSession) throws -> Void
    ) {
        self.init(
            source.entityName, to: destination.entityName, where: predicate, propertyMappings, name: name,
            reading: reading)
        self.work = { source, destination, session in
            guard let old = source as? Source else {
                throw ContextError.wrongResultType(
                    entity: source.entity.name, found: "\(type(of: source))", expected: "\(Source.self)")
            }
            guard let new = destination as? Destination else {
                throw ContextError.wrongResultType(
                    entity: destination.entity.name, found: "\(type(of: destination))",
                    expected: "\(Destination.self)")
            }
            try work(old, new, session)
        }
    }
}
