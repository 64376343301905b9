// `dbtool import-coredata`: imports a store of Core Data into a new store.

import EspalierCoreData
import EspalierModelFile
import Foundation

/// The verb `import-coredata`.
enum ImportCoreDataVerb: Verb {
    static let usage = Usage(
        name: "import-coredata", summary: "import a store of Core Data into a new store",
        parameters: [
            .required("SOURCE", "the store of Core Data: a SQLite file with the files beside it, or an XML file")
        ],
        options: [
            .text("-o", "STORE", "the new store (required); the file must not exist"),
            .text(
                "--model", "MODEL",
                "the model file, or the folder of its versions; without it the model in the store"), .json,
        ],
        discussion: """
            Every object is imported with its values, relationships and positions in ordered lists, and its primary
            key. The log beside the file is read; the file and the files beside it are not changed. No other
            program may write it meanwhile. A model that differs from the store's is refused, and the entities that
            differ are listed; of a folder NAME.xcdatamodeld or NAME.momd the version is used that the store was
            written with. The new store is checked, and appears when it is complete. Values that could not be read
            are listed.
            Exit code 0: everything was imported; 1: everything except some unreadable values or destinations.
            """,
        examples: [
            .init(
                command: "dbtool import-coredata Bookmarks.sqlite -o bookmarks.espalier",
                meaning: "uses the model in the store"),
            .init(
                command: "dbtool import-coredata Old.sqlite -o new.espalier --model Old.xcdatamodeld --json",
                meaning: "uses a model file, and prints the report as JSON"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("SOURCE")
        guard let target = arguments.text("-o") else {
            throw .usage(UsageError(message: "-o is missing: -o STORE", hint: "usage: \(usage.synopsis)"))
        }
        let report: CoreDataImportReport
        var progress = Progress(console)
        do throws(CoreDataImportError) {
            report = try imported(path, target, arguments.text("--model")) {
                progress.show("importing objects", $0)
                return true
            }
            progress.finish()
        } catch {
            progress.finish()
            throw ToolError(error, source: path, target: target)
        }
        if arguments.wantsJSON {
            console.print(json(report, path, target))
        } else {
            show(report, path, target, console)
        }
        return report.isComplete ? .ok : .difference
    }

    /// Imports with the model at a path, or with the version that fits of those in a folder.
    private static func imported(
        _ path: String, _ target: String, _ modelPath: String?, _ progress: @escaping (Int) -> Bool
    ) throws(CoreDataImportError) -> CoreDataImportReport {
        guard let url = modelPath.map({ URL(filePath: $0) }) else {
            return try CoreDataImport.importStore(at: path, to: target, progress: progress)
        }
        guard ["xcdatamodeld", "momd"].contains(url.pathExtension) else {
            let model: ModelDocument
            do throws(ModelFileError) { model = try ModelDocument(contentsOf: url) } catch { throw .model(error) }
            return try CoreDataImport.importStore(at: path, to: target, model: model, progress: progress)
        }
        let versions: ModelVersions
        do throws(ModelFileError) { versions = try ModelVersions(contentsOf: url) } catch { throw .model(error) }
        return try CoreDataImport.importStore(at: path, to: target, versions: versions, progress: progress)
    }

    private static func show(_ report: CoreDataImportReport, _ path: String, _ target: String, _ console: Console) {
        var table = TextTable([.text("entity"), .number("objects")])
        for (entity, count) in report.objectCounts.sorted(by: { $0.key < $1.key }) {
            table.append([entity, DisplayText.grouped(count)])
        }
        console.output.write(table.rendered() + "\n")
        console.print(
            "\(target): \(DisplayText.grouped(report.objectCounts.values.reduce(0, +))) objects, "
                + "\(DisplayText.grouped(report.destinationCount)) destinations of to-one relationships, "
                + "\(DisplayText.grouped(report.memberCount)) members of lists")
        if !report.ignoredTables.isEmpty {
            console.print("not part of the objects: \(report.ignoredTables.joined(separator: ", "))")
        }
        for note in report.notes { console.errors.write("note: \(path): \(note)\n") }
        guard !report.isComplete else { return }
        console.print("\(DisplayText.grouped(report.findingCount)) could not be imported:")
        for finding in report.findings { console.print("  \(finding)") }
        if report.findingCount > report.findings.count {
            console.print("  and \(DisplayText.grouped(report.findingCount - report.findings.count)) more")
        }
    }

    private static func json(_ report: CoreDataImportReport, _ path: String, _ target: String) -> JSONValue {
        let findings = report.findings.map { finding -> JSONValue in
            [
                "kind": .string(finding.kind.rawValue), "entity": .string(finding.entity),
                "key": .count(Int(finding.key)), "property": .string(finding.property),
                "text": .string(finding.message),
            ]
        }
        let counts = report.objectCounts.sorted { $0.key < $1.key }
        return [
            "source": .string(path), "file": .string(target), "storeIdentifier": .string(report.storeIdentifier),
            "objects": .object(counts.map { (name: $0.key, value: .count($0.value)) }),
            "destinations": .count(report.destinationCount), "members": .count(report.memberCount),
            "ignoredTables": .array(report.ignoredTables.map { .string($0) }),
            "notes": .array(report.notes.map { .string($0) }), "findings": .array(findings),
            "findingCount": .count(report.findingCount),
        ]
    }
}

extension ToolError {
    /// An error of an import: errors of the new store are about that one, all others about the source.
    fileprivate init(_ error: CoreDataImportError, source: String, target: String) {
        switch error {
        case .store(let error): self = .store(error, path: target)
        case .storage(let error, _): self = .storage(error, path: target)
        case .model(let error): self = .file(path: error.path, reason: error.reasons)
        case .targetExists, .otherModel, .noModel:
            self = .refused(path: source, reason: Self.reason(error, source))
        case .sqlite, .notAStore, .malformedXML, .checkFailed, .cancelled:
            self = .file(path: source, reason: Self.reason(error, source))
        }
    }

    /// The text of an error without the path of the source, which `ToolError` puts before it.
    private static func reason(_ error: CoreDataImportError, _ source: String) -> String {
        let text = error.description
        return text.hasPrefix("\(source): ") ? String(text.dropFirst(source.count + 2)) : text
    }
}
