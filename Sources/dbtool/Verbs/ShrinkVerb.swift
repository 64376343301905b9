// `dbtool shrink`: shortens a store in place, some pages at a time.

import EspalierEngine

/// The verb `shrink`.
enum ShrinkVerb: Verb {
    static let usage = Usage(
        name: "shrink", summary: "move pages from the end of a store to free places, and truncate the file",
        parameters: [.required("FILE", "the store; no process may have it open for writing")], options: [.json],
        discussion: """
            Needs no space for a second file, and earlier backups can still be continued with increments, unlike with
            'dbtool compact', which makes an even smaller file because it also fills the pages again. Each step is a
            transaction: whatever happens, the store is intact, and a second run continues where the first ended.
            """,
        examples: [
            .init(command: "dbtool shrink music.espalier", meaning: "returns the free pages to the file system")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        var progress = Progress(console)
        var options = DatabaseOptions()
        options.createIfMissing = false
        let outcome = try withPath(path) { () throws(StorageError) in
            let database = try Database.open(path, options: options)
            let (before, freeCount) = (database.statistics.pageCount, database.statistics.freePageCount)
            var (pagesMoved, isComplete) = (0, false)
            while !isComplete {
                var write = try database.beginWrite()
                let receipt = try write.shrink()
                try write.commit()
                pagesMoved += receipt.pagesMoved
                isComplete = receipt.isComplete
                progress.show("removing free pages", before - UInt64(receipt.pageCount), of: freeCount)
            }
            try database.checkpoint(.full)
            let (after, pageSize) = (database.statistics.pageCount, UInt64(database.pageSize))
            try database.close()
            return (pagesMoved: pagesMoved, bytesBefore: before * pageSize, bytes: after * pageSize)
        }
        progress.finish()
        guard arguments.wantsJSON else {
            console.print(
                "\(path): \(DisplayText.bytes(outcome.bytes)), previously \(DisplayText.bytes(outcome.bytesBefore)), "
                    + "\(DisplayText.grouped(outcome.pagesMoved)) pages moved")
            return .ok
        }
        console.print(
            [
                "file": .string(path), "bytes": .count(outcome.bytes), "bytesBefore": .count(outcome.bytesBefore),
                "pagesMoved": .count(outcome.pagesMoved),
            ] as JSONValue)
        return .ok
    }
}
