// The table of a relationship from many to many, and the columns of its two ends.

import EspalierModel

/// The table and the columns that have the members of a to-many relationship.
struct JoinTable {
    let table: SQLiteTable
    let owner: Int
    let destination: Int
    /// The column that orders the destinations of an owner.
    let place: Int?

    /// The numbers that may stand for the entity at an end: those of its hierarchy.
    private struct End {
        let name: String
        let number: Int64?
        let numbers: Set<Int64>

        init(_ name: String, _ entity: Entity, _ model: ManagedObjectModel, _ numbers: [String: Int64]) {
            self.name = name
            number = numbers[entity.name]
            self.numbers = Set(model.entities[entity.root].family.compactMap { numbers[model.entities[$0].name] })
        }

        /// The columns of the end: first the one with the number of the very entity.
        func columns(_ table: SQLiteTable) -> [Int] {
            let found = table.columns.indices.compactMap { column -> (column: Int, number: Int64)? in
                ColumnNames.number(in: table.columns[column], "Z_", name).map { (column, $0) }
            }
            return found.filter { numbers.contains($0.number) }.sorted {
                ($0.number == number ? 0 : 1, $0.column) < ($1.number == number ? 0 : 1, $1.column)
            }.map(\.column)
        }
    }

    /// The table in `database` that holds `relationship`; `nil` if none does.
    ///
    /// - Throws: `.notAStore` if several do.
    static func find(
        _ relationship: Relationship, in model: ManagedObjectModel, _ numbers: [String: Int64],
        _ database: SQLiteDatabase
    ) throws(CoreDataImportError) -> JoinTable? {
        let source = model.entities[relationship.declaredBy]
        let target = model.destination(of: relationship)
        let inverse = model.inverse(of: relationship)
        let destination = End(relationship.name, target, model, numbers)
        let owner = inverse.map { End($0.name, source, model, numbers) }
        var found: [(exactness: Int, table: JoinTable)] = []
        for entry in database.schema where entry.type == "table" && entry.name.hasPrefix("Z_") {
            let names = [relationship.name] + (inverse.map { [$0.name] } ?? [])
            let number = names.lazy.compactMap { ColumnNames.number(in: entry.name, "Z_", $0) }.first
            guard let number,
                let table = try withImportErrors({ () throws(SQLiteFileError) in try database.table(entry.name) })
            else { continue }
            let isSelf = inverse.map { $0.declaredBy == relationship.declaredBy && $0.slot == relationship.slot }
            let place = destination.columns(table).first
            var ownerPlace = table.column("REFLEXIVE")
            if isSelf != true, ownerPlace == nil {
                ownerPlace =
                    owner?.columns(table).first { $0 != place }
                    ?? table.columns.indices.first { inverse == nil && $0 != place && !isOrder($0, table) }
            }
            guard let place, let ownerPlace, ownerPlace != place else { continue }
            let isExact = number == numbers[source.name] || number == numbers[target.name]
            let order = table.column("Z_FOK_" + table.columns[place].dropFirst(2))
            found.append(
                (isExact ? 0 : 1, JoinTable(table: table, owner: ownerPlace, destination: place, place: order)))
        }
        let best = found.filter { $0.exactness == found.map(\.exactness).min() }
        guard best.count < 2 else {
            throw .notAStore(
                path: database.path,
                reason: "the tables \(best.map(\.table.table.name).joined(separator: ", ")) all could be the table of "
                    + "\(source.name).\(relationship.name)")
        }
        return best.first?.table
    }

    private static func isOrder(_ column: Int, _ table: SQLiteTable) -> Bool {
        table.columns[column].uppercased().hasPrefix("Z_FOK_")
    }
}
