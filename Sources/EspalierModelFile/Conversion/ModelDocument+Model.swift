// Makes a document of a model that an application described in code, as the model editor would have saved it.
//
// Invariants
//   1. The conversion of the document gives descriptions, configurations and requests equal to those of the model.
//   2. Each part of the model that files cannot express is refused by name; no part is omitted.

public import EspalierModel

extension ModelDocument {
    /// The document of a model.
    ///
    /// - Parameters:
    ///   - model: A model, described in code or read from a file.
    ///   - path: The name of the document in messages.
    /// - Throws: `ModelFileError` for what files cannot express: defaults of bytes and composites, attributes of type
    ///   object ID, orders of fetched properties and requests, offsets and prefetched relationships of requests, rules
    ///   with a condition or a message, actions of constraints, messages by language, and more than one version
    ///   identifier.
    public init(_ model: ManagedObjectModel, path: String = "the model document") throws(ModelFileError) {
        var writer = ModelDescriptionWriter(model)
        let root = writer.root()
        guard writer.problems.isEmpty else { throw ModelFileError(path: path, problems: writer.problems) }
        self.init(root: root, path: path)
    }
}

private struct ModelDescriptionWriter {
    private let model: ManagedObjectModel
    private(set) var problems: [ModelFileError.Problem] = []
    private var composites: [ModelElement] = []
    private var compositeNames: Set<String> = []

    init(_ model: ManagedObjectModel) { self.model = model }

    mutating func root() -> ModelElement {
        if model.versionIdentifiers.count > 1 {
            report("model", "has \(model.versionIdentifiers.count) version identifiers, but a file can have only one")
        }
        if model.versionIdentifiers == [""] { report("model", "has an empty version identifier; leave it out") }
        if !model.messageTables.isEmpty {
            let languages = model.messageTables.keys.sorted().joined(separator: ", ")
            report("model", "has messages (\(languages)), which model files cannot express; add them in code")
        }
        var root = ModelElement(
            .model,
            [
                .init("type", "com.apple.IDECoreDataModeler.DataModel"),
                .init("documentVersion", ModelElement.documentVersion),
                .init("lastSavedToolsVersion", "22522"), .init("systemVersion", "23G93"),
                .init("minimumToolsVersion", "Automatic"), .init("sourceLanguage", "Swift"),
                .init("userDefinedModelVersionIdentifier", model.versionIdentifiers.first ?? ""),
            ])
        root.children = model.descriptions.map { entity($0) }
        root.children += model.fetchRequestTemplates.map { request($0) }
        root.children += model.configurations.map { configuration in
            let members = configuration.entities.map { ModelElement(.memberEntity, [.init("name", $0)]) }
            return ModelElement(.configuration, [.init("name", configuration.name)], children: members)
        }
        root.children += composites
        return root
    }

    private mutating func entity(_ entity: EntityDescription) -> ModelElement {
        var element = ModelElement(.entity, [.init("name", entity.name)])
        element["representedClassName"] = entity.managedObjectClassName
        if entity.isAbstract { element["isAbstract"] = "YES" }
        element["parentEntity"] = entity.superentity
        element["elementID"] = entity.renamingIdentifier
        element["versionHashModifier"] = entity.versionHashModifier
        element["syncable"] = "YES"
        for attribute in entity.attributes {
            element.children.append(self.attribute(attribute, in: "entity '\(entity.name)'", type: entity.name))
        }
        element.children += entity.relationships.map { Self.relationship($0) }
        for property in entity.fetchedProperties {
            element.children.append(fetchedProperty(property, in: "entity '\(entity.name)'"))
        }
        element.children += entity.indexes.map { index in
            let parts = index.elements.map { indexElement($0, of: index, entity) }
            var element = ModelElement(.fetchIndex, [.init("name", index.name)], children: parts)
            element["partialIndexPredicate"] = index.predicateFormat
            return element
        }
        for names in entity.uniquenessConstraints {
            guard let action = entity.constraintActions[names] else { continue }
            report(
                "entity '\(entity.name)', uniquenessConstraint '\(names.joined(separator: ", "))'",
                "has the action \(action), which model files cannot express; set it in code")
        }
        if !entity.uniquenessConstraints.isEmpty {
            let constraints = entity.uniquenessConstraints.map { names in
                ModelElement(
                    .uniquenessConstraint, children: names.map { ModelElement(.constraint, [.init("value", $0)]) })
            }
            element.children.append(ModelElement(.uniquenessConstraints, children: constraints))
        }
        element.children += Self.userInfo(entity.userInfo)
        return element
    }

    /// The element of a part of an index.
    private mutating func indexElement(
        _ part: EntityDescription.Index.Element, of index: EntityDescription.Index, _ entity: EntityDescription
    ) -> ModelElement {
        let folding: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]
        if !part.folding.isEmpty, part.folding != folding {
            report(
                "entity '\(entity.name)', fetchIndex '\(index.name)'",
                "ignores only case or only diacritics, for which model files have no expression")
        }
        if let expression = part.expressionFormat, !part.folding.isEmpty {
            report(
                "entity '\(entity.name)', fetchIndex '\(index.name)'",
                "ignores differences in the values of \(expression), which model files cannot express; use canonical:")
        }
        var element = ModelElement(.fetchIndexElement)
        if let expression = part.expressionFormat {
            element["expression"] = expression
            element["expressionType"] = resultType(of: expression, entity)
        } else if part.folding.isEmpty {
            element["property"] = part.property
        } else {
            element["expression"] = "canonical:(\(part.property))"
            element["expressionType"] = "String"
        }
        element["type"] = "Binary"
        element["order"] = part.isAscending ? "ascending" : "descending"
        return element
    }

    /// The name of the type of an index's expression.
    private func resultType(of expression: String, _ entity: EntityDescription) -> String? {
        guard let entity = model.entity(named: entity.name) else { return nil }
        return (try? IndexExpression(format: expression, for: entity, in: model))?.resultType.modelFileName
    }

    /// The element of an attribute; the names of its composite types begin with `type`.
    private mutating func attribute(
        _ attribute: AttributeDescription, in place: String, type: String
    ) -> ModelElement {
        let label = "\(place), attribute '\(attribute.name)'"
        var element = ModelElement(.attribute, [.init("name", attribute.name)])
        if attribute.isOptional { element["optional"] = "YES" }
        if attribute.isTransient { element["transient"] = "YES" }
        if let name = attribute.type.modelFileName {
            element["attributeType"] = name
        } else {
            report(label, "has type \(attribute.type), for which model files have no name")
        }
        write(attribute.validationRules, of: attribute.type, label, to: &element)
        if !attribute.defaultValue.isNull {
            let name = attribute.type == .date ? "defaultDateTimeInterval" : "defaultValueString"
            element[name] = attribute.defaultValue.modelFileText
            if element[name].flatMap({ attribute.type.value(modelFileText: $0) }) != attribute.defaultValue {
                report(label, "has a default of type \(attribute.type) that model files cannot express; set it in code")
            }
        }
        if let derivation = attribute.derivation {
            element["derived"] = "YES"
            element["derivationExpression"] = derivation.expression
        }
        element["valueTransformerName"] = attribute.valueTransformerName
        if attribute.isIndexed { element["indexed"] = "YES" }
        if attribute.allowsExternalBinaryDataStorage { element["allowsExternalBinaryDataStorage"] = "YES" }
        element["elementID"] = attribute.renamingIdentifier
        element["versionHashModifier"] = attribute.versionHashModifier
        if attribute.type == .composite { element["composite"] = composite(attribute, label, type: type) }
        element.children = Self.userInfo(attribute.userInfo)
        return element
    }

    /// Adds the words of an attribute's rules to its element.
    private mutating func write(
        _ rules: [ValidationRule], of type: AttributeType, _ label: String, to element: inout ModelElement
    ) {
        for rule in rules {
            let kind = rule.condition.kindDescription
            guard let (word, text) = rule.condition.modelFileWord(of: type) else {
                report(label, "has \(kind) that model files cannot express for type \(type); set it in code")
                continue
            }
            if rule.message != nil {
                report(label, "has \(kind) with a message, which model files cannot express; set it in code")
            }
            if element[word.rawValue] != nil {
                report(label, "has \(kind) twice, which model files cannot express; combine the two")
            }
            element[word.rawValue] = text
        }
    }

    /// Adds the composite type of an attribute, and returns its name.
    private mutating func composite(_ attribute: AttributeDescription, _ label: String, type: String) -> String {
        let stem = type + attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
        var (name, number) = (stem, 2)
        while !compositeNames.insert(name).inserted {
            name = "\(stem)\(number)"
            number += 1
        }
        let index = composites.count
        composites.append(ModelElement(.composite, [.init("name", name)]))
        let parts = attribute.elements.map { self.attribute($0, in: label, type: name) }
        composites[index].children = parts
        return name
    }

    private static func relationship(_ relationship: RelationshipDescription) -> ModelElement {
        var element = ModelElement(.relationship, [.init("name", relationship.name)])
        if relationship.isOptional { element["optional"] = "YES" }
        if relationship.cardinality != .toOne { element["toMany"] = "YES" }
        if relationship.minCount > 0 { element["minCount"] = "\(relationship.minCount)" }
        if relationship.maxCount > 0 { element["maxCount"] = "\(relationship.maxCount)" }
        element["deletionRule"] = relationship.deleteRule.modelFileName
        if relationship.cardinality == .ordered { element["ordered"] = "YES" }
        element["destinationEntity"] = relationship.destination
        element["inverseName"] = relationship.inverse
        if relationship.inverse != nil { element["inverseEntity"] = relationship.destination }
        element["elementID"] = relationship.renamingIdentifier
        element["versionHashModifier"] = relationship.versionHashModifier
        element.children = userInfo(relationship.userInfo)
        return element
    }

    private mutating func fetchedProperty(_ property: FetchedPropertyDescription, in place: String) -> ModelElement {
        if !property.sortElements.isEmpty {
            report("\(place), fetchedProperty '\(property.name)'", "has an order, which model files cannot express")
        }
        var request = ModelElement(
            .fetchRequest, [.init("name", "fetchedPropertyFetchRequest"), .init("entity", property.destination)])
        request["predicateString"] = property.predicateFormat
        if property.fetchLimit > 0 { request["fetchLimit"] = "\(property.fetchLimit)" }
        if !property.includesSubentities { request["includeSubentities"] = "NO" }
        if !property.includesPendingChanges { request["includesPendingChanges"] = "NO" }
        var element = ModelElement(.fetchedProperty, [.init("name", property.name), .init("optional", "YES")])
        element.children = [request] + Self.userInfo(property.userInfo)
        return element
    }

    private mutating func request(_ template: FetchRequestTemplate) -> ModelElement {
        let parts = [
            (template.sortElements.isEmpty, "an order"), (template.fetchOffset == 0, "an offset"),
            (template.relationshipKeyPathsForPrefetching.isEmpty, "prefetched relationships"),
        ]
        for (isMissing, part) in parts where !isMissing {
            report("fetchRequest '\(template.name)'", "has \(part), which model files cannot express; set it in code")
        }
        var element = ModelElement(.fetchRequest, [.init("name", template.name), .init("entity", template.entity)])
        element["predicateString"] = template.predicateFormat
        if template.fetchLimit > 0 { element["fetchLimit"] = "\(template.fetchLimit)" }
        if template.fetchBatchSize > 0 { element["fetchBatchSize"] = "\(template.fetchBatchSize)" }
        if !template.includesPropertyValues { element["includePropertyValues"] = "NO" }
        if template.returnsDistinctResults { element["returnDistinctResults"] = "YES" }
        element["includeSubentities"] = template.includesSubentities ? "YES" : "NO"
        element["includesPendingChanges"] = template.includesPendingChanges ? "YES" : "NO"
        element["returnObjectsAsFaults"] = template.returnsObjectsAsFaults ? "YES" : "NO"
        return element
    }

    private static func userInfo(_ texts: [String: String]) -> [ModelElement] {
        guard !texts.isEmpty else { return [] }
        let entries = texts.sorted { $0.key < $1.key }.map { key, value in
            ModelElement(.entry, [.init("key", key), .init("value", value)])
        }
        return [ModelElement(.userInfo, children: entries)]
    }

    private mutating func report(_ element: String, _ message: String) {
        problems.append(ModelFileError.Problem(.inexpressible, element: element, message))
    }
}
