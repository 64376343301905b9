// `dbtool dump`: prints every row of a store.

import EspalierModel
import EspalierStore

/// The verb `dump`.
enum DumpVerb: Verb {
    /// The number of rows in memory at a time.
    private static let batchSize = 1000

    static let usage = Usage(
        name: "dump", summary: "print all rows: as tables, or one JSON object per line",
        parameters: [.required("FILE", "the store"), .optional("ENTITY", "one entity; without it all of them")],
        options: [.json],
        discussion: """
            With --json each row is one line: entity, key, version, attributes, relationships. A to-many relationship
            is listed only if its inverse is not a to-one relationship. All rows are from one snapshot;
            exit code 4: another process writes the store, and overwrote rows before they could be printed.
            """,
        examples: [
            .init(command: "dbtool dump chinook.espalier Genre", meaning: "prints the rows of one entity as a table"),
            .init(
                command: "dbtool dump chinook.espalier --json > chinook.jsonl",
                meaning: "writes all rows, one JSON object per line, in the same order each time"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let store = try OpenStore(arguments.required("FILE"))
        let entities = try arguments["ENTITY"].map { name throws(ToolError) in
            let root = try store.entity(named: name)
            return root.family.map { store.model.entities[$0] }
        }
        for entity in entities ?? store.model.entities where !entity.isAbstract {
            try dump(entity, of: store, asJSON: arguments.wantsJSON, to: console)
        }
        try store.close()
        return .ok
    }

    private static func dump(
        _ entity: Entity, of store: OpenStore, asJSON: Bool, to console: Console
    ) throws(ToolError) {
        let ids = try store.ids(of: entity)
        var table = RowTable(entity)
        for start in stride(from: 0, to: ids.count, by: batchSize) {
            let batch = Array(ids[start...].prefix(batchSize))
            let rows = try store.rows(batch)
            guard asJSON else {
                rows.forEach { table.append($0) }
                continue
            }
            let links = try linkLists(of: rows.map(\.id), entity, store)
            for (index, row) in rows.enumerated() {
                console.print(row.json(of: entity, links: links.map { ($0.name, $0.destinations[index]) }))
            }
        }
        if !asJSON {
            console.print("\(entity.name): \(ids.count == 1 ? "1 row" : "\(DisplayText.grouped(ids.count)) rows")")
            if !ids.isEmpty { console.output.write(table.rendered()) }
            console.print()
        }
    }

    /// The destinations of each owner, for each to-many relationship that is ordered or has no to-one inverse.
    private static func linkLists(
        of owners: [ObjectID], _ entity: Entity, _ store: OpenStore
    ) throws(ToolError) -> [(name: String, destinations: [[ObjectID]])] {
        var lists: [(name: String, destinations: [[ObjectID]])] = []
        for relationship in entity.relationships where relationship.isToMany {
            let inverse = relationship.inverse.map { store.model.entities[relationship.destination].relationships[$0] }
            if let inverse, !inverse.isToMany, !relationship.isOrdered { continue }
            lists.append((relationship.name, try store.destinations(of: relationship, for: owners)))
        }
        return lists
    }
}
