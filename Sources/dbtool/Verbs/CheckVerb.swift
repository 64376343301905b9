// `dbtool check`: checks every byte of a store, and names the damaged pages and trees.

import EspalierEngine
import EspalierModel
import EspalierStore

/// The verb `check`.
enum CheckVerb: Verb {
    static let usage = Usage(
        name: "check", summary: "check a whole store; name the page and tree of each damage",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            Checks the checksum and structure of every page, the order and counts of every tree, and that each page
            is used exactly once or free. In an object store it then checks that index entries, unique entries, links
            and counters agree with the rows, that references lead to rows, that required values exist, and that
            unique values differ. It writes nothing. Exit code 0: no damage; 1: damage was found; 4: another process
            writes the store, and repeatedly overwrote pages before they could be checked.
            For damaged pages see 'dbtool help salvage', for trees that contradict rows 'dbtool help rebuild'.
            """,
        examples: [
            .init(
                command: "dbtool check chinook.espalier",
                meaning: "prints \"ok\" and counts, or one line for each finding"),
            .init(
                command: "dbtool check chinook.espalier --json && echo fine",
                meaning: "for scripts: the exit code says whether the store is damaged"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        // For a file that was never a store, this throws.
        let page0 = try page0Findings(path)
        var outcome: Outcome
        do throws(ToolError) {
            outcome = try repeatingRead { () throws(ToolError) in try check(path, console) }
        } catch {
            // A store that is too damaged to open is a finding too.
            guard case .storage(let cause, _) = error, !page0.isEmpty || error.exitCode == .difference else {
                throw error
            }
            outcome = Outcome(findings: page0.isEmpty ? [Finding(cause)] : [])
        }
        outcome.findings = page0 + outcome.findings
        if arguments.wantsJSON {
            console.print(outcome.json(path))
        } else {
            outcome.print(path, console)
        }
        return outcome.findings.isEmpty ? .ok : .difference
    }

    /// The problems of page 0; they are read twice, because another process may have been writing the page.
    private static func page0Findings(_ path: String) throws(ToolError) -> [Finding] {
        let problems = try StoreImage(path: path).page0.problems
        return problems.isEmpty ? [] : try StoreImage(path: path).page0.problems.map(Finding.init)
    }

    private static func check(_ path: String, _ console: Console) throws(ToolError) -> Outcome {
        var options = DatabaseOptions()
        options.access = .readOnly
        options.createIfMissing = false
        // Trees are read once, from end to end, so a larger cache gains nothing.
        options.cacheByteCount = 4 << 20
        let database = try withPath(path) { () throws(StorageError) in try Database.open(path, options: options) }
        // The check reads pages and objects of the same commit.
        database.stopFollowing()
        var progress = Progress(console)
        let report = try withPath(path) { () throws(StorageError) in
            try database.check { state in
                progress.show("checking pages", state.pagesChecked, of: state.pageCount)
                return true
            }
        }
        progress.finish()
        // `Page0` reports damage in the bytes of page 0, in more detail.
        let ofPage0: [CorruptionRule] = [.superblockChecksum, .superblockMirror, .noValidSlot, .pageReserved]
        let findings = report.findings.filter { finding in
            finding.corruption.page != FixedPlace.superblock || !ofPage0.contains(finding.corruption.rule)
        }
        var outcome = Outcome(
            findings: findings.map(Finding.init), unreached: report.unreached.filter { $0.pageCount > 0 },
            trees: report.trees, pageCount: report.pageCount, freePageCount: report.freePageCount)
        // Objects on damaged pages would only repeat these findings, less precisely. If the process that made the store
        // ended before its first transaction, the store has no tree, and so neither model nor objects.
        if database.applicationID == BTreeStore.applicationID && outcome.findings.isEmpty && !report.trees.isEmpty {
            try checkObjects(path, database, &outcome, console)
        } else {
            try withPath(path) { () throws(StorageError) in try database.close() }
        }
        return outcome
    }

    private static func checkObjects(
        _ path: String, _ database: Database, _ outcome: inout Outcome, _ console: Console
    ) throws(ToolError) {
        var progress = Progress(console)
        defer { progress.finish() }
        do throws(StoreError) {
            let store = try BTreeStore.open(database, path: path, model: nil)
            let report = try store.check { state in
                progress.show("checking rows, entries and links", state.entriesChecked, of: state.entryCount)
                return true
            }
            let model = store.model
            try store.close()
            outcome.findings += (report.findings + report.dangling + report.unsetValues).map(Finding.init)
            outcome.findings += report.duplicates.map { Finding(text: $0.description) }
            outcome.rowCounts = model.entities.filter { !$0.isAbstract }.map {
                ($0.name, report.rowCounts[$0.name] ?? 0)
            }
            outcome.linkCount = report.pairCount
        } catch .damagedContent(_, _, _, let reason) {
            // A tree or a record of the schema is missing, so no row can be read.
            outcome.findings.append(Finding(text: "The objects cannot be read: \(reason)."))
        } catch {
            throw .store(error, path: path)
        }
    }
}

extension CheckVerb {
    /// One problem, found by the check of pages or of objects.
    struct Finding {
        /// A complete sentence.
        let text: String
        /// The place, if the damage is in a page or in the log.
        var corruption: Corruption?
        /// The tree's name, if it is known.
        var treeName: String?

        /// A finding of the engine's check.
        init(_ finding: CheckReport.Finding) {
            let isInCatalog = finding.corruption.treeID == FixedPlace.catalogTreeID
            text = (isInCatalog ? "Tree \(TreeNames.catalog): " : "") + finding.description
            corruption = finding.corruption
            treeName = isInCatalog ? TreeNames.catalog : finding.treeName
        }

        /// A problem of page 0.
        init(_ problem: Page0.Problem) { (text, corruption) = (problem.text, problem.corruption) }

        /// A finding of the check of objects.
        init(_ finding: StoreFinding) { (text, treeName) = (finding.description, finding.tree) }

        /// A problem that concerns no tree in particular.
        init(text: String) { self.text = text }

        /// The reason why the store could not be opened.
        init(_ error: StorageError) {
            text = error.description
            if case .corruption(let corruption) = error { self.corruption = corruption }
        }

        /// The finding for programs.
        var json: JSONValue {
            [
                "page": corruption.map { .count($0.page) } ?? .null, "tree": .optional(treeName),
                "treeID": corruption.map { .count($0.treeID) } ?? .null,
                "byteOffset": corruption.map { .count($0.byteOffset) } ?? .null,
                "rule": corruption.map { .count($0.rule.rawValue) } ?? .null, "text": .string(text),
            ]
        }
    }

    /// The findings and counts of a check.
    struct Outcome {
        var findings: [Finding]
        /// The pages that cannot be reached because of damaged ones.
        var unreached: [CheckReport.UnreachedPages] = []
        var trees: [CheckReport.TreeCount] = []
        var pageCount: UInt64 = 0
        var freePageCount: UInt64 = 0
        /// The number of rows of each concrete entity; empty if the store holds no objects.
        var rowCounts: [(entity: String, count: Int)] = []
        /// The number of pairs in many-to-many relationships.
        var linkCount = 0

        /// Prints the findings first, then the verdict, then the counts.
        func print(_ path: String, _ console: Console) {
            printFindings(path, console)
            switch findings.count {
            case 0: console.print("\(path): ok")
            case 1: console.print("\(path): 1 problem")
            default: console.print("\(path): \(DisplayText.grouped(findings.count)) problems")
            }
            guard pageCount > 0 else { return }
            let entries = trees.reduce(0) { $0 + $1.entryCount }
            console.print(
                "\(DisplayText.grouped(pageCount)) pages (\(DisplayText.grouped(freePageCount)) free), "
                    + "\(trees.count) trees, \(DisplayText.grouped(entries)) entries\n")
            var table = TextTable([.text("tree"), .number("id"), .text("keys"), .number("entries"), .number("pages")])
            for tree in trees {
                table.append([
                    tree.summary.tree.name, "\(tree.summary.tree.id)", TreeListing.keyText(tree.summary.tree.kind),
                    DisplayText.grouped(tree.entryCount), DisplayText.grouped(tree.pageCount),
                ])
            }
            console.output.write(table.rendered())
            printObjects(to: console)
        }

        /// Prints each finding, and after the last one of a tree the pages that they hide: causes before consequences.
        private func printFindings(_ path: String, _ console: Console) {
            for (index, finding) in findings.enumerated() {
                console.print("\(path): \(finding.text)")
                guard let treeID = finding.corruption?.treeID,
                    !findings[(index + 1)...].contains(where: { $0.corruption?.treeID == treeID }),
                    let hidden = unreached.first(where: { $0.treeID == treeID })
                else { continue }
                console.print("\(path): \(Self.sentence(hidden))")
            }
            let named = Set(findings.compactMap { $0.corruption?.treeID })
            for hidden in unreached where !named.contains(hidden.treeID) {
                console.print("\(path): \(Self.sentence(hidden))")
            }
        }

        private static func sentence(_ hidden: CheckReport.UnreachedPages) -> String {
            let pages = hidden.pageCount == 1 ? "1 page" : "\(DisplayText.grouped(hidden.pageCount)) pages"
            return "\(pages) cannot be reached because of \(hidden.causeCount == 1 ? "it" : "them")."
        }

        private func printObjects(to console: Console) {
            guard !rowCounts.isEmpty else { return }
            var table = TextTable([.text("entity"), .number("rows")])
            for (entity, count) in rowCounts { table.append([entity, DisplayText.grouped(count)]) }
            let rowCount = rowCounts.reduce(0) { $0 + $1.count }
            console.output.write("\n" + table.rendered())
            console.print(
                "\n\(DisplayText.grouped(rowCount)) rows and \(DisplayText.grouped(linkCount)) links "
                    + "from many to many: \(DisplayText.grouped(rowCount + linkCount)) together")
        }

        /// The outcome for programs.
        func json(_ path: String) -> JSONValue {
            [
                "file": .string(path), "ok": .boolean(findings.isEmpty), "pages": .count(pageCount),
                "freePages": .count(freePageCount), "findings": .array(findings.map(\.json)),
                "unreached": .array(
                    unreached.map { hidden in
                        [
                            "tree": .string(hidden.treeName ?? TreeNames.catalog), "treeID": .count(hidden.treeID),
                            "causes": .count(hidden.causeCount), "pages": .count(hidden.pageCount),
                        ]
                    }),
                "trees": .array(
                    trees.map { tree in
                        [
                            "name": .string(tree.summary.tree.name), "id": .count(tree.summary.tree.id),
                            "keys": .string(TreeListing.keyText(tree.summary.tree.kind)),
                            "entries": .count(tree.entryCount), "pages": .count(tree.pageCount),
                        ]
                    }),
                "rows": .object(rowCounts.map { (name: $0.entity, value: .count($0.count)) }),
                "links": .count(linkCount),
            ]
        }
    }
}
