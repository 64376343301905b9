// The words of model files: which elements lie in which, what attributes they have, and what these can say.
//
// Invariants
//   1. A word stands here once, whatever version of the editor wrote it; older ones keep being read.

/// What the value of an attribute has to be.
enum ModelWord: Equatable {
    /// Any text.
    case text
    /// Any text but the empty one.
    case name
    /// `YES` or `NO`.
    case flag
    /// A whole number, 0 or more.
    case count
    /// A number.
    case number
    /// One of these texts.
    case choice([String])

    /// Whether `value` is one.
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

    /// What would be right.
    var expectation: String {
        switch self {
        case .text: "any text is right"
        case .name: "it needs a text that is not empty"
        case .flag: "it has to be YES or NO"
        case .count: "it has to be a whole number, 0 or more"
        case .number: "it has to be a number"
        case .choice(let values): "it has to be one of \(values.map { "'\($0)'" }.joined(separator: ", "))"
        }
    }
}

/// What an element of one kind can hold.
struct ModelElementRule {
    /// The attributes, by name.
    var attributes: [String: ModelWord] = [:]
    /// The attributes that it cannot be without.
    var required: Set<String> = []
    /// The kinds of its children.
    var children: Set<ModelElement.Kind> = []
}

extension ModelElement.Kind {
    /// Kinds that an element has at most once.
    static let singular: Set<ModelElement.Kind> = [.userInfo, .uniquenessConstraints, .compoundIndexes, .elements]

    /// The types of attributes, as files name them.
    static let attributeTypes = [
        "Integer 16", "Integer 32", "Integer 64", "Decimal", "Double", "Float", "String", "Boolean", "Date", "Binary",
        "UUID", "URI", "Transformable", "Composite", "Undefined",
    ]
    /// The delete rules, as files name them.
    static let deleteRules = ["Nullify", "Cascade", "Deny", "No Action"]

    /// What elements of this kind can hold.
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
                    // Of compiled models, which have rules as predicates.
                    "validationPredicates": .flag,
                ], uniquingKeysWith: { first, _ in first }),
            required: ["name"], children: [.userInfo]),
        .relationship: ModelElementRule(
            attributes: property.merging(
                [
                    "transient": .flag, "toMany": .flag, "ordered": .flag, "minCount": .count, "maxCount": .count,
                    "deletionRule": .choice(deleteRules), "destinationEntity": .name, "inverseName": .name,
                    "inverseEntity": .name,
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

    /// What all properties can say.
    private static let property: [String: ModelWord] = [
        "name": .name, "optional": .flag, "indexed": .flag, "elementID": .text, "versionHashModifier": .text,
        "syncable": .flag, "spotlightIndexingEnabled": .flag, "storedInTruthFile": .flag,
    ]
}
