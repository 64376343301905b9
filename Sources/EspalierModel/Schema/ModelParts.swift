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
    /// The order of the results, most significant criterion first; empty = undefined order.
    public var sortElements: [FetchedPropertyDescription.SortElement]
    /// The greatest number of results; 0 = no limit.
    public var fetchLimit: Int
    /// The number of results to skip; 0 = none.
    public var fetchOffset: Int
    /// The number of objects whose rows are read at once; 0 = all.
    public var fetchBatchSize: Int
    /// Whether the results include objects of subentities.
    public var includesSubentities: Bool
    /// Whether the request includes unsaved changes of the context.
    public var includesPendingChanges: Bool
    /// Whether results are faults whose rows are already in memory.
    public var returnsObjectsAsFaults: Bool
    /// Whether the rows of the results are read with them.
    public var includesPropertyValues: Bool
    /// Whether equal rows are returned once, by a request for values; objects are distinct in any case.
    public var returnsDistinctResults: Bool
    /// Relationships whose destinations are fetched together with the results.
    public var relationshipKeyPathsForPrefetching: [String]

    /// Describes a request.
    public init(
        _ name: String, entity: String, predicateFormat: String? = nil,
        sortedBy sortElements: [FetchedPropertyDescription.SortElement] = [], fetchLimit: Int = 0,
        fetchOffset: Int = 0, fetchBatchSize: Int = 0, includesSubentities: Bool = true,
        includesPendingChanges: Bool = true, returnsObjectsAsFaults: Bool = true, includesPropertyValues: Bool = true,
        returnsDistinctResults: Bool = false, relationshipKeyPathsForPrefetching: [String] = []
    ) {
        self.name = name
        self.entity = entity
        self.predicateFormat = predicateFormat
        self.sortElements = sortElements
        self.fetchLimit = fetchLimit
        self.fetchOffset = fetchOffset
        self.fetchBatchSize = fetchBatchSize
        self.includesSubentities = includesSubentities
        self.includesPendingChanges = includesPendingChanges
        self.returnsObjectsAsFaults = returnsObjectsAsFaults
        self.includesPropertyValues = includesPropertyValues
        self.returnsDistinctResults = returnsDistinctResults
        self.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
    }

    private enum CodingKeys: String, CodingKey {
        case name, entity, predicateFormat, sortElements, fetchLimit, fetchOffset, fetchBatchSize, includesSubentities
        case includesPendingChanges, returnsObjectsAsFaults, includesPropertyValues, returnsDistinctResults
        case relationshipKeyPathsForPrefetching
    }

    /// Decodes a request; one that was encoded by an earlier version, without all parts, has the defaults of the
    /// others.
    ///
    /// - Throws: `DecodingError` for what is no request.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try values.decode(String.self, forKey: .name), entity: try values.decode(String.self, forKey: .entity),
            predicateFormat: try values.decodeIfPresent(String.self, forKey: .predicateFormat),
            fetchLimit: try values.decode(Int.self, forKey: .fetchLimit),
            includesSubentities: try values.decode(Bool.self, forKey: .includesSubentities),
            includesPendingChanges: try values.decode(Bool.self, forKey: .includesPendingChanges),
            returnsObjectsAsFaults: try values.decode(Bool.self, forKey: .returnsObjectsAsFaults))
        sortElements =
            try values.decodeIfPresent([FetchedPropertyDescription.SortElement].self, forKey: .sortElements) ?? []
        fetchOffset = try values.decodeIfPresent(Int.self, forKey: .fetchOffset) ?? 0
        fetchBatchSize = try values.decodeIfPresent(Int.self, forKey: .fetchBatchSize) ?? 0
        includesPropertyValues = try values.decodeIfPresent(Bool.self, forKey: .includesPropertyValues) ?? true
        returnsDistinctResults = try values.decodeIfPresent(Bool.self, forKey: .returnsDistinctResults) ?? false
        relationshipKeyPathsForPrefetching =
            try values.decodeIfPresent([String].self, forKey: .relationshipKeyPathsForPrefetching) ?? []
    }
}

extension ModelChecker {
    /// The problems of configurations and requests; the entities must have been checked before.
    ///
    /// The conditions of requests need resolved entities (`ManagedObjectModel.fetchRequestTemplateProblems`).
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
