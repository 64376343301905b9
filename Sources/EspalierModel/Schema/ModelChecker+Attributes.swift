// Checks attributes (Behaviour MD-17 to MD-26).

extension ModelChecker {
    /// The maximum nesting of composites.
    static let compositeDepthMax = 8

    mutating func checkAttribute(_ attribute: AttributeDescription, of entity: EntityDescription) {
        checkType(of: attribute, in: entity)
        checkDefault(of: attribute, in: entity)
        checkElements(of: attribute, path: attribute.name, in: entity, depth: 1)
        for problem in attribute.ruleProblems { report(entity.name, attribute.name, problem) }
        if attribute.isIndexed {
            if attribute.isTransient {
                report(
                    entity.name, attribute.name, "is transient, so it cannot be indexed; make it stored or unindexed"
                )
            } else if !attribute.type.hasKeyOrder {
                report(
                    entity.name, attribute.name,
                    "values of type \(attribute.type) have no order to index them by; make it unindexed")
            }
        }
        if attribute.valueTransformerName != nil, attribute.type != .transformable {
            report(
                entity.name, attribute.name,
                "has a value transformer, which only type transformable takes; its type is \(attribute.type)")
        }
    }

    private mutating func checkType(of attribute: AttributeDescription, in entity: EntityDescription) {
        guard !attribute.isTransient else { return }
        if attribute.type == .undefined || attribute.type == .objectID {
            report(
                entity.name, attribute.name,
                "type \(attribute.type) cannot be stored; give it another type or make it transient")
        }
    }

    private mutating func checkDefault(of attribute: AttributeDescription, in entity: EntityDescription) {
        let value = attribute.defaultValue
        if attribute.type == .objectID, !value.isNull {
            return report(entity.name, attribute.name, "an object cannot be a default; leave it out")
        }
        guard !attribute.accepts(value) else { return }
        do {
            let converted = try attribute.converting(value)
            report(
                entity.name, attribute.name,
                "the default is \(value.kindDescription); a default of type \(attribute.type) is written \(converted)")
        } catch {
            report(entity.name, attribute.name, "the default does not fit: \(error)")
        }
    }

    private mutating func checkElements(
        of attribute: AttributeDescription, path: String, in entity: EntityDescription, depth: Int
    ) {
        guard attribute.type == .composite else {
            if !attribute.elements.isEmpty {
                report(
                    entity.name, path,
                    "has elements, which only type composite takes; its type is \(attribute.type)")
            }
            return
        }
        guard depth <= ModelChecker.compositeDepthMax else {
            return report(
                entity.name, path, "composites are nested more than \(ModelChecker.compositeDepthMax) deep")
        }
        if attribute.elements.isEmpty { report(entity.name, path, "a composite needs at least one element") }
        if !isStored { checkIdentifiers(ofElementsOf: attribute, path: path, in: entity) }
        var names: Set<String> = []
        for element in attribute.elements {
            let elementPath = "\(path).\(element.name)"
            checkName(element.name, of: "an element", in: entity, property: elementPath)
            if !names.insert(element.name).inserted {
                report(entity.name, elementPath, "two elements have this name; rename one of them")
            }
            if element.type == .undefined || element.type == .objectID {
                report(entity.name, elementPath, "an element cannot have type \(element.type)")
            }
            if element.isTransient { report(entity.name, elementPath, "an element cannot be transient") }
            for problem in element.ruleProblems { report(entity.name, elementPath, problem) }
            if element.isIndexed { report(entity.name, elementPath, "an element cannot be indexed") }
            if element.derivation != nil { report(entity.name, elementPath, "an element cannot be derived") }
            if !element.accepts(element.defaultValue) {
                report(
                    entity.name, elementPath,
                    "the default does not fit: it is \(element.defaultValue.kindDescription), "
                        + "the type is \(element.type)"
                )
            }
            checkElements(of: element, path: elementPath, in: entity, depth: depth + 1)
        }
    }

    private mutating func checkIdentifiers(
        ofElementsOf attribute: AttributeDescription, path: String, in entity: EntityDescription
    ) {
        var identifiers: Set<String> = []
        for element in attribute.elements {
            guard let identifier = element.renamingIdentifier else { continue }
            if identifier.isEmpty {
                report(
                    entity.name, "\(path).\(element.name)",
                    "the renaming identifier is empty; give the old name, or nil")
            } else if !identifiers.insert(identifier).inserted {
                report(
                    entity.name, "\(path).\(element.name)",
                    "another element has the renaming identifier '\(identifier)' too; only one element can have it")
            }
        }
    }
}

extension AttributeType {
    /// Whether an index or a uniqueness constraint can contain values of this type.
    package var hasKeyOrder: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid,
            .uri:
            true
        case .undefined, .transformable, .objectID, .composite: false
        }
    }
}
