// `dbtool schema`: the model that a store carries, entity by entity.

import EspalierModel
import EspalierStore

/// The verb `schema`.
enum SchemaVerb: Verb {
    static let usage = Usage(
        name: "schema", summary: "show the model in a store: entities, attributes, relationships, indexes",
        parameters: [.required("FILE", "the store"), .optional("ENTITY", "one entity; without it all of them")],
        options: [.json],
        discussion: "A store carries its whole model, so no other file and no program is needed to read it.",
        examples: [
            .init(command: "dbtool schema chinook.espalier", meaning: "every entity with its number of rows"),
            .init(command: "dbtool schema chinook.espalier Track", meaning: "one entity"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let store = try OpenStore(arguments.required("FILE"))
        let entities = try arguments["ENTITY"].map { name throws(ToolError) in [try store.entity(named: name)] }
        if arguments.wantsJSON {
            var list: [JSONValue] = []
            for entity in entities ?? store.model.entities {
                list.append(json(entity, store.model, rowCount: try store.rowCount(of: entity)))
            }
            console.print(["file": .string(store.path), "entities": .array(list)])
        } else {
            for entity in entities ?? store.model.entities {
                print(entity, store.model, rowCount: try store.rowCount(of: entity), to: console)
            }
        }
        try store.close()
        return .ok
    }

    private static func print(_ entity: Entity, _ model: ManagedObjectModel, rowCount: Int, to console: Console) {
        let above = entity.superentity.map { " : \(model.entities[$0].name)" } ?? ""
        let rows = entity.isAbstract ? "abstract" : rowCount == 1 ? "1 row" : "\(DisplayText.grouped(rowCount)) rows"
        console.print("\(entity.name)\(above) (\(rows))")
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
        for index in entity.indexes where index.elements.count > 1 {
            console.print("  index \(index.name): \(index.elements.map(\.property).joined(separator: ", "))")
        }
        console.print()
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
        if !attribute.defaultValue.isNull { rules.append("default \(attribute.defaultValue.cellText)") }
        return rules.joined(separator: ", ")
    }

    private static func rules(of relationship: Relationship, _ model: ManagedObjectModel) -> String {
        var rules = [relationship.isOptional ? "" : "required", relationship.isOrdered ? "ordered" : ""]
        rules.append(relationship.description.inverse.map { "inverse \($0)" } ?? "no inverse")
        rules.append("on delete \(relationship.deleteRule)")
        return rules.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func json(_ entity: Entity, _ model: ManagedObjectModel, rowCount: Int) -> JSONValue {
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
            "abstract": .boolean(entity.isAbstract), "rows": .count(rowCount), "attributes": .array(attributes),
            "relationships": .array(relationships),
            "unique": .array(entity.uniquenessConstraints.map { .array($0.map(JSONValue.string)) }),
            "indexes": .array(
                entity.indexes.map { index in
                    [
                        "name": .string(index.name),
                        "properties": .array(index.elements.map { .string($0.property) }),
                    ]
                }),
        ]
    }
}
