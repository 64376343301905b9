// Converts attributes with types, defaults and parts of composites, and relationships with inverses, counts and rules.
// Not here: validation rules (ModelConverter+Rules).

import EspalierModel

extension ModelConverter {
    /// An attribute of an entity; `nil`, and a note, if it is a composite whose parts the file does not have.
    mutating func attribute(_ element: ModelElement, of entity: ModelElement) -> AttributeDescription? {
        let name = element["name"] ?? ""
        places.note(element, entity: entity["name"] ?? "", property: name)
        return attribute(element, in: [entity], depth: 0)
    }

    private mutating func attribute(
        _ element: ModelElement, in path: [ModelElement], depth: Int
    ) -> AttributeDescription? {
        let type = AttributeType(modelFileName: element["attributeType"] ?? "Undefined") ?? .undefined
        if type == .composite, element["composite"] == nil {
            note(
                .compositeParts, element, in: path,
                "is a composite whose parts the file does not have, so it is left out")
            return nil
        }
        var attribute = AttributeDescription(
            element["name"] ?? "", type, isOptional: element["optional"] == "YES",
            isTransient: element["transient"] == "YES", isIndexed: element["indexed"] == "YES",
            allowsExternalBinaryDataStorage: element["allowsExternalBinaryDataStorage"] == "YES",
            valueTransformerName: element.text("valueTransformerName"), renamingIdentifier: element.text("elementID"),
            versionHashModifier: element.text("versionHashModifier"), userInfo: userInfo(of: element, in: path))
        if type != .transformable { attribute.valueTransformerName = nil }
        attribute.defaultValue = defaultValue(of: element, type, in: path)
        if type == .composite { attribute.elements = parts(of: element, in: path, depth: depth) }
        attribute.validationRules = rules(of: attribute, element, in: path)
        if element["derived"] == "YES" { derive(&attribute, element, in: path) }
        return attribute
    }

    /// Sets the rule of a derived attribute; if stores do not keep it, notes that and leaves a plain attribute.
    private mutating func derive(
        _ attribute: inout AttributeDescription, _ element: ModelElement, in path: [ModelElement]
    ) {
        do throws(DerivationError) {
            attribute.derivation = try Derivation(expression: element["derivationExpression"] ?? "")
            // An editor writes defaults of types that have one; a derived value has none.
            attribute.defaultValue = .null
        } catch {
            attribute.isOptional = true
            guard element["derivationExpression"] != nil else {
                return note(
                    .derivedAttributes, element, in: path,
                    "is derived, but the file does not have its expression, so it is not computed")
            }
            note(
                .derivedAttributes, element, in: path,
                "is derived (\((element["derivationExpression"] ?? "").shortened)), and Espalier does not compute it: "
                    + error.problem)
        }
    }

    private mutating func parts(
        of element: ModelElement, in path: [ModelElement], depth: Int
    ) -> [AttributeDescription] {
        guard depth < Self.compositeDepthMax else {
            report(
                .tooLarge, element, in: path,
                "composites are nested more than \(Self.compositeDepthMax) deep; no composite may contain itself")
            return []
        }
        guard let name = element["composite"], let composite = composites[name] else {
            let name = element["composite"] ?? ""
            let hint = NameSuggestion.nearest(to: name, among: composites.keys.sorted()).map {
                "; did you mean '\($0)'?"
            }
            report(
                .invalidModel, element, in: path,
                "names the composite '\(name)', which does not exist\(hint ?? "; add it")")
            return []
        }
        let parts = composite.children(.attribute)
        compositePartBudget -= parts.count
        guard compositePartBudget >= 0 else {
            report(.tooLarge, element, in: path, "the composites together have too many parts; use fewer")
            return []
        }
        return parts.compactMap { attribute($0, in: path + [element], depth: depth + 1) }
    }

    private mutating func defaultValue(
        of element: ModelElement, _ type: AttributeType, in path: [ModelElement]
    ) -> AttributeValue {
        let name = type == .date ? "defaultDateTimeInterval" : "defaultValueString"
        guard let text = element[name] else { return .null }
        if let value = type.value(modelFileText: text) { return value }
        report(
            .invalidValue, element, in: path,
            "\(name)=\"\(text.shortened)\" is not a value of type \(type); correct it, or leave it out")
        return .null
    }

    mutating func relationship(_ element: ModelElement, of entity: ModelElement) -> RelationshipDescription {
        let name = element["name"] ?? ""
        places.note(element, entity: entity["name"] ?? "", property: name)
        if element["transient"] == "YES" {
            note(.transientRelationships, element, in: [entity], "is transient, but Espalier stores every relationship")
        }
        noteRules(ofRelationship: element, in: [entity])
        let destination = element["destinationEntity"] ?? ""
        if let other = element["inverseEntity"], other != destination {
            report(
                .invalidModel, element, in: [entity],
                "the inverse belongs to '\(other)', but the destination is '\(destination)'; both must be the same "
                    + "entity"
            )
        }
        let isToMany = element["toMany"] == "YES"
        let count = { (name: String) in element[name].flatMap { Int($0) } }
        return RelationshipDescription(
            name, to: destination, inverse: element["inverseName"],
            isToMany ? element["ordered"] == "YES" ? .ordered : .toMany : .toOne,
            deleteRule: DeleteRule(modelFileName: element["deletionRule"] ?? "Nullify") ?? .nullify,
            isOptional: element["optional"] == "YES", minCount: count("minCount") ?? 0, maxCount: count("maxCount"),
            renamingIdentifier: element.text("elementID"), versionHashModifier: element.text("versionHashModifier"),
            userInfo: userInfo(of: element, in: [entity]))
    }

    /// A fetched property; `nil`, and a note, if its request is missing or does not return objects.
    mutating func fetchedProperty(
        _ element: ModelElement, of entity: ModelElement
    ) -> FetchedPropertyDescription? {
        let name = element["name"] ?? ""
        places.note(element, entity: entity["name"] ?? "", property: name)
        guard let request = element.children(.fetchRequest).first else {
            note(.fetchedProperties, element, in: [entity], "has no request that can be read, so it is left out")
            return nil
        }
        guard returnsObjects(request) else {
            note(.fetchedProperties, element, in: [entity], "does not return objects, so it is left out")
            return nil
        }
        return FetchedPropertyDescription(
            name, of: request["entity"] ?? "", predicateFormat: request.text("predicateString"),
            fetchLimit: request["fetchLimit"].flatMap { Int($0) } ?? 0,
            includesSubentities: request.flag("includeSubentities", "includesSubentities"),
            includesPendingChanges: request.flag("includesPendingChanges"),
            userInfo: userInfo(of: element, in: [entity]))
    }
}
