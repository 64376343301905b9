// Writes the `@Entity` classes of a model as the Swift source that an application would contain.
//
// Invariants
//   1. The source compiles, and the model of its classes has the version hashes of the given model, except for the
//      parts that `omissions` names.
//   2. The same model always gives the same source.
// Not here: the names of the classes (ClassNames), the structs of composite attributes (CompositeSource), and the
// spelling of values and names (SwiftText).

package import EspalierModel

/// The classes of a model as Swift source.
package struct EntityClassSource: Sendable {
    /// The source of one file.
    package let text: String
    /// One sentence for each part of the model that classes cannot express and the source omits.
    ///
    /// An omitted attribute has a comment in its place.
    package let omissions: [String]

    /// Writes the classes of `model`.
    ///
    /// - Parameters:
    ///   - origin: The description of the model's origin in the comment at the top of the source.
    ///   - compositeNames: The names of composite types in the model file, which structs get. All others are named
    ///     after their attribute.
    /// - Throws: `EntityClassError` for names that no property can have.
    package init(
        _ model: ManagedObjectModel, origin: String, compositeNames: CompositeNames? = nil
    ) throws(EntityClassError) {
        var problems: [String] = []
        for entity in model.entities {
            let own = entity.description
            let names =
                own.attributes.map(\.name) + own.relationships.map(\.name) + own.fetchedProperties.map(\.name)
            for name in names where SwiftText.propertyNamesInUse.contains(name) {
                problems.append(
                    "'\(entity.name).\(name)' has the name of a property of every object; rename it in the model")
            }
        }
        guard problems.isEmpty else { throw EntityClassError(problems: problems) }
        let classNames = ClassNames(of: model)
        var writer = EntityClassWriter(
            model, classNames, CompositeSource(of: model, classNames, namesInFile: compositeNames))
        for entity in model.entities { writer.write(entity) }
        writer.noteFeaturesWithoutClass()
        let needsFoundation = writer.usesFoundation || writer.composites.usesFoundation ? "import Foundation\n" : ""
        let head = "// Made from \(origin.replacing("\n", with: " ")) by 'dbtool schema --swift'.\n\nimport Espalier\n"
        text = head + needsFoundation + writer.text + writer.composites.text
        omissions = writer.omissions + writer.composites.omissions
    }
}

/// The names of properties of a model that its classes cannot have.
package struct EntityClassError: Error, Equatable, CustomStringConvertible {
    /// One sentence for each name.
    package let problems: [String]

    /// All problems; one per line if there are several.
    package var description: String {
        problems.count == 1
            ? problems[0]
            : "the model cannot be written as classes:\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}

private struct EntityClassWriter {
    let model: ManagedObjectModel
    let classNames: ClassNames
    var composites: CompositeSource
    var text = ""
    var omissions: [String] = []
    var usesFoundation = false

    init(_ model: ManagedObjectModel, _ classNames: ClassNames, _ composites: CompositeSource) {
        (self.model, self.classNames, self.composites) = (model, classNames, composites)
    }

    mutating func write(_ entity: Entity) {
        let description = entity.description
        let isLeaf = entity.family.count == 1
        text += "\n@Entity\(arguments(of: entity))\n"
        let superclass = description.superentity.map { classNames[$0] } ?? "ManagedObject"
        text += "\(isLeaf ? "final " : "")class \(classNames[entity.name]): \(superclass) {\n"
        for attribute in description.attributes { write(attribute, of: description) }
        for relationship in description.relationships { write(relationship) }
        for property in description.fetchedProperties { write(property, of: description) }
        text += "}\n"
    }

    /// Notes the user info, configurations, requests and messages that the classes omit.
    mutating func noteFeaturesWithoutClass() {
        for entity in model.descriptions {
            let parts =
                [(entity.name, entity.userInfo)]
                + entity.attributes.map { ("\(entity.name).\($0.name)", $0.userInfo) }
                + entity.relationships.map { ("\(entity.name).\($0.name)", $0.userInfo) }
            for (name, texts) in parts where !texts.isEmpty {
                omissions.append("the user info of '\(name)' is left out")
            }
        }
        omissions += model.configurations.map { "the configuration '\($0.name)' is left out" }
        omissions += model.fetchRequestTemplates.map { "the request '\($0.name)' is left out" }
        omissions += model.messageTables.keys.sorted().map { "the messages in '\($0)' are left out" }
    }

    private func arguments(of entity: Entity) -> String {
        let description = entity.description
        var arguments: [String] = []
        if classNames[entity.name] != entity.name { arguments.append("name: \(SwiftText.literal(entity.name))") }
        if description.isAbstract { arguments.append("isAbstract: true") }
        let constraints = description.uniquenessConstraints.filter { !isMark($0, of: description) }
        if !constraints.isEmpty {
            let groups = constraints.map { "[\($0.map(SwiftText.literal).joined(separator: ", "))]" }
            arguments.append("uniquenessConstraints: [\(groups.joined(separator: ", "))]")
            let actions = zip(groups, constraints).compactMap { group, names in
                description.constraintActions[names].map { "\(group): .\($0)" }
            }
            if !actions.isEmpty { arguments.append("constraintActions: [\(actions.joined(separator: ", "))]") }
        }
        if !description.indexes.isEmpty {
            let indexes = description.indexes.map { index in
                let parts = index.elements.map { part in
                    ".init(\(part.expressionFormat == nil ? "" : "expression: ")\(SwiftText.literal(part.name))"
                        + (part.isAscending ? "" : ", isAscending: false")
                        + Self.folding(part.folding) + ")"
                }
                let condition =
                    index.predicateFormat.map { ", predicateFormat: \(SwiftText.literal($0))" } ?? ""
                return ".init(\(SwiftText.literal(index.name)), on: [\(parts.joined(separator: ", "))]\(condition))"
            }
            let line = indexes.joined(separator: ", ")
            let isLong = line.count > 80 && indexes.count > 1
            arguments.append("indexes: [\(isLong ? Self.lines(indexes) : line)]")
        }
        arguments += Self.names(description.renamingIdentifier, description.versionHashModifier)
        guard !arguments.isEmpty else { return "" }
        let line = "(\(arguments.joined(separator: ", ")))"
        return line.count <= 100 ? line : "(\n    \(arguments.joined(separator: ",\n    ")))"
    }

    /// The arguments of a class or a property for its name in an older version and for its hash modifier.
    private static func names(_ original: String?, _ modifier: String?) -> [String] {
        [("originalName", original), ("hashModifier", modifier)].compactMap { label, text in
            text.map { "\(label): \(SwiftText.literal($0))" }
        }
    }

    private static func folding(_ options: ComparisonOptions) -> String {
        var names: [String] = []
        if options.contains(.caseInsensitive) { names.append(".caseInsensitive") }
        if options.contains(.diacriticInsensitive) { names.append(".diacriticInsensitive") }
        return names.isEmpty ? "" : ", folding: [\(names.joined(separator: ", "))]"
    }

    /// Items of a list inside the arguments of a class, each on its own line.
    private static func lines(_ items: [String]) -> String {
        "\n" + items.map { "        \($0),\n" }.joined() + "    "
    }

    /// Whether a constraint is on one attribute of the class itself: the mark of the property then declares it.
    private func isMark(_ constraint: [String], of entity: EntityDescription) -> Bool {
        constraint.count == 1 && entity.attributes.contains { $0.name == constraint[0] }
    }

    private mutating func write(_ attribute: AttributeDescription, of entity: EntityDescription) {
        let path = "\(entity.name).\(attribute.name)"
        guard let type = typeName(of: attribute, at: path) else {
            omissions.append(
                "'\(path)' of type \(attribute.type) is left out: a property of a class cannot have this type")
            text += "    // \(attribute.name): no property of a class has the type \(attribute.type).\n"
            return
        }
        var options: [String] = []
        if attribute.type == .transformable { options += transformer(of: attribute, at: path) }
        if attribute.isIndexed { options.append(".indexed") }
        if entity.uniquenessConstraints.contains([attribute.name]) {
            let action = entity.constraintActions[[attribute.name]].map { "(onConflict: .\($0))" }
            options.append(".unique" + (action ?? ""))
        }
        if attribute.allowsExternalBinaryDataStorage { options.append(".externalStorage") }
        if let derivation = attribute.derivation { options.append(".derived(\(rule(derivation, of: entity)))") }
        options += rules(of: attribute, of: entity)
        options += Self.names(attribute.renamingIdentifier, attribute.versionHashModifier)
        text += "    "
        if attribute.isTransient { text += "@Transient " }
        if !options.isEmpty { text += "@Attribute(\(options.joined(separator: ", "))) " }
        let isOptional = attribute.isOptional || attribute.type == .transformable
        text += "var \(SwiftText.identifier(attribute.name)): \(type)\(isOptional ? "?" : "")"
        if !attribute.defaultValue.isNull {
            if let value = composites.expression(attribute.defaultValue, of: attribute, at: path) {
                text += " = \(value)"
            } else {
                omissions.append("the default of '\(path)' is left out: no Swift literal expresses it")
            }
        }
        text += "\n"
    }

    /// The Swift type of an attribute; `nil` if no property of a class has its type.
    private mutating func typeName(of attribute: AttributeDescription, at path: String) -> String? {
        switch attribute.type {
        case .composite: return composites.typeName(of: attribute, at: path)
        // The JSON of a `Codable` value does not tell its Swift type.
        case .transformable: return attribute.valueTransformerName == SwiftText.codableTransformer ? nil : "Any"
        default:
            guard let type = SwiftText.typeName(of: attribute.type) else { return nil }
            usesFoundation = usesFoundation || SwiftText.foundationTypes.contains(type)
            return type
        }
    }

    /// The option for the transformer of an attribute; notes what a transformable property cannot be.
    private mutating func transformer(of attribute: AttributeDescription, at path: String) -> [String] {
        if !attribute.isOptional {
            omissions.append("'\(path)' must have a value, but a transformable property of a class is an optional")
        }
        if attribute.valueTransformerName == nil {
            omissions.append(
                "'\(path)' names no transformer; its class names '\(SwiftText.defaultTransformer)', as Core Data does")
        }
        let name = attribute.valueTransformerName ?? SwiftText.defaultTransformer
        return [".transformable(by: \(SwiftText.literal(name)))"]
    }

    /// The options for the validation rules of an attribute; notes those that no option expresses.
    private mutating func rules(of attribute: AttributeDescription, of entity: EntityDescription) -> [String] {
        let options = attribute.validationRules.compactMap(SwiftText.option)
        if options.count < attribute.validationRules.count {
            omissions.append(
                "a rule of '\(entity.name).\(attribute.name)' is left out: no Swift literal expresses its limit")
        }
        return options
    }

    /// The rule of a derived attribute, with key paths.
    private func rule(_ derivation: Derivation, of entity: EntityDescription) -> String {
        func path(_ path: String) -> String {
            let names = path.split(separator: ".").map { SwiftText.identifier(String($0)) }
            return "\\\(classNames[entity.name]).\(names.joined(separator: "?."))"
        }
        func rule(_ name: String, _ attribute: String, _ list: String) -> String {
            let relationship = model.entity(named: entity.name)?.relationship(named: list)
            let destination = classNames[relationship?.description.destination ?? entity.name]
            return ".\(name)(of: \\\(destination).\(SwiftText.identifier(attribute)), in: \(path(list)))"
        }
        return switch derivation {
        case .value(let source): ".value(of: \(path(source)))"
        case .canonical(let source): ".canonical(of: \(path(source)))"
        case .lowercase(let source): ".lowercase(of: \(path(source)))"
        case .uppercase(let source): ".uppercase(of: \(path(source)))"
        case .count(let list, nil): ".count(of: \(path(list)))"
        case .count(let list, let condition?): ".count(of: \(path(list)), where: \(SwiftText.literal(condition)))"
        case .sum(let attribute, let list): rule("sum", attribute, list)
        case .average(let attribute, let list): rule("average", attribute, list)
        case .minimum(let attribute, let list): rule("minimum", attribute, list)
        case .maximum(let attribute, let list): rule("maximum", attribute, list)
        case .now: ".now"
        }
    }

    private mutating func write(_ relationship: RelationshipDescription) {
        var options: [String] = []
        if let inverse = relationship.inverse { options.append("inverse: \(SwiftText.literal(inverse))") }
        if relationship.deleteRule != .nullify { options.append("deleteRule: .\(relationship.deleteRule)") }
        if !relationship.isOptional { options.append("isRequired: true") }
        if relationship.minCount > 0 { options.append("minimum: \(relationship.minCount)") }
        if relationship.cardinality != .toOne, relationship.maxCount > 0 {
            options.append("maximum: \(relationship.maxCount)")
        }
        options += Self.names(relationship.renamingIdentifier, relationship.versionHashModifier)
        let destination = classNames[relationship.destination]
        let type =
            switch relationship.cardinality {
            case .toOne: "\(destination)?"
            case .toMany: "ToMany<\(destination)>"
            case .ordered: "OrderedToMany<\(destination)>"
            }
        text += "    "
        if !options.isEmpty { text += "@Relationship(\(options.joined(separator: ", "))) " }
        text += "var \(SwiftText.identifier(relationship.name)): \(type)\n"
    }

    private mutating func write(_ property: FetchedPropertyDescription, of entity: EntityDescription) {
        var arguments: [String] = []
        if let condition = property.predicateFormat { arguments.append("where: \(SwiftText.literal(condition))") }
        if !property.sortElements.isEmpty {
            let elements = property.sortElements.map { element in
                ".init(\(SwiftText.literal(element.keyPath))\(element.isAscending ? "" : ", isAscending: false"))"
            }
            arguments.append("sortedBy: [\(elements.joined(separator: ", "))]")
        }
        if property.fetchLimit > 0 { arguments.append("limit: \(property.fetchLimit)") }
        if !property.userInfo.isEmpty {
            let texts = property.userInfo.sorted { $0.key < $1.key }.map { key, text in
                "\(SwiftText.literal(key)): \(SwiftText.literal(text))"
            }
            arguments.append("userInfo: [\(texts.joined(separator: ", "))]")
        }
        let what = "'\(entity.name).\(property.name)'"
        if property.sortElements.contains(where: { !$0.options.isEmpty }) {
            omissions.append("the options of the order of \(what) are left out")
        }
        if !property.includesSubentities || !property.includesPendingChanges {
            omissions.append("the request of \(what) includes subentities and unsaved changes")
        }
        text += "    @FetchedProperty\(arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))") "
        text += "var \(SwiftText.identifier(property.name)): [\(classNames[property.destination])]\n"
    }
}
