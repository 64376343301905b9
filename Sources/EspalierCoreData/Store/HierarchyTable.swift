// The table of one hierarchy of entities: which column holds which property of which entity.
//
// Invariants
//   1. Each column of the table is accounted for in each entity: it is a property's, it supports one, or it has to be
//      null in the rows of the entity.

import EspalierModel

/// The table of a hierarchy.
struct HierarchyTable {
    /// The column of an attribute: no references, so that a walk over the columns of a row counts none.
    struct AttributeColumn {
        let slot: Int
        let column: Int
        let type: AttributeType
        let isExternal: Bool
    }

    /// The columns of the rows of one entity: a class, because it is looked at for each row.
    final class EntityColumns {
        let entity: Entity
        let attributes: [AttributeColumn]
        let destinations: [(slot: Int, column: Int)]
        /// The columns that no property of the entity has.
        let others: [Int]
        /// The values and destinations of a row without any: a copy of them costs less than a new array of each.
        let nulls: [AttributeValue]
        let noDestinations: [UInt64]

        init(
            _ entity: Entity, _ attributes: [AttributeColumn], _ destinations: [(slot: Int, column: Int)],
            others: [Int]
        ) {
            (self.entity, self.attributes, self.destinations) = (entity, attributes, destinations)
            self.others = others
            nulls = Array(repeating: .null, count: entity.attributes.count)
            noDestinations = Array(repeating: 0, count: entity.relationships.count)
        }
    }

    let table: SQLiteTable
    let keyColumn: Int
    let entityColumn: Int?
    /// By the number of the entity.
    let entities: [Int64: EntityColumns]
    /// The properties without a column.
    let missing: [(entity: String, property: String)]
    private let names: [ManagedObjectModel.EntityIndex: [String: String]]

    /// - Parameter numbers: the numbers of all entities, by name.
    init(
        _ table: SQLiteTable, root: Entity, model: ManagedObjectModel, numbers: [String: Int64],
        external: Set<String>, path: String
    ) throws(CoreDataImportError) {
        guard let keyColumn = table.column("Z_PK") else {
            throw .notAStore(path: path, reason: "table \(table.name) has no column Z_PK")
        }
        let family = root.family.compactMap { index in
            numbers[model.entities[index].name].map { (entity: model.entities[index], number: $0) }
        }
        let names = ColumnNames.columns(ofHierarchy: family)
        let capitals = table.columns.map { $0.uppercased() }
        var (entities, missing): ([Int64: EntityColumns], [(entity: String, property: String)]) = ([:], [])
        for (entity, number) in family {
            var (attributes, destinations): ([AttributeColumn], [(slot: Int, column: Int)]) = ([], [])
            var used: Set<Int> = [keyColumn]
            func column(_ declaredBy: ManagedObjectModel.EntityIndex, _ name: String) -> Int? {
                guard let column = names[declaredBy]?[name], let place = table.column(column) else {
                    if declaredBy == entity.index { missing.append((entity.name, name)) }
                    return nil
                }
                used.insert(place)
                for (other, text) in capitals.enumerated() where ColumnNames.supports(column, in: text) {
                    used.insert(other)
                }
                return place
            }
            for attribute in entity.attributes where !attribute.isTransient {
                guard let place = column(attribute.declaredBy, attribute.name) else { continue }
                let name = "\(model.entities[attribute.declaredBy].name).\(attribute.name)"
                attributes.append(
                    AttributeColumn(
                        slot: attribute.slot, column: place, type: attribute.type, isExternal: external.contains(name)))
            }
            for relationship in entity.relationships where !relationship.isToMany {
                guard let place = column(relationship.declaredBy, relationship.name) else { continue }
                destinations.append((relationship.slot, place))
            }
            for name in ["Z_ENT", "Z_OPT"] { if let place = table.column(name) { used.insert(place) } }
            entities[number] = EntityColumns(
                entity, attributes, destinations, others: table.columns.indices.filter { !used.contains($0) })
        }
        (self.table, self.keyColumn, self.entities, self.missing) = (table, keyColumn, entities, missing)
        (entityColumn, self.names) = (table.column("Z_ENT"), names)
    }

    /// The columns that no property of any entity has; none if an entity has a composite, whose columns are not known.
    var unusedColumns: [String] {
        let hasComposite = entities.values.contains { $0.entity.attributes.contains { $0.type == .composite } }
        guard !entities.isEmpty, !hasComposite else { return [] }
        let common = entities.values.reduce(into: Set(table.columns.indices)) { $0.formIntersection($1.others) }
        return common.sorted().map { table.columns[$0] }
    }

    /// The attributes whose columns Core Data has declared for values of other types.
    var retyped: [(entity: String, property: String)] {
        entities.sorted { $0.key < $1.key }.flatMap { _, columns in
            columns.attributes.filter { !$0.type.isKept(inColumnDeclared: table.types[$0.column]) }.map { place in
                (entity: columns.entity.name, property: columns.entity.attributes[place.slot].name)
            }
        }
    }

    /// The columns with the owner of a row in an ordered list, and with its place in the list: those of the
    /// relationship that leads back to the owner.
    func orderColumns(of inverse: Relationship) -> (owner: Int, place: Int?)? {
        guard let name = names[inverse.declaredBy]?[inverse.name], let owner = table.column(name) else { return nil }
        return (owner, table.column("Z_FOK_" + name.dropFirst()))
    }

    /// The columns with the owner of a row under a relationship that has no inverse, which are named after the
    /// relationship and the number of the entity that declares it.
    func ownerColumns(of relationship: Relationship, number: Int64) -> (owner: Int, place: Int?)? {
        let base = "\(number)\(relationship.name.uppercased())"
        guard let owner = table.column("Z" + base) ?? table.column("Z_" + base) else { return nil }
        return (owner, table.column("Z_FOK_" + base))
    }

    /// Makes a column one that rows of all entities may use.
    func allowing(_ columns: [Int]) -> HierarchyTable {
        HierarchyTable(
            self,
            entities.mapValues { entity in
                EntityColumns(
                    entity.entity, entity.attributes, entity.destinations,
                    others: entity.others.filter { !columns.contains($0) })
            })
    }

    private init(_ other: HierarchyTable, _ entities: [Int64: EntityColumns]) {
        (table, keyColumn, entityColumn) = (other.table, other.keyColumn, other.entityColumn)
        (self.entities, missing, names) = (entities, other.missing, other.names)
    }
}
