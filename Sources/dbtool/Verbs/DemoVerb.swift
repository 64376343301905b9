// `dbtool demo`: imports a real music library into a store and queries it, using only the public object API.

import Espalier
import EspalierModel
import Foundation

/// The verb `demo`.
enum DemoVerb: Verb {
    static let usage = Usage(
        name: "demo", summary: "import the Chinook music library and ask it five questions",
        parameters: [.optional("FILE", "the store to create; by default chinook.espalier")],
        options: [
            .flag("--replace", "import again even if the store holds the whole library"),
            .integer("--commit-every", "N", in: 1...Int.max, "commit after every N rows instead of once at the end"),
            .text("--acknowledge", "PATH", "append the number of durable rows to PATH after each commit"), .json,
        ],
        discussion: """
            Imports 15,607 rows (11 tables, one of them the links of a relationship from many to many), saves, closes,
            opens the store again and prints five tables with the time, rows and faults each took.
            A complete store of an earlier demo is used again; a store whose import was interrupted is made again.
            The demo never changes any other file: it ends with exit code 2.
            """,
        examples: [
            .init(command: "dbtool demo", meaning: "makes or uses chinook.espalier in the current folder"),
            .init(
                command: "dbtool demo music.espalier --commit-every 20 --replace",
                meaning: "781 small durable transactions instead of one large transaction"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments["FILE"] ?? "chinook.espalier"
        let tables = try ChinookTables.load()
        let plan = try DemoStore.plan(path, tables, isReplacing: arguments.flag("--replace"))
        if !arguments.wantsJSON { console.print(plan.text) }
        if plan.imports {
            let duration = try importLibrary(tables, to: path, arguments, console)
            if !arguments.wantsJSON { printCounts(tables, duration, to: console) }
        }
        let store = try DemoStore.open(path)
        let answers = try ChinookQueries(store).answers()
        try store.close()
        if arguments.wantsJSON {
            console.print([
                "file": .string(path), "action": .string(plan.word), "rows": .count(tables.rowCount),
                "questions": .array(answers.map(\.json)),
            ])
        } else {
            answers.forEach { console.output.write("\($0.title)\n\n\($0.table.rendered())\n\($0.costText)\n\n") }
            printNextSteps(path, to: console)
        }
        return .ok
    }

    private static func importLibrary(
        _ tables: ChinookTables, to path: String, _ arguments: Arguments, _ console: Console
    ) throws(ToolError) -> Duration {
        try DemoStore.remove(path)
        let store = try DemoStore.open(path)
        let acknowledgements = try arguments.text("--acknowledge").map(Acknowledgements.init(path:))
        var progress = Progress(console)
        let clock = ContinuousClock()
        let start = clock.now
        var importer = ChinookImporter(
            into: store.makeContext(), path: path,
            commitInterval: arguments.integer("--commit-every"),
            didStep: { progress.show("importing rows", $0, of: tables.rowCount) },
            didCommit: { count throws(ToolError) in try acknowledgements?.append(count) })
        try importer.run(tables)
        let duration = clock.now - start
        progress.finish()
        try store.close()
        return duration
    }

    private static func printCounts(_ tables: ChinookTables, _ duration: Duration, to console: Console) {
        var table = TextTable([.text("table"), .number("rows")])
        for (name, count) in tables.counts { table.append([name, DisplayText.grouped(count)]) }
        table.append(["together", DisplayText.grouped(tables.rowCount)])
        console.output.write(
            "\n\(table.rendered())\nImported, saved and closed in \(DisplayText.time(duration)); opened again.\n\n")
    }

    private static func printNextSteps(_ path: String, to console: Console) {
        let name = path.contains(" ") ? "'\(path)'" : path
        console.output.write(
            """
            Next, try
              dbtool check \(name)
              dbtool schema \(name) Track
              dbtool fetch \(name) Track 'composer CONTAINS[cd] "mozart"' --sort name
              dbtool fetch \(name) Invoice 'billingCountry == "Canada"' --explain
              dbtool pages \(name)
            ("swift run -c release dbtool" stands for dbtool where it is not installed.)

            """)
    }
}

/// The file with the number of rows after each acknowledged commit, for tests that kill the importer.
private final class Acknowledgements {
    private let path: String
    private let file: FileHandle

    init(path: String) throws(ToolError) {
        self.path = path
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw .file(path: path, reason: "cannot be written") }
        self.file = file
    }

    /// Writes `count` and a newline in one call: the operating system has them before the next row is imported.
    func append(_ count: Int) throws(ToolError) {
        do { try file.write(contentsOf: Data("\(count)\n".utf8)) } catch {
            throw .file(path: path, reason: FileFailure.reason(error))
        }
    }
}
