// `dbtool restore`: makes a store from a backup and its increments.

import EspalierEngine

/// The verb `restore`.
enum RestoreVerb: Verb {
    static let usage = Usage(
        name: "restore", summary: "make a store from a backup and its increments",
        parameters: [.required("BACKUP", "a full backup"), .required("TO", "the store to create; it must not exist")],
        options: [
            .text("--increments", "LIST", "increments of the backup, oldest first, separated by commas"),
            .flag("--keep-identifier", "give the store the identifier of the original, which must no longer exist"),
            .json,
        ],
        discussion: """
            Every page and every increment is checked before the store gets its name; backup and increments are
            only read. With --keep-identifier, object IDs that are kept outside of the store stay valid.
            """,
        examples: [
            .init(
                command: "dbtool restore monday.espalier music.espalier --increments tuesday.increment,today.increment",
                meaning: "restores the state of the last increment")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let (backup, target) = (arguments.required("BACKUP"), arguments.required("TO"))
        let increments = (arguments.text("--increments") ?? "").split(separator: ",").map(String.init)
        let receipt = try CopyOutcome.watching("copying pages", backup, console) { watcher throws(StorageError) in
            try Database.restore(
                backup, increments: increments, to: target, keepsIdentifier: arguments.flag("--keep-identifier"),
                progress: watcher)
        }
        CopyOutcome(path: target, receipt: receipt).print(arguments, console)
        return .ok
    }
}
