// `dbtool compact`: rewrites a store without free space, in place or to another file.

import EspalierEngine

/// The verb `compact`.
enum CompactVerb: Verb {
    static let usage = Usage(
        name: "compact", summary: "rewrite a store in the order of its keys, without free space",
        parameters: [
            .required("FILE", "the store"),
            .optional("TO", "the file to create; without it the store itself is replaced"),
        ],
        options: [.json],
        discussion: """
            In place, no process may have the store open for writing, and the disk needs space for both files. The new
            file takes the name of the old one in one step: whatever happens, one of them exists. Earlier backups
            cannot be continued with increments. With TO the store may be in use, and is not changed.
            """,
        examples: [
            .init(command: "dbtool compact music.espalier", meaning: "replaces the store with a compact one"),
            .init(command: "dbtool compact music.espalier small.espalier", meaning: "makes a compact copy"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        guard let target = arguments["TO"] else {
            let receipt = try CopyOutcome.watching("writing pages", path, console) { watcher throws(StorageError) in
                try Database.compact(at: path, progress: watcher)
            }
            CopyOutcome(path: path, receipt: receipt).print(arguments, console)
            return .ok
        }
        let database = try openForReading(path)
        let receipt = try CopyOutcome.watching("writing pages", target, console) { watcher throws(StorageError) in
            try database.compact(to: target, progress: watcher)
        }
        try withPath(path) { () throws(StorageError) in try database.close() }
        CopyOutcome(path: target, receipt: receipt).print(arguments, console)
        return .ok
    }
}
