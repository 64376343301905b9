// `dbtool info`: shows the identity, size and trees of a store.

import EspalierAudit
import EspalierEngine

/// The verb `info`.
enum InfoVerb: Verb {
    static let usage = Usage(
        name: "info", summary: "show what a store is: identity, sizes, log, trees",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            Opens the store for reading only, and writes neither to the file nor beside it.
            The numbers include commits that are still in the log.
            """,
        examples: [
            .init(
                command: "dbtool info chinook.espalier", meaning: "prints a line for each fact and for each tree"),
            .init(command: "dbtool info chinook.espalier --json", meaning: "prints the same as one JSON object"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let (database, trees) = try repeatingRead { () throws(ToolError) in
            let database = try openForReading(path)
            return (database, try withPath(path) { () throws(StorageError) in try database.beginRead().trees() })
        }
        let log = try LogFacts(beside: path)
        if arguments.wantsJSON {
            console.print(json(database, trees, log))
        } else {
            printTables(database, trees, log, console)
        }
        try withPath(path) { () throws(StorageError) in try database.close() }
        return .ok
    }

    private static func printTables(
        _ database: Database, _ trees: [TreeSummary], _ log: LogFacts, _ console: Console
    ) {
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
            log.text,
        ])
        facts.append(["last commit", "number \(DisplayText.grouped(numbers.transactionID))"])
        facts.append([
            "application", "id \(database.applicationID), version \(database.applicationVersion)",
        ])
        console.output.write(facts.rendered() + "\n" + TreeListing.rendered(trees))
    }

    private static func json(_ database: Database, _ trees: [TreeSummary], _ log: LogFacts) -> JSONValue {
        let numbers = database.statistics
        return [
            "file": .string(database.path), "store": .string(identifierText(database.storeIdentifier)),
            "pageSize": .count(database.pageSize), "pages": .count(numbers.pageCount),
            "freePages": .count(numbers.freePageCount), "logBytes": .count(log.byteCount),
            "logLiveBytes": .count(log.liveByteCount), "logCommits": .count(log.commitCount),
            "lastCommit": .count(numbers.transactionID),
            "applicationID": .count(database.applicationID),
            "applicationVersion": .count(database.applicationVersion),
            "trees": .array(trees.map(TreeListing.json)),
        ]
    }

    /// 16 bytes in the notation of a UUID.
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

/// Facts about the log next to a store.
private struct LogFacts {
    /// Bytes of the log file; 0 if there is none.
    let byteCount: UInt64
    /// Bytes and number of the commits that are not in the store file yet.
    let liveByteCount: UInt64
    let commitCount: Int

    init(beside path: String) throws(ToolError) {
        let store = try FileBytes(path: path)
        let log = try store.log()
        do throws(AuditFailure) {
            byteCount = try log?.byteCount() ?? 0
            let logged = try LoggedPages(store: store, log: log)
            (liveByteCount, commitCount) = (logged?.liveByteCount ?? 0, logged?.commitCount ?? 0)
        } catch {
            throw .file(path: path, reason: "\(error)")
        }
    }

    /// The facts for people.
    var text: String {
        guard byteCount > 0 else { return "none" }
        let live =
            commitCount == 0
            ? "all of it in the store file"
            : "\(DisplayText.bytes(liveByteCount)) in \(DisplayText.grouped(commitCount)) "
                + "\(commitCount == 1 ? "commit" : "commits") not yet in the store file"
        return "\(DisplayText.bytes(byteCount)), \(live)"
    }
}
