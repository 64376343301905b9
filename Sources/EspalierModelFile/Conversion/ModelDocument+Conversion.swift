// Makes descriptions of a model document's entities, configurations and requests.
//
// Invariants
//   1. Work and memory are bounded by the document. Entities, inheritance depth and parts of composites are limited,
//      because composites can refer to each other.
// Not here: properties (ModelConverter+Properties), constraints and indexes (ModelConverter+Indexes), indexes that no
// store can keep (ModelConverter+SpecialIndexes), texts that a model has no place for (ModelConverter+Texts).

import EspalierModel

extension ModelDocument {
    /// The meaning of the document for Espalier, including its unsupported features.
    ///
    /// This method does not check that the descriptions are consistent; making a model of them does.
    ///
    /// - Throws: `ModelFileError` with each element and value that has no meaning.
    public func conversion() throws(ModelFileError) -> ModelConversion {
        var checker = ModelElementChecker()
        checker.check(root)
        guard root.kind == .model, checker.problems.isEmpty else {
            throw ModelFileError(
                path: path,
                problems: root.kind == .model
                    ? checker.problems
                    : [.init(.unknownElement, "the top element is '\(root.kind.rawValue)'; it must be 'model'")])
        }
        var converter = ModelConverter(self)
        converter.convertModel()
        guard converter.problems.isEmpty else { throw ModelFileError(path: path, problems: converter.problems) }
        return ModelConversion(
            entities: converter.entities, versionIdentifiers: converter.versionIdentifiers,
            configurations: converter.configurations, fetchRequestTemplates: converter.templates,
            unsupported: converter.unsupported, places: converter.places)
    }
}

struct ModelConverter {
    /// The maximum number of entities of a model.
    static let entityCountMax = 4_096
    /// The maximum number of levels of inheritance.
    static let inheritanceDepthMax = 64
    /// The maximum nesting of composites, which is that of a model.
    static let compositeDepthMax = 8

    let root: ModelElement
    /// The composite types by name.
    let composites: [String: ModelElement]
    /// The remaining number of parts of composites that may be made.
    var compositePartBudget = XMLReader.elementCountMax

    var entities: [EntityDescription] = []
    /// The indexes that have to be checked when all entities are known.
    var expressionIndexes: [ExpressionIndex] = []
    /// The names of the composites that were left out because their parts are not known, by entity.
    var attributesWithoutParts: [String: Set<String>] = [:]
    var versionIdentifiers: [String] = []
    var configurations: [ConfigurationDescription] = []
    var templates: [FetchRequestTemplate] = []
    var unsupported: [ModelFileError.Problem] = []
    var problems: [ModelFileError.Problem] = []
    var places: ModelPlaces

    init(_ document: ModelDocument) {
        root = document.root
        composites = Dictionary(
            root.children(.composite).map { ($0["name"] ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        places = ModelPlaces(path: document.path)
    }

    mutating func convertModel() {
        let elements = root.children(.entity)
        guard elements.count <= Self.entityCountMax else {
            return report(
                .tooLarge, root, "the model has \(elements.count) entities; at most \(Self.entityCountMax) are allowed"
            )
        }
        guard isInheritanceBounded(elements) else { return }
        if let identifier = root["userDefinedModelVersionIdentifier"], !identifier.isEmpty {
            versionIdentifiers = [identifier]
        }
        if let problem = root.formatProblem { unsupported.append(problem) }
        noteUnknownAttributes(of: root, path: [])
        noteTextsWithoutPlace()
        for element in elements { entities.append(entity(element)) }
        leaveOutSpecialIndexes()
        leaveOutIndexesOfUnknownParts(elements)
        nameIndexes()
        for composite in root.children(.composite) { checkTwice(composite) }
        for element in root.children {
            switch element.kind {
            case .configuration:
                configurations.append(
                    ConfigurationDescription(
                        element["name"] ?? "", entities: element.children(.memberEntity).compactMap { $0["name"] }))
            case .fetchRequest: convertRequest(element)
            default: break
            }
        }
    }

    private mutating func entity(_ element: ModelElement) -> EntityDescription {
        let name = element["name"] ?? ""
        places.note(element, entity: name)
        var entity = EntityDescription(
            name, superentity: element["parentEntity"], isAbstract: element["isAbstract"] == "YES",
            renamingIdentifier: element.text("elementID"), managedObjectClassName: element.text("representedClassName"),
            versionHashModifier: element.text("versionHashModifier"), userInfo: userInfo(of: element, in: [element]))
        for child in element.children {
            switch child.kind {
            case .attribute:
                if let attribute = attribute(child, of: element) {
                    entity.attributes.append(attribute)
                } else {
                    attributesWithoutParts[name, default: []].insert(child["name"] ?? "")
                }
            case .relationship: entity.relationships.append(relationship(child, of: element))
            case .fetchedProperty:
                if let property = fetchedProperty(child, of: element) { entity.fetchedProperties.append(property) }
            case .fetchIndex:
                guard let index = self.index(child, of: element) else { continue }
                if index.predicateFormat != nil || child.children.contains(where: { $0.text("expression") != nil }) {
                    expressionIndexes.append(
                        ExpressionIndex(
                            entity: entities.count, position: entity.indexes.count, element: child, owner: element))
                }
                entity.indexes.append(index)
            case .compoundIndexes: entity.indexes += compoundIndexes(child, of: name)
            case .uniquenessConstraints:
                entity.uniquenessConstraints += child.children.map { $0.children.compactMap { $0["value"] } }
            default: break
            }
        }
        return entity
    }

    private mutating func convertRequest(_ element: ModelElement) {
        guard returnsObjects(element) else {
            return note(.requestResults, element, in: [], "does not return objects, so it is left out")
        }
        templates.append(
            FetchRequestTemplate(
                element["name"] ?? "", entity: element["entity"] ?? "",
                predicateFormat: element.text("predicateString"),
                fetchLimit: element["fetchLimit"].flatMap { Int($0) } ?? 0,
                fetchBatchSize: element["fetchBatchSize"].flatMap { Int($0) } ?? 0,
                includesSubentities: element.flag("includeSubentities", "includesSubentities"),
                includesPendingChanges: element.flag("includesPendingChanges"),
                returnsObjectsAsFaults: element.flag("returnObjectsAsFaults", "returnsObjectsAsFaults"),
                includesPropertyValues: element.flag("includePropertyValues", "includesPropertyValues"),
                // The one option that is off unless the file says otherwise.
                returnsDistinctResults: ["returnDistinctResults", "returnsDistinctResults"].contains {
                    element[$0] == "YES"
                }))
    }

    /// Whether a request returns objects, and not dictionaries, IDs or a count.
    func returnsObjects(_ request: ModelElement) -> Bool {
        ["", "0", "NSManagedObjectResultType"].contains(request["resultType"] ?? "")
    }

    /// Whether no entity inherits through too many others.
    ///
    /// An entity that inherits from itself is reported later, when a model is made of the descriptions.
    private mutating func isInheritanceBounded(_ elements: [ModelElement]) -> Bool {
        let parents = Dictionary(
            elements.map { ($0["name"] ?? "", $0["parentEntity"]) }, uniquingKeysWith: { first, _ in first })
        for element in elements {
            var line: Set<String> = []
            var name = element["name"]
            while let next = name, line.insert(next).inserted {
                if line.count > Self.inheritanceDepthMax {
                    report(
                        .tooLarge, element,
                        "the entity inherits through more than \(Self.inheritanceDepthMax) others; use fewer"
                    )
                    return false
                }
                name = parents[next] ?? nil
            }
        }
        return true
    }

    private mutating func noteUnknownAttributes(of element: ModelElement, path: [ModelElement]) {
        let known = element.kind.rule.attributes
        for attribute in element.attributes where known[attribute.name] == nil {
            let hint = NameSuggestion.nearest(to: attribute.name, among: known.keys.sorted()).map {
                "; did you mean '\($0)'?"
            }
            note(
                .unknownAttributes, element, in: path,
                "the attribute '\(attribute.name.shortened)' is unknown and has no effect\(hint ?? "")")
        }
        let path = element.kind == .model ? [] : path + [element]
        for child in element.children { noteUnknownAttributes(of: child, path: path) }
    }

    private mutating func checkTwice(_ composite: ModelElement) {
        guard let first = composites[composite["name"] ?? ""], first != composite || first.line != composite.line else {
            return
        }
        report(.invalidModel, composite, "two composites have this name; rename one of them")
    }

    /// The application's own texts; reports keys that occur twice.
    mutating func userInfo(of element: ModelElement, in path: [ModelElement]) -> [String: String] {
        var texts: [String: String] = [:]
        for entry in element.children(.userInfo).flatMap(\.children) {
            let key = entry["key"] ?? ""
            if texts.updateValue(entry["value"] ?? "", forKey: key) != nil {
                report(.invalidValue, entry, in: path, "two entries have this key; remove one of them")
            }
        }
        return texts
    }

    mutating func note(_ feature: ModelFeature, _ element: ModelElement, in path: [ModelElement], _ message: String) {
        guard unsupported.count < ModelElementChecker.problemCountMax || !hasNoted(feature) else { return }
        unsupported.append(problem(.unsupported(feature), element, in: path, message))
    }

    /// Whether a feature was noted: beyond the limit of problems, each feature is still noted once.
    private func hasNoted(_ feature: ModelFeature) -> Bool { unsupported.contains { $0.kind == .unsupported(feature) } }

    mutating func report(
        _ kind: ModelFileError.Kind, _ element: ModelElement, in path: [ModelElement] = [], _ message: String
    ) {
        guard problems.count < ModelElementChecker.problemCountMax else { return }
        problems.append(problem(kind, element, in: path, message))
    }

    private func problem(
        _ kind: ModelFileError.Kind, _ element: ModelElement, in path: [ModelElement], _ message: String
    ) -> ModelFileError.Problem {
        let labels = (path + [element]).map(\.label).joined(separator: ", ")
        return ModelFileError.Problem(kind, line: element.line, element: labels, message)
    }
}

extension ModelElement {
    /// The value of an attribute; `nil` also if it is empty, because editors keep empty attributes.
    func text(_ name: String) -> String? { self[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether an option is on, which has these names in files; it is unless the file says otherwise.
    func flag(_ names: String...) -> Bool { !names.contains { self[$0] == "NO" } }
}
