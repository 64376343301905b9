// `dbtool salvage`: makes a new, intact store from the readable parts of a damaged one.

import EspalierEngine
import EspalierStore
import Foundation

/// The verb `salvage`.
enum SalvageVerb: Verb {
    static let usage = Usage(
        name: "salvage", summary: "make a new, sound store from the readable parts of a damaged one",
        parameters: [
            .required("DAMAGED", "the damaged store; it is only read"),
            .required("NEW", "the store to create; it must not exist"),
        ],
        options: [
            .flag("--damaged", "also use pages with a sound structure whose checksums are wrong or cannot be verified"),
            .flag("--deleted", "also copy rows of free pages, into trees called lost+found/deleted/NUMBER"),
            .json,
        ],
        discussion: """
            Reads every page and every frame of the log; needs neither superblock nor catalog nor the inner pages
            of trees. A tree whose name is lost is called lost+found/NUMBER; the trees of an object store get
            their names back if its schema is readable, and their index entries, links and counters are made again
            as by 'dbtool rebuild'. Exit code 0: no damage; 1: damage was found.
            """,
        examples: [
            .init(
                command: "dbtool salvage broken.espalier saved.espalier",
                meaning: "prints one line for each tree: its rows, and how many are missing"),
            .init(
                command: "dbtool salvage broken.espalier saved.espalier --damaged",
                meaning: "is the last resort for a store whose whole first page is lost"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let (path, newPath) = (arguments.required("DAMAGED"), arguments.required("NEW"))
        guard !FileManager.default.fileExists(atPath: newPath) else {
            throw .refused(path: newPath, reason: "the file exists; name a new file")
        }
        var options = SalvageOptions()
        options.acceptsDamaged = arguments.flag("--damaged")
        options.includesDeleted = arguments.flag("--deleted")
        options.nameCandidates = BTreeStore.fixedTreeNames
        var report = try salvage(path, newPath, options)
        if let names = try namesOfObjectStore(newPath, report) {
            // The schema was found; a second run uses its names for all trees.
            options.nameCandidates = names
            options.applicationID = BTreeStore.applicationID
            try remove(newPath)
            report = try salvage(path, newPath, options)
        }
        let rebuilt = try rebuildObjects(newPath, console)
        if arguments.wantsJSON {
            console.print(json(report, rebuilt, path, newPath))
        } else {
            show(report, path, newPath, console)
            if let rebuilt, rebuilt.hasChanges || !RebuildVerb.isInOrder(rebuilt) {
                console.print()
                RebuildVerb.show(rebuilt, newPath, console)
            }
        }
        if let rebuilt, !RebuildVerb.isInOrder(rebuilt) { return .difference }
        let isWhole = report.damagedPageCount == 0 && report.key == .superblock && report.lostRowCount == 0
        return isWhole ? .ok : .difference
    }

    private static func salvage(
        _ path: String, _ newPath: String, _ options: SalvageOptions
    ) throws(ToolError) -> SalvageReport {
        do throws(StorageError) {
            return try Database.salvage(from: path, into: newPath, options: options)
        } catch .corruption(let corruption) where corruption.rule == .superblockChecksum {
            throw .refused(
                path: path,
                reason: "the superblock, its copy and the log's headers are damaged, so no checksum can be verified; "
                    + "use --damaged to accept pages with a sound structure")
        } catch {
            throw .storage(error, path: path)
        }
    }

    /// The names of all trees of an object store, if the salvage has lost names or the mark that these names can
    /// restore.
    private static func namesOfObjectStore(_ path: String, _ report: SalvageReport) throws(ToolError) -> [String]? {
        let isMarkLost = report.key == .log || report.key == .guess
        guard isMarkLost || report.trees.contains(where: { !$0.isNameKnown && $0.rootTag != nil }) else { return nil }
        let database = try openForReading(path)
        let names = BTreeStore.treeNames(in: database)
        try withPath(path) { () throws(StorageError) in try database.close() }
        return names.isEmpty ? nil : names
    }

    /// Rebuilds the trees that follow from rows, if the salvaged store is an object store whose schema is left.
    private static func rebuildObjects(_ path: String, _ console: Console) throws(ToolError) -> RebuildReport? {
        let database = try openForReading(path)
        let holdsObjects =
            database.applicationID == BTreeStore.applicationID && !BTreeStore.treeNames(in: database).isEmpty
        try withPath(path) { () throws(StorageError) in try database.close() }
        guard holdsObjects else { return nil }
        do throws(ToolError) {
            return try RebuildVerb.rebuild(path, isDryRun: false, console)
        } catch .store(.otherFormat, _) {
            // Opening the store converts rows of an older format; afterwards it can be rebuilt.
            return nil
        } catch .store(.damagedContent(_, _, _, let reason), _) {
            console.errors.write("dbtool: \(path): the objects cannot be read: \(reason)\n")
            return nil
        }
    }

    private static func remove(_ path: String) throws(ToolError) {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw .file(path: path, reason: FileFailure.reason(error))
        }
    }
}

extension SalvageVerb {
    private static func show(_ report: SalvageReport, _ path: String, _ newPath: String, _ console: Console) {
        console.print(
            "\(newPath): \(DisplayText.grouped(report.rowCount)) rows in \(DisplayText.grouped(report.trees.count)) "
                + "trees, from \(path) with \(DisplayText.grouped(report.pageCount)) pages of "
                + "\(DisplayText.bytes(report.pageSize)): \(DisplayText.grouped(report.damagedPageCount)) damaged, "
                + "\(DisplayText.grouped(report.freePageCount)) free, "
                + "\(DisplayText.grouped(report.loggedPageCount)) newer in the log")
        var table = TextTable([
            .text("tree"), .number("id"), .text("keys"), .number("rows"), .number("expected"), .number("pages"),
            .number("damaged"), .number("lost values"),
        ])
        for tree in report.trees {
            table.append([
                tree.tree.name, "\(tree.tree.id)", TreeListing.keyText(tree.tree.kind),
                DisplayText.grouped(tree.rowCount), tree.expectedRowCount.map { DisplayText.grouped($0) } ?? "",
                DisplayText.grouped(tree.pageCount), DisplayText.grouped(tree.damagedPageCount),
                DisplayText.grouped(tree.lostValueCount),
            ])
        }
        console.output.write(table.rendered())
    }

    private static func json(
        _ report: SalvageReport, _ rebuilt: RebuildReport?, _ path: String, _ newPath: String
    ) -> JSONValue {
        [
            "damaged": .string(path), "file": .string(newPath), "readBy": .string("\(report.key)"),
            "pageSize": .count(report.pageSize), "pages": .count(report.pageCount),
            "damagedPages": .count(report.damagedPageCount), "acceptedPages": .count(report.acceptedPageCount),
            "freePages": .count(report.freePageCount), "loggedPages": .count(report.loggedPageCount),
            "rows": .count(report.rowCount), "lostRows": .count(report.lostRowCount),
            "rebuilt": rebuilt.map { RebuildVerb.json($0, newPath) } ?? .null,
            "trees": .array(
                report.trees.map { tree in
                    [
                        "name": .string(tree.tree.name), "id": .count(tree.tree.id),
                        "keys": .string(TreeListing.keyText(tree.tree.kind)),
                        "isNameKnown": .boolean(tree.isNameKnown), "rows": .count(tree.rowCount),
                        "expectedRows": tree.expectedRowCount.map { .count($0) } ?? .null,
                        "pages": .count(tree.pageCount), "damagedPages": .count(tree.damagedPageCount),
                        "lostValues": .count(tree.lostValueCount),
                    ]
                }),
        ]
    }
}
