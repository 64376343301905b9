// `dbtool pages`: draws the map of a store file, one character per page, and shows how full each tree's pages are.

import EspalierEngine
import Foundation

/// The verb `pages`.
enum PagesVerb: Verb {
    static let usage = Usage(
        name: "pages", summary: "draw the map of a store's pages; count and measure the pages of each tree",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            Reads the file's bytes and opens no database, so it also works on damaged files. Shows the file as of the
            last checkpoint; newer versions of pages may be in the log. A damaged page is shown as "!".
            Of several equal lines only the first is shown, followed by "*"; the map of --json ends after 16,777,216
            pages. Exit code 1: a page is damaged; 4: another process was writing the store at every attempt.
            """,
        examples: [
            .init(
                command: "dbtool pages chinook.espalier",
                meaning: "draws the map, its legend and one line for each tree")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let first = try PageUses(StoreImage(path: path), console)
        var (map, hasChanged) = (first, false)
        // An apparent damage may be an unfinished checkpoint of another process, so the map is read again.
        for attempt in 1..<readAttemptMax where !map.isIntact && map.hasNewerLog {
            Thread.sleep(forTimeInterval: 0.02 * Double(attempt))
            map = try PageUses(StoreImage(path: path), console)
            hasChanged = hasChanged || map.newestSlot != first.newestSlot
        }
        if arguments.wantsJSON {
            console.print(map.json)
        } else {
            map.print(to: console)
        }
        if map.isIntact { return .ok }
        return hasChanged ? .locked : .difference
    }
}
