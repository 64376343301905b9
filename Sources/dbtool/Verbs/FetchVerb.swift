// `dbtool fetch`: prints the rows of an entity that match a predicate, in order, or values of them (+Values).

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
        ] + valueOptions + [
            .flag("--count", "print only how many rows match"),
            .flag("--explain", "print how the store finds the rows, instead of the rows"),
            .flag("--analyze", "find the rows, and print each step with its numbers of rows and its time"), .json,
        ],
        discussion: """
            Predicates are written as for NSPredicate: comparisons (== != < <= > >= BETWEEN IN CONTAINS BEGINSWITH
            ENDSWITH LIKE MATCHES, with [cd] to ignore case and diacritics), AND, OR, NOT, key paths across
            relationships, ANY / ALL / NONE for to-many relationships. An error names its column.
            Aggregates are count:(SELF), sum:(x), average:(x), min:(x), max:(x), median:(x), mode:(x), stddev:(x).
            With groups, every column is an aggregate or one of the groups' values; conditions and the order may name
            columns.
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
                command: "dbtool fetch chinook.espalier Track --group-by genre.name "
                    + "--columns 'genre.name, count:(SELF)'",
                meaning: "counts the tracks of each genre"),
            .init(
                command: #"dbtool fetch chinook.espalier Artist 'name BEGINSWITH "A"' --explain"#,
                meaning: "shows the index that is used and the conditions that are left to test"),
            .init(
                command: #"dbtool fetch chinook.espalier Track 'album.artist.name == "AC/DC"' --analyze"#,
                meaning: "shows how many rows each step was expected to find, and found"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        // A read finishes before anything is printed, so it can be repeated.
        try repeatingRead { () throws(ToolError) in try answer(arguments, console) }
        return .ok
    }

    private static func answer(_ arguments: Arguments, _ console: Console) throws(ToolError) {
        let store = try OpenStore(arguments.required("FILE"))
        let entity = try store.entity(named: arguments.required("ENTITY"))
        let (request, values) = try request(for: entity, in: store, arguments)
        if let values {
            try answer(values, request, of: store, arguments, console)
        } else if arguments.flag("--explain") {
            let form: FetchForm = arguments.flag("--count") ? .count : .rows
            print(try store.explain(request, as: form), asJSON: arguments.wantsJSON, console)
        } else if arguments.flag("--analyze") {
            print(try store.analyze(request), asJSON: arguments.wantsJSON, console)
        } else if arguments.flag("--count") {
            print(try store.count(request), asJSON: arguments.wantsJSON, console)
        } else {
            try printRows(request, of: store, asJSON: arguments.wantsJSON, to: console)
        }
        try store.close()
    }

    private static func request(
        for entity: Entity, in store: OpenStore, _ arguments: Arguments
    ) throws(ToolError) -> (rows: StoreFetch, values: ValueRequest?) {
        var request = StoreFetch(entity: entity)
        do throws(FetchPredicateError) {
            if let text = arguments["PREDICATE"] {
                request.predicate = try ResolvedPredicate(FetchPredicate(format: text), for: entity, in: store.model)
            }
            let keys = arguments.text("--sort").map(sortKeys) ?? []
            if let values = try valueRequest(entity, keys, arguments) { return (request, values) }
            for key in keys { request.sort.append(try ResolvedSortKey(key, for: entity, in: store.model)) }
        } catch {
            throw .predicate(error)
        }
        request.limit = arguments.integer("--limit")
        request.offset = arguments.integer("--offset") ?? 0
        return (request, nil)
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

extension PlanStep {
    /// The step and those below it for programs; times in microseconds.
    var json: JSONValue {
        [
            "action": .string(action), "expected": expectedCount.map(JSONValue.count) ?? .null,
            "found": foundCount.map(JSONValue.count) ?? .null,
            "microseconds": duration.map { .number(($0 / .microseconds(1)).rounded()) } ?? .null,
            "steps": .array(sources.map(\.json)),
        ]
    }
}
