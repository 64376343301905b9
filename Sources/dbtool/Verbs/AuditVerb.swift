// `dbtool audit`: a second opinion, by a checker that shares no code with the engine.

import EspalierAudit

/// The verb `audit`.
enum AuditVerb: Verb {
    static let usage = Usage(
        name: "audit", summary: "check a store by the format documents alone, without the engine",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            A second opinion: this checker was written from the format documents and shares no code with the
            engine or the store, so it also finds damage that the engine's own check misreads. It reads store and log,
            verifies every numbered rule on the newest committed state, and writes nothing. In an object store it
            also reads the rows, and compares indexes, unique values, links and counters with them.

            Exit code 0: no damage; 1: a rule is broken; 4: another process writes the store and changed it so
            much during the audit that the audit has no result.
            """,
        examples: [
            .init(
                command: "dbtool audit chinook.espalier",
                meaning: "prints \"ok\" and counts, or one line for each finding"),
            .init(
                command: "dbtool audit chinook.espalier --json",
                meaning: "prints the rule, place and text of each finding for programs"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        var report = try audit(path)
        for _ in 1..<readAttemptMax where report.hasChanged && !report.isOK { report = try audit(path) }
        if arguments.wantsJSON {
            console.print(json(report, path))
        } else {
            print(report, path, console)
        }
        return exitCode(of: report)
    }

    /// The exit code for a report; findings in a store that was written meanwhile may result from mixed states.
    static func exitCode(of report: AuditReport) -> ExitCode {
        if report.isOK { return .ok }
        return report.hasChanged ? .locked : .difference
    }

    private static func audit(_ path: String) throws(ToolError) -> AuditReport {
        let store = try FileBytes(path: path)
        let log = try store.log()
        do throws(AuditFailure) {
            return try StoreAudit.run(store: store, log: log)
        } catch {
            throw .file(path: path, reason: "\(error)")
        }
    }

    private static func print(_ report: AuditReport, _ path: String, _ console: Console) {
        for finding in report.findings.list { console.print("\(path): \(finding)") }
        let count = report.findings.count
        switch count {
        case 0: console.print("\(path): ok")
        case 1: console.print("\(path): 1 problem")
        default: console.print("\(path): \(DisplayText.grouped(count)) problems")
        }
        if report.hasChanged {
            console.print(
                "Another process wrote the store during the audit, which checked transaction "
                    + "\(DisplayText.grouped(report.transaction)).")
        }
        guard report.pageCount > 0 else { return }
        let entries = report.trees.reduce(0) { $0 + $1.counts.entryCount }
        console.print(
            "\(DisplayText.grouped(report.pageCount)) pages (\(DisplayText.grouped(report.freePageCount)) free), "
                + "\(report.trees.count) trees, \(DisplayText.grouped(entries)) entries; "
                + "\(DisplayText.grouped(report.logCommitCount)) commits in the log")
        if let objects = report.objects { print(objects, console) }
    }

    private static func print(_ objects: ObjectReport, _ console: Console) {
        for what in objects.uncompared { console.print("Not compared, because a part of it is damaged: \(what).") }
        if objects.format == 1 {
            console.print("The rows are in format 1; opening the store for writing converts them to format 2.")
        }
        let rows = objects.rowCounts.reduce(0) { $0 + $1.count }
        console.print(
            "\(DisplayText.grouped(rows)) rows of \(objects.rowCounts.count) entities, "
                + "\(DisplayText.grouped(objects.entryCount)) index entries, "
                + "\(DisplayText.grouped(objects.linkCount)) links")
    }

    private static func json(_ report: AuditReport, _ path: String) -> JSONValue {
        [
            "file": .string(path), "ok": .boolean(report.isOK), "changed": .boolean(report.hasChanged),
            "pages": .count(report.pageCount), "freePages": .count(report.freePageCount),
            "transaction": .count(report.transaction), "logCommits": .count(report.logCommitCount),
            "problems": .count(report.findings.count), "findings": .array(report.findings.list.map(json)),
            "objects": report.objects.map(json) ?? .null,
            "trees": .array(
                report.trees.map { tree in
                    [
                        "name": .string(String(decoding: tree.name, as: UTF8.self)), "id": .count(tree.number),
                        "keys": .string(tree.hasIntegerKeys ? "integer" : "bytes"),
                        "entries": .count(tree.counts.entryCount), "pages": .count(tree.counts.pageCount),
                    ]
                }),
        ]
    }

    private static func json(_ objects: ObjectReport) -> JSONValue {
        [
            "format": objects.format.map { .count($0) } ?? .null,
            "rows": .array(
                objects.rowCounts.map { ["entity": .string($0.entity), "count": .count($0.count)] }),
            "indexEntries": .count(objects.entryCount), "links": .count(objects.linkCount),
            "notCompared": .array(objects.uncompared.map { .string($0) }),
        ]
    }

    private static func json(_ finding: AuditFinding) -> JSONValue {
        switch finding.place {
        case .page(let page, let offset):
            [
                "rule": .count(finding.rule), "file": .string("store"), "page": .count(page),
                "byteOffset": .count(offset),
                "text": .string(finding.description),
            ]
        case .log(let offset):
            [
                "rule": .count(finding.rule), "file": .string("log"), "page": .null, "byteOffset": .count(offset),
                "text": .string(finding.description),
            ]
        case .tree(let tree, let key):
            [
                "rule": .count(finding.rule), "tree": .string(tree), "key": .string(key),
                "text": .string(finding.description),
            ]
        }
    }
}
