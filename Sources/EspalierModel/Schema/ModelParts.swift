// What a model says beside its entities: which of them form a configuration, and which requests have a name.
//
// Invariants
//   1. No store keeps them: they belong to the application and to its model file.

/// A named choice of entities, such as those of one store (MD-04).
public struct ConfigurationDescription: Sendable, Hashable {
    /// The name, unique in the model.
    public var name: String
    /// The names of the entities, in the developer's order.
    public var entities: [String]

    /// Describes a configuration.
    public init(_ name: String, entities: [String]) {
        self.name = name
        self.entities = entities
    }
}

/// A request that the model knows under a name (FR-17).
///
/// Its condition is the text of a format: `FetchPredicate` reads it, and gives its variables their values.
public struct FetchRequestTemplate: Sendable, Hashable {
    /// The name, unique in the model.
    public var name: String
    /// The name of the entity whose objects are asked for.
    public var entity: String
    /// The text of the condition; `nil` = all objects.
    public var predicateFormat: String?
    /// The greatest number of results; 0 = no limit.
    public var fetchLimit: Int
    /// Whether objects of subentities are found too.
    public var includesSubentities: Bool
    /// Whether unsaved changes of the context take part.
    public var includesPendingChanges: Bool
    /// Whether results are faults whose rows are already in memory.
    public var returnsObjectsAsFaults: Bool

    /// Describes a request.
    public init(
        _ name: String, entity: String, predicateFormat: String? = nil, fetchLimit: Int = 0,
        includesSubentities: Bool = true, includesPendingChanges: Bool = true, returnsObjectsAsFaults: Bool = true
    ) {
        self.name = name
        self.entity = entity
        self.predicateFormat = predicateFormat
        self.fetchLimit = fetchLimit
        self.includesSubentities = includesSubentities
        self.includesPendingChanges = includesPendingChanges
        self.returnsObjectsAsFaults = returnsObjectsAsFaults
    }
}

extension ModelChecker {
    /// What is wrong with configurations and requests; their entities have been looked at.
    func problems(
        of configurations: [ConfigurationDescription], _ templates: [FetchRequestTemplate]
    ) -> [ModelError.Problem] {
        var checker = self
        var names: Set<String> = []
        for configuration in configurations {
            let label = "configuration '\(configuration.name)'"
            if configuration.name.isEmpty { checker.report("the name of a configuration is empty; give it one") }
            if !names.insert(configuration.name).inserted {
                checker.report("\(label) is there twice; rename one of them")
            }
            var members: Set<String> = []
            for name in configuration.entities {
                checker.checkReference(to: name, in: label)
                if !members.insert(name).inserted { checker.report("\(label) names '\(name)' twice; leave one out") }
            }
        }
        names = []
        for template in templates {
            let label = "request '\(template.name)'"
            if template.name.isEmpty { checker.report("the name of a request is empty; give it one") }
            if !names.insert(template.name).inserted { checker.report("\(label) is there twice; rename one of them") }
            checker.checkReference(to: template.entity, in: label)
            if template.fetchLimit < 0 {
                checker.report("\(label) has the limit \(template.fetchLimit); it cannot be negative, 0 means no limit")
            }
        }
        return Array(checker.found.dropFirst(found.count))
    }

    private mutating func checkReference(to name: String, in label: String) {
        guard entity(named: name) == nil else { return }
        let hint = hint(name, among: descriptions.map(\.name))
        report("\(label) names the entity '\(name)', which does not exist\(hint)")
    }
}
