// `dbtool info`: what a store is, how big it is and which trees it has.

import EspalierEngine

/// The verb `info`.
enum InfoVerb: Verb {
    static let usage = Usage(
        name: "info", summary: "show what a store is: identity, sizes, log, trees",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            Opens the store for reading only: nothing is written, neither to the file nor beside it.
            Commits that are still in the log are counted.
            """,
        examples: [
            .init(command: "dbtool info chinook.espalier", meaning: "one line for each fact, one for each tree"),
            .init(command: "dbtool info chinook.espalier --json", meaning: "the same as one JSON object"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let (database, trees) = try unlessOutrun { () throws(ToolError) in
            let database = try openForReading(path)
            return (database, try naming(path) { () throws(StorageError) in try database.beginRead().trees() })
        }
        if arguments.wantsJSON {
            console.print(json(database, trees))
        } else {
            printTables(database, trees, console)
        }
        try naming(path) { () throws(StorageError) in try database.close() }
        return .ok
    }

    private static func printTables(_ database: Database, _ trees: [TreeSummary], _ console: Console) {
        let numbers = database.statistics
        var facts = TextTable([.text("fact"), .text("value")], hasHeader: false)
        facts.append(["store", identifierText(database.storeIdentifier)])
        facts.append(["page size", DisplayText.bytes(database.pageSize)])
        facts.append([
            "pages",
            "\(DisplayText.grouped(numbers.pageCount)) (\(DisplayText.grouped(numbers.freePageCount)) free), "
                + DisplayText.bytes(numbers.pageCount * UInt64(database.pageSize)),
        ])
        facts.append([
            "log",
            "\(DisplayText.bytes(numbers.logByteCount)), "
                + "\(DisplayText.bytes(numbers.logLiveByteCount)) not yet in the store file",
        ])
        facts.append(["last commit", "number \(DisplayText.grouped(numbers.transactionID))"])
        facts.append([
            "application", "id \(database.applicationID), version \(database.applicationVersion)",
        ])
        console.output.write(facts.rendered() + "\n" + TreeTable.rendered(trees))
    }

    private static func json(_ database: Database, _ trees: [TreeSummary]) -> JSONValue {
        let numbers = database.statistics
        return [
            "file": .string(database.path), "store": .string(identifierText(database.storeIdentifier)),
            "pageSize": .count(database.pageSize), "pages": .count(numbers.pageCount),
            "freePages": .count(numbers.freePageCount), "logBytes": .count(numbers.logByteCount),
            "logLiveBytes": .count(numbers.logLiveByteCount), "lastCommit": .count(numbers.transactionID),
            "applicationID": .count(database.applicationID),
            "applicationVersion": .count(database.applicationVersion),
            "trees": .array(trees.map(TreeTable.json)),
        ]
    }

    /// 16 bytes as a UUID is written.
    static func identifierText(_ bytes: [UInt8]) -> String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += byte < 16 ? "0" : ""
            text += String(byte, radix: 16, uppercase: true)
        }
        return text
    }
}

/// Opens the store at `path` without ever writing to it.
func openForReading(_ path: String) throws(ToolError) -> Database {
    var options = DatabaseOptions()
    options.access = .readOnly
    options.createIfMissing = false
    return try naming(path) { () throws(StorageError) in try Database.open(path, options: options) }
}
