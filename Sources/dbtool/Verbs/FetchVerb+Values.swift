// `dbtool fetch` with columns, groups and distinct rows: values instead of rows.

import EspalierModel
import EspalierStore

extension FetchVerb {
    /// The options that ask for values.
    static let valueOptions: [Usage.Option] = [
        .text(
            "--columns", "LIST", "print these values: paths, expressions, aggregates; each may end in \" as NAME\""),
        .text("--group-by", "LIST", "one line for each group of rows that have the same values"),
        .text("--having", "CONDITION", "print only groups for which this is true"),
        .flag("--distinct", "print equal lines once"),
    ]

    /// The request for values that the options describe; `nil` if they describe rows.
    static func valueRequest(
        _ entity: Entity, _ sortKeys: [SortKey], _ arguments: Arguments
    ) throws(FetchPredicateError) -> ValueRequest? {
        let (columns, groups, having) = (
            arguments.text("--columns"), arguments.text("--group-by"), arguments.text("--having")
        )
        guard columns != nil || groups != nil || having != nil || arguments.flag("--distinct") else { return nil }
        var request = ValueRequest(entityName: entity.name)
        request.propertiesToFetch = try columns.map(Self.columns) ?? []
        request.propertiesToGroupBy = try groups.map(Self.columns) ?? []
        if let having { request.havingPredicate = try FetchPredicate(format: having) }
        request.returnsDistinctResults = arguments.flag("--distinct")
        request.sortKeys = sortKeys
        request.fetchLimit = arguments.integer("--limit") ?? 0
        request.fetchOffset = arguments.integer("--offset") ?? 0
        return request
    }

    /// Parses `artist.name, sum:(price) as total` as columns.
    private static func columns(_ text: String) throws(FetchPredicateError) -> [FetchColumn] {
        var columns: [FetchColumn] = []
        for part in parts(of: text) {
            let words = part.split(separator: " ")
            let isNamed = words.count > 2 && words[words.count - 2].lowercased() == "as"
            let format = (isNamed ? words.dropLast(2) : words[...]).joined(separator: " ")
            columns.append(try FetchColumn(isNamed ? String(words[words.count - 1]) : format, format: format))
        }
        return columns
    }

    /// The parts between the commas of a text that are outside of parentheses, braces and quotes.
    private static func parts(of text: String) -> [String] {
        var (parts, depth, quote): ([String], Int, Character?) = ([""], 0, nil)
        for character in text {
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if "({[".contains(character) {
                depth += 1
            } else if ")}]".contains(character) {
                depth -= 1
            } else if character == ",", depth == 0 {
                parts.append("")
                continue
            }
            parts[parts.count - 1].append(character)
        }
        return parts
    }

    /// Prints the values that a request finds, their number, or how the store finds them.
    static func answer(
        _ request: ValueRequest, _ rows: StoreFetch, of store: OpenStore, _ arguments: Arguments, _ console: Console
    ) throws(ToolError) {
        let values: ResolvedValues
        do { values = try ResolvedValues(request, for: rows.entity, in: store.model) } catch { throw .predicate(error) }
        let fetch = StoreValueFetch(values, predicate: rows.predicate)
        if arguments.flag("--explain") { return print(try store.explain(fetch), asJSON: arguments.wantsJSON, console) }
        if arguments.flag("--analyze") { return print(try store.analyze(fetch), asJSON: arguments.wantsJSON, console) }
        let collector = try store.values(fetch)
        let all: ResultRows
        do { all = try collector.rows() } catch { throw .predicate(error) }
        let found = arguments.integer("--limit") == 0 ? ResultRows(all.columns, []) : all
        if arguments.flag("--count") { return print(found.count, asJSON: arguments.wantsJSON, console) }
        if arguments.wantsJSON {
            for row in found {
                console.print(.object(zip(row.columns, row.values).map { (name: $0, value: $1.json) }))
            }
            return
        }
        let titles = found.columns.enumerated().map { position, name in
            let isNumber = found.allSatisfy { $0.values[position].isNull || $0.values[position].isNumber }
            return isNumber && !found.isEmpty ? TextTable.Column.number(name) : .text(name, widthMax: 60)
        }
        var table = TextTable(titles)
        for row in found { table.append(row.values.map(\.cellText)) }
        if !found.isEmpty { console.output.write(table.rendered() + "\n") }
        console.print(found.count == 1 ? "1 row" : "\(DisplayText.grouped(found.count)) rows")
    }

    /// Prints the steps of a plan.
    static func print(_ steps: [String], asJSON: Bool, _ console: Console) {
        asJSON
            ? console.print(["steps": .array(steps.map(JSONValue.string))]) : steps.forEach { console.print($0) }
    }

    /// Prints the steps of a plan after its execution.
    static func print(_ step: PlanStep, asJSON: Bool, _ console: Console) {
        asJSON ? console.print(step.json) : console.print("\(step)")
    }

    /// Prints a number of rows.
    static func print(_ count: Int, asJSON: Bool, _ console: Console) {
        asJSON ? console.print(["count": .count(count)]) : console.print("\(count)")
    }
}

extension AttributeValue {
    /// Whether the value is a number.
    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .decimal, .double, .float: true
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: false
        }
    }
}
