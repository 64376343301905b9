// `dbtool rebuild`: makes index entries, unique entries, links and counters of an object store agree with its rows.

import EspalierEngine
import EspalierStore

/// The verb `rebuild`.
enum RebuildVerb: Verb {
    static let usage = Usage(
        name: "rebuild", summary: "make index entries, links and counters agree with the rows",
        parameters: [.required("FILE", "the store; no process may have it open for writing")],
        options: [.flag("--dry-run", "only show what would change, and write nothing"), .json],
        discussion: """
            Rebuilds all that follows from rows, and never the rows: entries of indexes and uniqueness constraints,
            links of relationships in both directions, counters. It is one transaction: whatever happens, the store
            is either unchanged or rebuilt. Then it computes wrong values of derived attributes anew. Rows that share
            unique values stay and are listed, and so do to-one values that lead to rows that do not exist; links to
            and from such rows are removed. Damaged pages need 'dbtool salvage', which rebuilds the new store itself.
            Exit code 0: the store is now in order; 1: findings are left that only a person can decide, or, with
            --dry-run, the store would change.
            """,
        examples: [
            .init(
                command: "dbtool rebuild music.espalier --dry-run",
                meaning: "prints a table of the changes it would make"),
            .init(
                command: "dbtool rebuild music.espalier",
                meaning: "rebuilds the store, so that 'dbtool check' finds no contradiction"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let isDryRun = arguments.flag("--dry-run")
        let report =
            isDryRun
            ? try repeatingRead { () throws(ToolError) in try rebuild(path, isDryRun: true, console) }
            : try rebuild(path, isDryRun: false, console)
        if arguments.wantsJSON {
            console.print(json(report, path))
        } else {
            show(report, path, console)
        }
        return isInOrder(report) ? .ok : .difference
    }

    /// Rebuilds the store at `path`.
    static func rebuild(_ path: String, isDryRun: Bool, _ console: Console) throws(ToolError) -> RebuildReport {
        var options = DatabaseOptions()
        options.createIfMissing = false
        if isDryRun { options.access = .readOnly }
        let database = try withPath(path) { () throws(StorageError) in try Database.open(path, options: options) }
        if isDryRun { database.stopFollowing() }
        var progress = Progress(console)
        let report = try withPath(path) { () throws(StoreError) in
            try BTreeStore.rebuildDerivedTrees(of: database, path: path, isDryRun: isDryRun) { state in
                progress.show("comparing rows, entries and links", state.entriesChecked, of: state.entryCount)
                return true
            }
        }
        progress.finish()
        return report
    }

    /// Whether no problem is left after a rebuild.
    static func isInOrder(_ report: RebuildReport) -> Bool {
        remaining(report).isEmpty && !(report.isDryRun && report.hasChanges)
    }

    /// The problems that are left after the rebuild; for a dry run, those that it would leave.
    private static func remaining(_ report: RebuildReport) -> [String] {
        var findings: [StoreFinding] = []
        if let after = report.after {
            findings = after.findings + after.dangling + after.unsetValues
        } else {
            // If no change could mend the findings, they are still problems.
            if !report.hasChanges { findings = report.mended.findings }
            findings += report.keptReferences + report.mended.unsetValues
        }
        return findings.map(\.description) + report.duplicates.map(\.description)
    }
}

extension RebuildVerb {
    /// The outcome for people.
    static func show(_ report: RebuildReport, _ path: String, _ console: Console) {
        let changed = report.trees.filter(\.isChanged)
        if !report.hasChanges {
            console.print("\(path): nothing to rebuild")
        } else {
            let verb = report.isDryRun ? "would be rebuilt" : "rebuilt"
            console.print(
                "\(path): \(verb): \(count(changed.count, "tree")), \(count(report.counters.count, "counter"))"
                    + (report.derivedValueCount > 0 ? ", \(count(report.derivedValueCount, "derived value"))" : "")
                    + "\n")
        }
        var table = TextTable([
            .text("tree"), .number("before"), .number("after"), .number("added"), .number("removed"),
            .number("replaced"),
        ])
        for tree in changed {
            table.append([
                tree.tree, tree.wasMissing ? "missing" : DisplayText.grouped(tree.entriesBefore),
                DisplayText.grouped(tree.entriesAfter), DisplayText.grouped(tree.added),
                DisplayText.grouped(tree.removed), DisplayText.grouped(tree.replaced),
            ])
        }
        if !table.isEmpty { console.output.write(table.rendered()) }
        if !report.counters.isEmpty {
            var counters = TextTable([.text("counter"), .number("before"), .number("after")])
            for counter in report.counters {
                counters.append([
                    counter.name, counter.before.map { DisplayText.grouped($0) } ?? "missing",
                    DisplayText.grouped(counter.after),
                ])
            }
            console.output.write("\n" + counters.rendered())
        }
        for link in report.removedLinks {
            console.print("\(path): \(report.isDryRun ? "would be removed" : "removed"): \(link)")
        }
        for text in remaining(report) { console.print("\(path): not changed: \(text)") }
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(DisplayText.grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// The outcome for programs.
    static func json(_ report: RebuildReport, _ path: String) -> JSONValue {
        [
            "file": .string(path), "dryRun": .boolean(report.isDryRun), "changed": .boolean(report.hasChanges),
            "ok": .boolean(isInOrder(report)),
            "trees": .array(
                report.trees.map { tree in
                    [
                        "name": .string(tree.tree), "wasMissing": .boolean(tree.wasMissing),
                        "entriesBefore": .count(tree.entriesBefore), "entriesAfter": .count(tree.entriesAfter),
                        "added": .count(tree.added), "removed": .count(tree.removed),
                        "replaced": .count(tree.replaced),
                    ]
                }),
            "counters": .array(
                report.counters.map { counter in
                    [
                        "name": .string(counter.name), "before": counter.before.map { .count($0) } ?? .null,
                        "after": .count(counter.after),
                    ]
                }),
            "derivedValues": .count(report.derivedValueCount),
            "removedLinks": .array(report.removedLinks.map { .string($0.description) }),
            "keptReferences": .array(report.keptReferences.map { .string($0.description) }),
            "duplicates": .array(
                report.duplicates.map { duplicate in
                    [
                        "entity": .string(duplicate.entity),
                        "properties": .array(duplicate.properties.map { .string($0) }),
                        "first": .string(duplicate.first.shortText), "second": .string(duplicate.second.shortText),
                    ]
                }),
            "remaining": .array(remaining(report).map { .string($0) }),
        ]
    }
}
