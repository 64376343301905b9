// `dbtool fetch`: prints the rows of an entity that match a predicate, in order.

import EspalierModel
import EspalierStore

/// The verb `fetch`.
enum FetchVerb: Verb {
    static let usage = Usage(
        name: "fetch", summary: "print the rows of an entity that match a predicate",
        parameters: [
            .required("FILE", "the store"), .required("ENTITY", "the entity; rows of its subentities are found too"),
            .optional("PREDICATE", "a condition, quoted as one argument; without it all rows"),
        ],
        options: [
            .text("--sort", "KEYS", "order: key paths, separated by commas; each may end in \" desc\""),
            .integer("--limit", "N", in: 0...Int.max, "print at most N rows"),
            .integer("--offset", "N", in: 0...Int.max, "skip the first N rows"),
            .flag("--count", "print only how many rows match"),
            .flag("--explain", "print how the store finds the rows, instead of the rows"), .json,
        ],
        discussion: """
            Predicates are written as for NSPredicate: comparisons (== != < <= > >= BETWEEN IN CONTAINS BEGINSWITH
            ENDSWITH LIKE MATCHES, with [cd] to ignore case and diacritics), AND, OR, NOT, key paths across
            relationships, ANY / ALL / NONE for to-many relationships. An error names its column.
            """,
        examples: [
            .init(
                command: #"dbtool fetch chinook.espalier Track 'album.artist.name == "AC/DC"' --sort name"#,
                meaning: "follows two relationships, and sorts the rows"),
            .init(
                command:
                    #"dbtool fetch chinook.espalier Track 'genre.name == "Rock"' --sort 'milliseconds desc' --limit 9"#,
                meaning: "prints the nine longest"),
            .init(
                command: #"dbtool fetch chinook.espalier Customer 'ANY invoices.total > 20' --count"#,
                meaning: "prints only the number of rows"),
            .init(
                command: #"dbtool fetch chinook.espalier Artist 'name BEGINSWITH "A"' --explain"#,
                meaning: "shows the index that is used and the conditions that are left to test"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        // A read finishes before anything is printed, so it can be repeated.
        try repeatingRead { () throws(ToolError) in try answer(arguments, console) }
        return .ok
    }

    private static func answer(_ arguments: Arguments, _ console: Console) throws(ToolError) {
        let store = try OpenStore(arguments.required("FILE"))
        let entity = try store.entity(named: arguments.required("ENTITY"))
        let request = try request(for: entity, in: store, arguments)
        if arguments.flag("--explain") {
            let steps = try store.explain(request)
            arguments.wantsJSON
                ? console.print(["steps": .array(steps.map(JSONValue.string))]) : steps.forEach { console.print($0) }
        } else if arguments.flag("--count") {
            let count = try store.count(request)
            arguments.wantsJSON ? console.print(["count": .count(count)]) : console.print("\(count)")
        } else {
            try printRows(request, of: store, asJSON: arguments.wantsJSON, to: console)
        }
        try store.close()
    }

    private static func request(
        for entity: Entity, in store: OpenStore, _ arguments: Arguments
    ) throws(ToolError) -> StoreFetch {
        var request = StoreFetch(entity: entity)
        do throws(FetchPredicateError) {
            if let text = arguments["PREDICATE"] {
                request.predicate = try ResolvedPredicate(FetchPredicate(format: text), for: entity, in: store.model)
            }
            for key in arguments.text("--sort").map(sortKeys) ?? [] {
                request.sort.append(try ResolvedSortKey(key, for: entity, in: store.model))
            }
        } catch {
            throw .predicate(error)
        }
        request.limit = arguments.integer("--limit")
        request.offset = arguments.integer("--offset") ?? 0
        return request
    }

    /// Parses `name, album.title desc` as sort keys.
    private static func sortKeys(_ text: String) -> [SortKey] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let words = part.split(separator: " ")
            let isDescending = words.count > 1 && words[words.count - 1].lowercased() == "desc"
            let isAscending = words.count > 1 && words[words.count - 1].lowercased() == "asc"
            let path = isDescending || isAscending ? words.dropLast() : words[...]
            return SortKey(path.joined(separator: " "), ascending: !isDescending)
        }
    }

    private static func printRows(
        _ request: StoreFetch, of store: OpenStore, asJSON: Bool, to console: Console
    ) throws(ToolError) {
        let rows = try store.fetch(request)
        if asJSON {
            for row in rows {
                console.print(row.json(of: store.model.entity(named: row.id.entityName) ?? request.entity))
            }
            return
        }
        var table = RowTable(request.entity)
        rows.forEach { table.append($0) }
        if !rows.isEmpty { console.output.write(table.rendered() + "\n") }
        console.print(rows.count == 1 ? "1 row" : "\(DisplayText.grouped(rows.count)) rows")
    }
}
