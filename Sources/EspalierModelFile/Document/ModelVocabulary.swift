// The vocabulary of model files: the allowed children and attributes of each kind of element, and the values of those
// attributes.
//
// Invariants
//   1. Each word appears here once, no matter which version of the editor writes it; words of older versions stay
//      readable.

/// The values that an attribute allows.
enum ModelWord: Equatable {
    /// Any text.
    case text
    /// Any nonempty text.
    case name
    /// `YES` or `NO`.
    case flag
    /// A whole number, 0 or more.
    case count
    /// A number.
    case number
    /// One of these texts.
    case choice([String])

    /// Whether `value` is allowed.
    func allows(_ value: String) -> Bool {
        switch self {
        case .text: true
        case .name: !value.isEmpty
        case .flag: value == "YES" || value == "NO"
        case .count: Int(value).map { $0 >= 0 } ?? false
        case .number: Double(value) != nil
        case .choice(let values): values.contains(value)
        }
    }

    /// A description of the allowed values.
    var expectation: String {
        switch self {
        case .text: "any text is valid"
        case .name: "the value must not be empty"
        case .flag: "the value must be YES or NO"
        case .count: "the value must be a whole number, 0 or more"
        case .number: "the value must be a number"
        case .choice(let values): "the value must be one of \(values.map { "'\($0)'" }.joined(separator: ", "))"
        }
    }
}

/// The allowed content of one kind of element.
struct ModelElementRule {
    /// The attributes, by name.
    var attributes: [String: ModelWord] = [:]
    /// The attributes that must be present.
    var required: Set<String> = []
    /// The kinds of elements that are allowed as children.
    var children: Set<ModelElement.Kind> = []
}

extension ModelElement.Kind {
    /// The kinds of which an element may have at most one child.
    static let singular: Set<ModelElement.Kind> = [.userInfo, .uniquenessConstraints, .compoundIndexes, .elements]

    /// The names of attribute types in files.
    static let attributeTypes = [
        "Integer 16", "Integer 32", "Integer 64", "Decimal", "Double", "Float", "String", "Boolean", "Date", "Binary",
        "UUID", "URI", "Transformable", "Composite", "Undefined",
    ]
    /// The names of delete rules in files.
    static let deleteRules = ["Nullify", "Cascade", "Deny", "No Action"]

    /// The allowed content of elements of this kind.
    var rule: ModelElementRule { Self.rules[self] ?? ModelElementRule() }

    private static let rules: [ModelElement.Kind: ModelElementRule] = [
        .model: ModelElementRule(
            attributes: [
                "name": .text, "userDefinedModelVersionIdentifier": .text, "type": .text, "documentVersion": .text,
                "lastSavedToolsVersion": .text, "systemVersion": .text, "minimumToolsVersion": .text,
                "sourceLanguage": .text, "usedWithCloudKit": .text, "usedWithSwiftData": .text, "macOSVersion": .text,
                "iOSVersion": .text,
            ],
            children: [.entity, .composite, .fetchRequest, .configuration, .elements, .userInfo]),
        .entity: ModelElementRule(
            attributes: [
                "name": .name, "representedClassName": .text, "parentEntity": .name, "isAbstract": .flag,
                "elementID": .text, "versionHashModifier": .text, "syncable": .flag, "codeGenerationType": .text,
                "customClassName": .text, "spotlightIndexingEnabled": .flag, "usedWithSwiftData": .text,
                "coreSpotlightDisplayNameExpression": .text,
            ],
            required: ["name"],
            children: [
                .attribute, .relationship, .fetchedProperty, .fetchIndex, .uniquenessConstraints, .compoundIndexes,
                .userInfo,
            ]),
        .attribute: ModelElementRule(
            attributes: property.merging(
                [
                    "attributeType": .choice(attributeTypes), "transient": .flag, "defaultValueString": .text,
                    "defaultDateTimeInterval": .number, "minValueString": .text, "maxValueString": .text,
                    "minDateTimeInterval": .number, "maxDateTimeInterval": .number, "regularExpressionString": .text,
                    "usesScalarValueType": .flag, "valueTransformerName": .text, "customClassName": .text,
                    "allowsExternalBinaryDataStorage": .flag, "allowsCloudEncryption": .flag, "composite": .name,
                    "derived": .flag, "derivationExpression": .text, "preserveAfterDeletion": .flag,
                    // In compiled models only: rules and messages that no other word says.
                    "validationPredicates": .text, "validationWarnings": .text,
                ], uniquingKeysWith: { first, _ in first }),
            required: ["name"], children: [.userInfo]),
        .relationship: ModelElementRule(
            attributes: property.merging(
                [
                    "transient": .flag, "toMany": .flag, "ordered": .flag, "minCount": .count, "maxCount": .count,
                    "deletionRule": .choice(deleteRules), "destinationEntity": .name, "inverseName": .name,
                    "inverseEntity": .name,
                    // In compiled models only, as those of attributes.
                    "validationPredicates": .text, "validationWarnings": .text,
                ], uniquingKeysWith: { first, _ in first }),
            required: ["name", "destinationEntity"], children: [.userInfo]),
        .fetchedProperty: ModelElementRule(
            attributes: property.merging(["transient": .flag], uniquingKeysWith: { first, _ in first }),
            required: ["name"], children: [.fetchRequest, .userInfo]),
        .fetchRequest: ModelElementRule(
            attributes: [
                "name": .name, "entity": .name, "predicateString": .text, "resultType": .text, "fetchLimit": .count,
                "fetchBatchSize": .count, "includeSubentities": .flag, "includesSubentities": .flag,
                "includePropertyValues": .flag, "includesPropertyValues": .flag, "includesPendingChanges": .flag,
                "returnObjectsAsFaults": .flag, "returnsObjectsAsFaults": .flag, "returnDistinctResults": .flag,
                "returnsDistinctResults": .flag,
            ],
            required: ["name", "entity"]),
        .configuration: ModelElementRule(
            attributes: ["name": .name, "usedWithCloudKit": .text], required: ["name"], children: [.memberEntity]),
        .memberEntity: ModelElementRule(attributes: ["name": .name], required: ["name"]),
        .fetchIndex: ModelElementRule(
            attributes: ["name": .name, "partialIndexPredicate": .text], required: ["name"],
            children: [.fetchIndexElement]),
        .fetchIndexElement: ModelElementRule(
            attributes: [
                "property": .name, "type": .choice(["Binary", "RTree"]), "order": .choice(["ascending", "descending"]),
                "expression": .text, "expressionType": .text,
            ]),
        .uniquenessConstraints: ModelElementRule(children: [.uniquenessConstraint]),
        .uniquenessConstraint: ModelElementRule(children: [.constraint]),
        .constraint: ModelElementRule(attributes: ["value": .name], required: ["value"]),
        .compoundIndexes: ModelElementRule(children: [.compoundIndex]),
        .compoundIndex: ModelElementRule(children: [.index]),
        .index: ModelElementRule(attributes: ["value": .name], required: ["value"]),
        .composite: ModelElementRule(
            attributes: ["name": .name, "elementID": .text, "versionHashModifier": .text], required: ["name"],
            children: [.attribute, .userInfo]),
        .userInfo: ModelElementRule(children: [.entry]),
        .entry: ModelElementRule(attributes: ["key": .text, "value": .text], required: ["key"]),
        .elements: ModelElementRule(children: [.element]),
        .element: ModelElementRule(
            attributes: [
                "name": .text, "positionX": .number, "positionY": .number, "width": .number, "height": .number,
            ]),
    ]

    /// The attributes that all properties allow.
    private static let property: [String: ModelWord] = [
        "name": .name, "optional": .flag, "indexed": .flag, "elementID": .text, "versionHashModifier": .text,
        "syncable": .flag, "spotlightIndexingEnabled": .flag, "storedInTruthFile": .flag,
    ]
}
