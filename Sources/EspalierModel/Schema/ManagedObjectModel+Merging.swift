// Merges several models, such as those of the parts of an application, into one (MD-02).

extension ManagedObjectModel {
    /// Makes a model with the entities, configurations, requests and classes of all `models`.
    ///
    /// Entities and requests that several models describe under one name must be equal, and are added once.
    /// Configurations of the same name are united, and so are tables of messages of the same language; the language of
    /// descriptions is that of the first model that has one.
    ///
    /// - Throws: `ModelError` with every name that two models describe differently.
    public convenience init(byMerging models: [ManagedObjectModel]) throws(ModelError) {
        var merger = ModelMerger()
        for model in models { merger.add(model) }
        guard merger.problems.isEmpty else { throw ModelError(problems: merger.problems) }
        let merged = try ManagedObjectModel(
            entities: merger.entities, versionIdentifiers: merger.versionIdentifiers, classes: merger.classes,
            configurations: merger.configurations, fetchRequestTemplates: merger.templates)
        self.init(merged, messageTables: merger.tables, language: models.lazy.compactMap(\.language).first)
    }
}

/// Collects the parts of models.
private struct ModelMerger {
    var entities: [EntityDescription] = []
    var versionIdentifiers: [String] = []
    var configurations: [ConfigurationDescription] = []
    var templates: [FetchRequestTemplate] = []
    var classes: [String: AnyClass] = [:]
    var tables: [String: MessageTable] = [:]
    var problems: [ModelError.Problem] = []
    private var entityByName: [String: EntityDescription] = [:]

    mutating func add(_ model: ManagedObjectModel) {
        for entity in model.descriptions {
            guard let known = entityByName[entity.name] else {
                entityByName[entity.name] = entity
                entities.append(entity)
                continue
            }
            if known != entity {
                report(entity.name, "two models describe this entity differently; rename one, or make them equal")
            }
        }
        for name in model.classes.keys.sorted() {
            if let known = classes[name], known != model.classes[name] {
                report(name, "two models have different classes for this entity; use one of them in both")
            }
            classes[name] = model.classes[name]
        }
        for identifier in model.versionIdentifiers where !versionIdentifiers.contains(identifier) {
            versionIdentifiers.append(identifier)
        }
        for configuration in model.configurations {
            guard let index = configurations.firstIndex(where: { $0.name == configuration.name }) else {
                configurations.append(configuration)
                continue
            }
            let known = Set(configurations[index].entities)
            configurations[index].entities += configuration.entities.filter { !known.contains($0) }
        }
        for template in model.fetchRequestTemplates {
            guard let known = templates.first(where: { $0.name == template.name }) else {
                templates.append(template)
                continue
            }
            if known != template {
                report(nil, "two models describe the request '\(template.name)' differently; rename one of them")
            }
        }
        for (language, table) in model.messageTables.sorted(by: { $0.key < $1.key }) {
            let known = tables[language] ?? MessageTable()
            func unite<Key: Hashable & Comparable>(_ known: [Key: String], _ new: [Key: String]) -> [Key: String] {
                for key in new.keys.sorted() where known[key].map({ $0 != new[key] }) ?? false {
                    report(nil, "two models have different texts for '\(key)' in the language '\(language)'")
                }
                return known.merging(new) { first, _ in first }
            }
            tables[language] = MessageTable(
                unite(known.texts, table.texts), rules: unite(known.rules, table.rules),
                names: unite(known.names, table.names), remedies: unite(known.remedies, table.remedies))
        }
    }

    private mutating func report(_ entity: String?, _ message: String) {
        problems.append(ModelError.Problem(entity: entity, message))
    }
}
