// The table of a relationship from many to many, and the columns of its two ends.

import EspalierModel

/// The table and the columns that have the members of a to-many relationship.
struct JoinTable {
    let table: SQLiteTable
    let owner: Int
    let destination: Int
    /// The column that orders the destinations of an owner.
    let place: Int?
}

extension JoinTable {
    /// A table that may be the one of a relationship.
    struct Candidate {
        let join: JoinTable
        fileprivate let rank: Rank

        var name: String { join.table.name }
        /// Whether the table has the very name of the relationship or of its inverse, and so can be no other one's.
        var hasOwnName: Bool { rank.isOtherNumber == 0 && rank.tableDigits == 0 }
    }

    /// How far the names of a table and its columns are from those of a relationship.
    fileprivate struct Rank: Comparable {
        /// 1 if the number in the name of the table is another one than that of the entity.
        let isOtherNumber: Int
        /// The digits after the name in that of the table.
        let tableDigits: Int
        /// The digits after the names in those of the two columns.
        let columnDigits: Int

        static func < (left: Rank, right: Rank) -> Bool {
            (left.isOtherNumber, left.tableDigits, left.columnDigits)
                < (right.isOtherNumber, right.tableDigits, right.columnDigits)
        }
    }

    /// The tables in `database` that may hold `relationship`.
    static func candidates(
        for relationship: Relationship, in model: ManagedObjectModel, _ numbers: [String: Int64],
        _ database: SQLiteDatabase
    ) throws(CoreDataImportError) -> [Candidate] {
        let source = model.entities[relationship.declaredBy]
        let inverse = model.inverse(of: relationship)
        let destination = End(relationship.name, model.destination(of: relationship), model, numbers)
        let owner = inverse.map { End($0.name, source, model, numbers) }
        let isSelf = inverse.map { $0.declaredBy == relationship.declaredBy && $0.slot == relationship.slot } ?? false
        let names = [relationship] + (inverse.map { [$0] } ?? [])
        var candidates: [Candidate] = []
        for entry in database.schema where entry.type == "table" && entry.name.hasPrefix("Z_") {
            let fits = names.compactMap { end -> (isOtherNumber: Int, digits: Int)? in
                ColumnNames.parts(of: entry.name, "Z_", end.name).map { parts in
                    (parts.number == numbers[model.entities[end.declaredBy].name] ? 0 : 1, parts.digits)
                }
            }
            let nearest = fits.min { ($0.isOtherNumber, $0.digits) < ($1.isOtherNumber, $1.digits) }
            guard let nearest,
                let table = try withImportErrors({ () throws(SQLiteFileError) in try database.table(entry.name) }),
                let ends = columns(destination, owner, isSelf: isSelf, table)
            else { continue }
            let place = table.column("Z_FOK_" + table.columns[ends.destination].dropFirst(2))
            candidates.append(
                Candidate(
                    join: JoinTable(table: table, owner: ends.owner, destination: ends.destination, place: place),
                    rank: Rank(
                        isOtherNumber: nearest.isOtherNumber, tableDigits: nearest.digits,
                        columnDigits: ends.digits)))
        }
        return candidates
    }

    /// The candidates whose names are the nearest: one, unless the names of several differ equally.
    static func nearest(_ candidates: [Candidate]) -> [Candidate] {
        let least = candidates.map(\.rank).min()
        return candidates.filter { $0.rank == least }
    }

    // MARK: Columns

    /// One end of a relationship: its name, and the numbers that may stand for its entity, which are those of the
    /// hierarchy.
    private struct End {
        /// A column that may be the one of the end.
        struct Column {
            let place: Int
            /// 1 if the number in the name is another one than that of the very entity.
            let isOtherNumber: Int
            /// The digits after the name.
            let digits: Int
        }

        let name: String
        let number: Int64?
        let numbers: Set<Int64>

        init(_ name: String, _ entity: Entity, _ model: ManagedObjectModel, _ numbers: [String: Int64]) {
            self.name = name
            number = numbers[entity.name]
            self.numbers = Set(model.entities[entity.root].family.compactMap { numbers[model.entities[$0].name] })
        }

        /// The columns that may be the one of the end, the nearest first.
        func columns(_ table: SQLiteTable) -> [Column] {
            let found = table.columns.indices.compactMap { place -> Column? in
                guard let parts = ColumnNames.parts(of: table.columns[place], "Z_", name),
                    numbers.contains(parts.number)
                else { return nil }
                return Column(place: place, isOtherNumber: parts.number == number ? 0 : 1, digits: parts.digits)
            }
            return found.sorted {
                ($0.isOtherNumber, $0.digits, $0.place) < ($1.isOtherNumber, $1.digits, $1.place)
            }
        }
    }

    /// The columns of both ends, and the digits after the names in theirs; `nil` if the table lacks one of them.
    private static func columns(
        _ destination: End, _ owner: End?, isSelf: Bool, _ table: SQLiteTable
    ) -> (destination: Int, owner: Int, digits: Int)? {
        let destinations = destination.columns(table)
        if let other = table.column("REFLEXIVE") {
            return destinations.first { $0.place != other }.map { ($0.place, other, $0.digits) }
        }
        guard !isSelf else { return nil }
        guard let owner else {
            // Without an inverse the column of the owner has no name that is known.
            guard let nearest = destinations.first,
                let other = table.columns.indices.first(where: { $0 != nearest.place && !isOrder($0, table) })
            else { return nil }
            return (nearest.place, other, nearest.digits)
        }
        // Each end has the nearest column, or the next one if both have the same.
        let owners = owner.columns(table).prefix(2)
        var best: (ends: (destination: Int, owner: Int, digits: Int), rank: (Int, Int, Int))?
        for first in destinations.prefix(2) {
            for second in owners where second.place != first.place {
                let digits = first.digits + second.digits
                let rank = (first.isOtherNumber + second.isOtherNumber, max(first.digits, second.digits), digits)
                if let best, best.rank <= rank { continue }
                best = ((first.place, second.place, digits), rank)
            }
        }
        return best?.ends
    }

    private static func isOrder(_ column: Int, _ table: SQLiteTable) -> Bool {
        table.columns[column].uppercased().hasPrefix("Z_FOK_")
    }
}
