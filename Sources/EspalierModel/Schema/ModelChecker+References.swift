// Checks the names by which one part of a model refers to another: relationships, constraints, indexes.

extension ModelChecker {
    mutating func checkRelationship(_ relationship: RelationshipDescription, of entity: EntityDescription) {
        checkCounts(of: relationship, in: entity)
        guard let destination = self.entity(named: relationship.destination) else {
            let hint = hint(relationship.destination, among: descriptions.map(\.name))
            return report(
                entity.name, relationship.name, "destination '\(relationship.destination)' does not exist\(hint)")
        }
        // A missing inverse on both sides is legal (MD-30); an inverse on one side only is reported for that side.
        if let inverse = relationship.inverse {
            checkInverse(inverse, of: relationship, from: entity, to: destination)
        }
    }

    /// Checks counts (MD-28, MD-29).
    private mutating func checkCounts(of relationship: RelationshipDescription, in entity: EntityDescription) {
        let (least, greatest) = (relationship.minCount, relationship.maxCount)
        if least < 0 || greatest < 0 {
            report(
                entity.name, relationship.name,
                "minCount \(least) and maxCount \(greatest) cannot be negative; 0 means no limit")
        }
        if relationship.cardinality == .toOne {
            if greatest != 1 {
                report(
                    entity.name, relationship.name,
                    "maxCount is \(greatest), but a to-one relationship has 1; make it to-many or leave maxCount out")
            }
            if least > 1 {
                report(entity.name, relationship.name, "minCount is \(least), but a to-one relationship has 0 or 1")
            }
        } else if greatest > 0, least > greatest {
            report(
                entity.name, relationship.name,
                "minCount \(least) is greater than maxCount \(greatest), so no object could be saved; correct one of "
                    + "them"
            )
        }
    }

    /// Checks that both relationships of a pair name each other, with exactly each other's entity as destination.
    private mutating func checkInverse(
        _ name: String, of relationship: RelationshipDescription, from entity: EntityDescription,
        to destination: EntityDescription
    ) {
        let line = ancestry(of: destination)
        guard let owner = line.first(where: { $0.relationships.contains { $0.name == name } }),
            let inverse = owner.relationships.first(where: { $0.name == name })
        else {
            let names = line.flatMap { $0.relationships.map(\.name) }
            let isAttribute = line.contains { $0.attributes.contains { $0.name == name } }
            let what = isAttribute ? "is an attribute of" : "is not a relationship of"
            return report(
                entity.name, relationship.name,
                "inverse '\(name)' \(what) '\(destination.name)'\(hint(name, among: names))")
        }
        if owner.name != destination.name {
            report(
                entity.name, relationship.name,
                "inverse '\(name)' belongs to '\(owner.name)', a superentity of '\(destination.name)'; "
                    + "make '\(owner.name)' the destination"
            )
        }
        if inverse.destination != entity.name {
            report(
                entity.name, relationship.name,
                "inverse '\(owner.name).\(name)' leads to '\(inverse.destination)', not back to '\(entity.name)'")
        } else if inverse.inverse == nil {
            report(
                entity.name, relationship.name,
                "inverse '\(owner.name).\(name)' does not name this relationship as its inverse; "
                    + "give it inverse '\(relationship.name)'"
            )
        } else if inverse.inverse != relationship.name {
            report(
                entity.name, relationship.name,
                "inverse '\(owner.name).\(name)' names '\(inverse.inverse ?? "")' as its inverse; "
                    + "both must name each other"
            )
        }
    }

    /// Checks uniqueness constraints (MD-12).
    mutating func checkConstraints(of entity: EntityDescription) {
        var seen = ancestry(of: entity).dropFirst().flatMap(\.uniquenessConstraints).map(Set.init)
        for constraint in entity.uniquenessConstraints {
            let label = "uniqueness constraint (\(constraint.joined(separator: ", ")))"
            guard !constraint.isEmpty else {
                report(entity.name, "a uniqueness constraint names no property; name at least one")
                continue
            }
            if Set(constraint).count < constraint.count { report(entity.name, "\(label) names a property twice") }
            if seen.contains(Set(constraint)) { report(entity.name, "\(label) is defined twice; remove one") }
            seen.append(Set(constraint))
            for name in constraint { checkKeyProperty(name, in: label, of: entity) }
        }
        let unknown = entity.constraintActions.keys.filter { !entity.uniquenessConstraints.contains($0) }
        for properties in unknown.map({ $0.joined(separator: ", ") }).sorted() {
            report(
                entity.name,
                "declares an action for a uniqueness constraint (\(properties)), which it does not have; add the "
                    + "constraint, with its properties in the same order")
        }
    }

    mutating func checkIndexes(of entity: EntityDescription) {
        var names: [String: String] = [:]
        for ancestor in ancestry(of: entity).reversed() {
            for attribute in ancestor.attributes where attribute.isIndexed { names[attribute.name] = ancestor.name }
            if ancestor.name != entity.name { for index in ancestor.indexes { names[index.name] = ancestor.name } }
        }
        for index in entity.indexes {
            let label = "index '\(index.name)'"
            checkName(index.name, of: "an index", in: entity, property: nil)
            if let owner = names[index.name] {
                report(entity.name, "'\(owner)' already has an index called '\(index.name)'; rename this one")
            }
            names[index.name] = entity.name
            if index.elements.isEmpty { report(entity.name, "\(label) has no elements; name at least one property") }
            let parts = index.elements.map(\.name)
            if Set(parts).count < parts.count { report(entity.name, "\(label) names a property twice") }
            for element in index.elements { checkIndexElement(element, in: label, of: entity) }
        }
    }

    /// Checks a part of an index, which may be an element of a composite, and ignore differences between texts.
    ///
    /// Expressions are checked when names can be resolved (`indexExpressionProblems`).
    private mutating func checkIndexElement(
        _ element: EntityDescription.Index.Element, in label: String, of entity: EntityDescription
    ) {
        if let expression = element.expressionFormat {
            if !element.property.isEmpty {
                report(
                    entity.name,
                    "\(label) names '\(element.property)' and the expression \(expression) as one element; make two")
            }
            return
        }
        let names = element.property.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let attributes = ancestry(of: entity).flatMap(\.attributes)
        var end = attributes.first { $0.name == names[0] }
        if names.count == 1 {
            checkKeyProperty(element.property, in: label, of: entity)
        } else {
            if end == nil || end?.isTransient == true {
                let hint = hint(names[0], among: attributes.map(\.name))
                return report(
                    entity.name, "\(label) names '\(element.property)', which is no stored attribute's element\(hint)")
            }
            for name in names.dropFirst() {
                let parts = end?.elements ?? []
                guard let next = parts.first(where: { $0.name == name }) else {
                    let hint = hint(name, among: parts.map(\.name))
                    return report(
                        entity.name,
                        "\(label) names '\(element.property)', but '\(end?.name ?? "")' has no element '\(name)'\(hint)"
                    )
                }
                end = next
            }
            if let type = end?.type, !type.hasKeyOrder {
                report(entity.name, "\(label) names '\(element.property)', whose type \(type) has no order")
            }
        }
        let folding: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]
        if !element.folding.isSubset(of: folding) {
            report(entity.name, "\(label) can ignore case and diacritics only")
        } else if !element.folding.isEmpty, end?.type != .string {
            report(entity.name, "\(label) ignores case or diacritics of '\(element.property)', which is not a text")
        }
    }

    /// Checks a property in a constraint or an index: it must be a stored attribute with an order, or a to-one
    /// relationship.
    private mutating func checkKeyProperty(_ name: String, in label: String, of entity: EntityDescription) {
        let line = ancestry(of: entity)
        if let attribute = line.lazy.flatMap(\.attributes).first(where: { $0.name == name }) {
            if attribute.isTransient {
                report(entity.name, "\(label) names '\(name)', which is transient; name a stored attribute")
            } else if !attribute.type.hasKeyOrder {
                report(entity.name, "\(label) names '\(name)', whose type \(attribute.type) has no order")
            }
        } else if let relationship = line.lazy.flatMap(\.relationships).first(where: { $0.name == name }) {
            if relationship.cardinality != .toOne {
                report(
                    entity.name, "\(label) names '\(name)', which is to-many; name attributes or to-one relationships")
            }
        } else {
            let names = line.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) }
            report(
                entity.name,
                "\(label) names '\(name)', which is not a property of the entity\(hint(name, among: names))")
        }
    }
}
