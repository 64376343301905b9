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
        var table = RowTable(entity)
        let lists = asJSON ? shownLists(of: entity, store.model) : []
        var lines = RowLines(entity, lists: lists.map(\.name))
        var next: StoreFetch? = StoreFetch(entity: entity, includesSubentities: false)
        var count = 0
        while let request = next {
            let batch = try store.fetchBatch(request, of: batchSize)
            next = batch.rest
            count += batch.rows.count
            guard asJSON else {
                batch.rows.forEach { table.append($0) }
                continue
            }
            let links = try lists.map { list throws(ToolError) in
                try store.destinations(of: list, for: batch.rows.ids)
            }
            for (position, row) in batch.rows.enumerated() { lines.append(row, lists: links.map { $0[position] }) }
            console.output.write(lines.bytes)
            lines.removeAll()
        }
        if !asJSON {
            console.print("\(entity.name): \(count == 1 ? "1 row" : "\(DisplayText.grouped(count)) rows")")
            if count > 0 { console.output.write(table.rendered()) }
            console.print()
        }
    }

    /// The to-many relationships that are ordered or have no to-one inverse.
    private static func shownLists(of entity: Entity, _ model: ManagedObjectModel) -> [Relationship] {
        entity.relationships.filter { relationship in
            relationship.isToMany && (relationship.isOrdered || model.inverse(of: relationship)?.isToMany != false)
        }
    }
}
