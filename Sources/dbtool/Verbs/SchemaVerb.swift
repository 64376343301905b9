// `dbtool schema`: shows the model in a store or a model file, entity by entity or as Swift classes.

import EspalierModel
import EspalierModelFile

/// The verb `schema`.
enum SchemaVerb: Verb {
    static let usage = Usage(
        name: "schema", summary: "show the model in a store: entities, attributes, relationships, indexes",
        parameters: [
            .required("FILE", "the store, or a model file (.xcdatamodeld, .xcdatamodel, .momd, .mom)"),
            .optional("ENTITY", "one entity; without it all of them"),
        ],
        options: [.json, .flag("--swift", "print @Entity classes of the whole model, as Swift source")],
        discussion: """
            A store carries its whole model, so no other file and no program is needed to read it.
            Features of a model file that Espalier does not support are listed on standard error, and so are
            named requests whose condition does not fit the model.
            """,
        examples: [
            .init(command: "dbtool schema chinook.espalier", meaning: "prints every entity with its number of rows"),
            .init(command: "dbtool schema chinook.espalier Track", meaning: "prints one entity"),
            .init(
                command: "dbtool schema Shop.xcdatamodeld --swift > Shop.swift",
                meaning: "writes the classes of a model file"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        if arguments.flag("--swift"), arguments.wantsJSON || arguments["ENTITY"] != nil {
            throw .usage(
                UsageError(
                    message: "--swift prints all classes as Swift source; use it without ENTITY and --json"))
        }
        let source = try SchemaSource(arguments.required("FILE"))
        for omission in source.omissions { console.errors.write("note: \(source.path): \(omission)\n") }
        if arguments.flag("--swift") {
            try printClasses(of: source, to: console)
            try source.close()
            return .ok
        }
        let entities = try arguments["ENTITY"].map { name throws(ToolError) in [try source.entity(named: name)] }
        if arguments.wantsJSON {
            var list: [JSONValue] = []
            for entity in entities ?? source.model.entities {
                list.append(json(entity, source.model, rowCount: try source.rowCount(of: entity)))
            }
            console.print(["file": .string(source.path), "entities": .array(list)])
        } else {
            for entity in entities ?? source.model.entities {
                print(entity, source.model, rowCount: try source.rowCount(of: entity), to: console)
            }
        }
        try source.close()
        return .ok
    }

    private static func printClasses(of source: SchemaSource, to console: Console) throws(ToolError) {
        let name = source.path.split(separator: "/").last.map(String.init) ?? source.path
        let classes: EntityClassSource
        do {
            classes = try EntityClassSource(source.model, origin: name, compositeNames: source.compositeNames)
        } catch {
            throw .refused(path: source.path, reason: error.description)
        }
        for omission in classes.omissions { console.errors.write("note: \(source.path): \(omission)\n") }
        console.output.write(classes.text)
    }

    private static func print(_ entity: Entity, _ model: ManagedObjectModel, rowCount: Int?, to console: Console) {
        let above = entity.superentity.map { " : \(model.entities[$0].name)" } ?? ""
        let rows = rowCount.map { $0 == 1 ? "1 row" : "\(DisplayText.grouped($0)) rows" }
        let remark = entity.isAbstract ? " (abstract)" : rows.map { " (\($0))" } ?? ""
        console.print("\(entity.name)\(above)\(remark)")
        var table = TextTable([.text("property"), .text("type"), .text("rules")], hasHeader: false)
        for attribute in entity.attributes {
            table.append(["  " + attribute.name, typeText(attribute), rules(of: attribute, in: entity, model)])
        }
        for relationship in entity.relationships {
            let type = (relationship.isToMany ? "many " : "one ") + model.entities[relationship.destination].name
            table.append(["  " + relationship.name, type, rules(of: relationship, model)])
        }
        console.output.write(table.rendered())
        for constraint in entity.uniquenessConstraints where constraint.count > 1 {
            console.print("  unique together: \(constraint.joined(separator: ", "))")
        }
        for index in entity.indexes {
            let isPlain = index.elements.allSatisfy { $0.folding.isEmpty && $0.expressionFormat == nil }
            guard index.elements.count > 1 || !isPlain || index.predicateFormat != nil else { continue }
            let condition = index.predicateFormat.map { ", where \($0)" } ?? ""
            console.print("  index \(index.name): \(index.elements.map(text).joined(separator: ", "))\(condition)")
        }
        console.print()
    }

    private static func text(_ element: EntityDescription.Index.Element) -> String {
        var text = element.name
        if element.folding.contains(.caseInsensitive) { text += " without case" }
        if element.folding.contains(.diacriticInsensitive) { text += " without diacritics" }
        return text
    }

    private static func typeText(_ attribute: Attribute) -> String {
        "\(attribute.type)" + (attribute.isOptional ? "?" : "")
    }

    private static func rules(of attribute: Attribute, in entity: Entity, _ model: ManagedObjectModel) -> String {
        var rules: [String] = []
        if attribute.declaredBy != entity.index { rules.append("from \(model.entities[attribute.declaredBy].name)") }
        if entity.uniquenessConstraints.contains([attribute.name]) { rules.append("unique") }
        if attribute.description.isIndexed { rules.append("indexed") }
        if attribute.isTransient { rules.append("transient") }
        if let derivation = attribute.derivation { rules.append("derived by \(derivation.expression)") }
        if !attribute.defaultValue.isNull { rules.append("default \(attribute.defaultValue.cellText)") }
        return rules.joined(separator: ", ")
    }

    private static func rules(of relationship: Relationship, _ model: ManagedObjectModel) -> String {
        var rules = [relationship.isOptional ? "" : "required", relationship.isOrdered ? "ordered" : ""]
        rules.append(relationship.description.inverse.map { "inverse \($0)" } ?? "no inverse")
        rules.append("on delete \(relationship.deleteRule)")
        return rules.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func json(_ entity: Entity, _ model: ManagedObjectModel, rowCount: Int?) -> JSONValue {
        let attributes = entity.attributes.map { attribute -> JSONValue in
            [
                "name": .string(attribute.name), "type": .string("\(attribute.type)"),
                "optional": .boolean(attribute.isOptional), "transient": .boolean(attribute.isTransient),
                "indexed": .boolean(attribute.description.isIndexed), "default": attribute.defaultValue.json,
                "declaredBy": .string(model.entities[attribute.declaredBy].name),
            ]
        }
        let relationships = entity.relationships.map { relationship -> JSONValue in
            [
                "name": .string(relationship.name),
                "destination": .string(model.entities[relationship.destination].name),
                "toMany": .boolean(relationship.isToMany), "ordered": .boolean(relationship.isOrdered),
                "optional": .boolean(relationship.isOptional), "inverse": .optional(relationship.description.inverse),
                "deleteRule": .string("\(relationship.deleteRule)"),
                "declaredBy": .string(model.entities[relationship.declaredBy].name),
            ]
        }
        return [
            "name": .string(entity.name), "superentity": .optional(entity.superentity.map { model.entities[$0].name }),
            "abstract": .boolean(entity.isAbstract), "rows": rowCount.map { .count($0) } ?? .null,
            "attributes": .array(attributes),
            "relationships": .array(relationships),
            "unique": .array(entity.uniquenessConstraints.map { .array($0.map(JSONValue.string)) }),
            "indexes": .array(
                entity.indexes.map { index in
                    [
                        "name": .string(index.name),
                        "properties": .array(index.elements.map { .string($0.name) }),
                    ]
                }),
        ]
    }
}
