// `dbtool backup`: copies a store that may be in use, either completely or only its changes since the last backup.

import EspalierEngine

/// The verb `backup`.
enum BackupVerb: Verb {
    static let usage = Usage(
        name: "backup", summary: "copy a store that may be in use, or its changes since a backup",
        parameters: [.required("FILE", "the store"), .required("TO", "the file to create; it must not exist")],
        options: [
            .text("--since", "PREVIOUS", "copy only the changes since this backup or increment of the store"), .json,
        ],
        discussion: """
            The copy is a snapshot of the store, and appears under its name when it is complete. It is a store like
            any other; as long as nothing writes to it, increments can be made with --since. An increment is not a
            store: 'dbtool restore' makes a store from a backup and its increments.
            """,
        examples: [
            .init(command: "dbtool backup music.espalier monday.espalier", meaning: "makes a full backup"),
            .init(
                command: "dbtool backup music.espalier tuesday.increment --since monday.espalier",
                meaning: "copies the changes since Monday"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let (path, target) = (arguments.required("FILE"), arguments.required("TO"))
        var point: BackupPoint?
        if let previous = arguments.text("--since") {
            point = try withPath(previous) { () throws(StorageError) in try BackupPoint(of: previous) }
        }
        let database = try openForReading(path)
        let receipt = try CopyOutcome.watching("copying pages", target, console) { watcher throws(StorageError) in
            if let point { return try database.backUpChanges(since: point, to: target, progress: watcher) }
            return try database.backUp(to: target, progress: watcher)
        }
        try withPath(path) { () throws(StorageError) in try database.close() }
        CopyOutcome(path: target, receipt: receipt).print(arguments, console)
        return .ok
    }
}

/// The result of the verbs that copy a store.
struct CopyOutcome {
    let path: String
    let receipt: CopyReceipt

    /// Runs `body` with a watcher that shows progress; errors name `path`.
    static func watching(
        _ label: String, _ path: String, _ console: Console,
        _ body: (@escaping CopyWatcher) throws(StorageError) -> CopyReceipt
    ) throws(ToolError) -> CopyReceipt {
        var progress = Progress(console)
        let receipt = try withPath(path) { () throws(StorageError) in
            try body { state in
                progress.show(label, state.pagesDone, of: state.pageCount)
                return true
            }
        }
        progress.finish()
        return receipt
    }

    /// Prints one line, or a JSON object.
    func print(_ arguments: Arguments, _ console: Console) {
        guard arguments.wantsJSON else {
            return console.print(
                "\(path): \(DisplayText.bytes(receipt.byteCount)), "
                    + "commit \(DisplayText.grouped(receipt.transactionID)), "
                    + "\(DisplayText.grouped(receipt.pagesWritten)) pages written")
        }
        console.print(
            [
                "file": .string(path), "bytes": .count(receipt.byteCount), "commit": .count(receipt.transactionID),
                "position": .count(receipt.lsn), "pagesWritten": .count(receipt.pagesWritten),
            ] as JSONValue)
    }
}
