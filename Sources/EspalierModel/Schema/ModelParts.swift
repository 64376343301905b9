// The parts of a model besides its entities: configurations and named requests.
//
// Invariants
//   1. Stores do not keep them: they belong to the application and to its model file.

/// A named selection of entities, such as those of one store (MD-04).
public struct ConfigurationDescription: Sendable, Hashable, Codable {
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

/// A request that has a name in the model (FR-17).
///
/// Its condition is a format string, which `FetchPredicate` parses; variables in it are replaced by values.
public struct FetchRequestTemplate: Sendable, Hashable, Codable {
    /// The name, unique in the model.
    public var name: String
    /// The name of the entity whose objects are requested.
    public var entity: String
    /// The text of the condition; `nil` = all objects.
    public var predicateFormat: String?
    /// The greatest number of results; 0 = no limit.
    public var fetchLimit: Int
    /// Whether the results include objects of subentities.
    public var includesSubentities: Bool
    /// Whether the request includes unsaved changes of the context.
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
    /// The problems of configurations and requests; the entities must have been checked before.
    func problems(
        of configurations: [ConfigurationDescription], _ templates: [FetchRequestTemplate]
    ) -> [ModelError.Problem] {
        var checker = self
        var names: Set<String> = []
        for configuration in configurations {
            let label = "configuration '\(configuration.name)'"
            if configuration.name.isEmpty { checker.report("the name of a configuration is empty; give it one") }
            if !names.insert(configuration.name).inserted {
                checker.report("\(label) is defined twice; rename one of them")
            }
            var members: Set<String> = []
            for name in configuration.entities {
                checker.checkReference(to: name, in: label)
                if !members.insert(name).inserted { checker.report("\(label) names '\(name)' twice; remove one") }
            }
        }
        names = []
        for template in templates {
            let label = "request '\(template.name)'"
            if template.name.isEmpty { checker.report("the name of a request is empty; give it one") }
            if !names.insert(template.name).inserted { checker.report("\(label) is defined twice; rename one of them") }
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
