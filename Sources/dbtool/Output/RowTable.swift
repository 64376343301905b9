// The output of rows: a table with a column for each attribute and each to-one relationship, or JSON objects.

import EspalierModel
import EspalierStore

/// A table of the rows of one entity.
struct RowTable {
    private let entity: Entity
    private var table: TextTable

    /// An empty table for rows of `entity` and its subentities.
    init(_ entity: Entity) {
        self.entity = entity
        let attributes = entity.attributes.map { attribute in
            attribute.type.isNumber
                ? TextTable.Column.number(attribute.name) : .text(attribute.name, widthMax: 40)
        }
        let destinations = entity.relationships.filter { !$0.isToMany }.map { TextTable.Column.text($0.name) }
        table = TextTable([.text("row")] + attributes + destinations)
    }

    /// Adds a row.
    mutating func append(_ row: ObjectSnapshot) {
        let values = entity.attributes.map { row.value(at: $0.slot).cellText }
        let destinations = entity.relationships.filter { !$0.isToMany }.map {
            row.destination(at: $0.slot)?.shortText ?? ""
        }
        table.append([row.id.shortText] + values + destinations)
    }

    /// The lines of the table.
    func rendered() -> String { table.rendered() }
}

extension ObjectSnapshot {
    /// The row for programs.
    ///
    /// - Parameters:
    ///   - entity: the row's own entity.
    ///   - links: the destinations of the to-many relationships to show, by name.
    func json(of entity: Entity, links: [(name: String, destinations: [ObjectID])] = []) -> JSONValue {
        let attributes = entity.attributes.filter { !$0.isTransient }.map {
            (name: $0.name, value: value(at: $0.slot).json)
        }
        let destinations = entity.relationships.filter { !$0.isToMany }.map {
            (name: $0.name, value: JSONValue.optional(destination(at: $0.slot)?.shortText))
        }
        let lists = links.map { link in
            (name: link.name, value: JSONValue.array(link.destinations.map { .string($0.shortText) }))
        }
        return [
            "entity": .string(entity.name), "key": .count(id.key), "version": .count(version),
            "attributes": .object(attributes), "relationships": .object(destinations + lists),
        ]
    }
}
