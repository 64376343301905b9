// `dbtool convert`: copies a store to a new file of another kind.
//
// Invariants
//   1. The source is only read, and all of it at one moment.
//   2. If the run fails, there is no new file.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation

/// The verb `convert`.
enum ConvertVerb: Verb {
    static let usage = Usage(
        name: "convert", summary: "copy a store to a new file of another kind: B-tree, binary or XML",
        parameters: [.required("FILE", "the store"), .required("TO", "the file to create; it must not exist")],
        options: [
            .text("--kind", "KIND", "the kind of the new file: BTree, Binary or XML (required)"),
            .text("--model", "MODEL", "the model file, or a store with the model: for an XML file, which has none"),
            .json,
        ],
        discussion: """
            The new file has all objects, relationships, orders and metadata, an identifier of its own, and the primary
            keys of the old one where its kind can have them: in an XML file, whose layout is Core Data's, no two
            objects have the same key. All objects are in memory meanwhile. The kind of FILE is seen from its first
            bytes. Binary and XML files are read and written as a whole; the other verbs work on B-tree files.
            For a SQLite file of Core Data, use 'dbtool import-coredata'.
            """,
        examples: [
            .init(
                command: "dbtool convert music.espalier music.xml --kind XML",
                meaning: "writes a file that Core Data opens as an XML store of the same model"),
            .init(
                command: "dbtool convert music.xml music.espalier --kind BTree --model Music.xcdatamodeld",
                meaning: "makes a B-tree file of an XML store"),
        ])

    private static let kinds: [StoreType] = [.btree, .binary, .xml]

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let (path, target) = (arguments.required("FILE"), arguments.required("TO"))
        guard let name = arguments.text("--kind") else {
            throw .usage(UsageError(message: "--kind is missing: --kind KIND", hint: "usage: \(usage.synopsis)"))
        }
        guard let kind = kinds.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
            throw .unknownName(UnknownName(kind: "kind of store", name: name, candidates: kinds.map(\.rawValue)))
        }
        XMLGraphFormat.register()
        let source = try open(path, model: arguments.text("--model"), console)
        guard !FileManager.default.fileExists(atPath: target) else {
            throw .file(path: target, reason: "the file exists already; name a new one, or remove it")
        }
        let outcome = try write(source, path, to: target, kind)
        try withPath(path) { () throws(StoreError) in try source.close() }
        if arguments.wantsJSON {
            console.print(outcome.json(path, target, from: source.type, to: kind))
        } else {
            outcome.show(target, kind, console)
        }
        return .ok
    }

    /// Opens the store at `path` read-only, whatever its kind.
    private static func open(
        _ path: String, model modelPath: String?, _ console: Console
    ) throws(ToolError) -> any PersistentStore {
        let beginning = try read(path, atMost: 4096)
        let kind: StoreType =
            BinaryGraphFormat.isBeginning(beginning) ? .binary : XMLGraphFormat.isBeginning(beginning) ? .xml : .btree
        guard kind == .xml || modelPath == nil else {
            throw .usage(
                UsageError(message: "--model is for XML files only: \(path), of kind \(kind.rawValue), has its model"))
        }
        let model: ManagedObjectModel
        switch (kind, modelPath) {
        case (.binary, _):
            let bytes = try read(path, atMost: .max)
            model = try withPath(path) { () throws(StoreError) in try BinaryGraphFormat().model(in: bytes) }
        case (.xml, let modelPath?): model = try ModelSource(modelPath, console).model
        case (.xml, nil):
            throw .usage(
                UsageError(
                    message: "--model is missing: \(path) is an XML file, which has no model",
                    hint: "usage: \(usage.synopsis)"))
        default:
            var options = DatabaseOptions()
            options.access = .readOnly
            let store = try withPath(path) { () throws(StoreError) in
                try BTreeStore.openWithStoredModel(path: path, options: options)
            }
            store.database.stopFollowing()
            return store
        }
        return try withPath(path) { () throws(StoreError) in
            try StoreType.open(StoreOpening(kind, model: model, path: path, isReadOnly: true))
        }
    }

    private static func read(_ path: String, atMost count: Int) throws(ToolError) -> [UInt8] {
        do {
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            defer { try? file.close() }
            return Array(try (count == .max ? file.readToEnd() : file.read(upToCount: count)) ?? Data())
        } catch {
            throw .file(path: path, reason: FileFailure.reason(error))
        }
    }

    /// Copies everything to a new file, which is removed again if that fails.
    private static func write(
        _ source: any PersistentStore, _ path: String, to target: String, _ kind: StoreType
    ) throws(ToolError) -> ConversionOutcome {
        do throws(ToolError) {
            return try withPath(target) { () throws(StoreError) in
                let store = try StoreType.open(StoreOpening(kind, model: source.model, path: target))
                let copy: StoreCopy
                do throws(StoreError) { copy = try source.copy(to: store) } catch {
                    try? store.close()
                    throw error
                }
                var counts: [(entity: String, count: Int)] = []
                for entity in source.model.entities where !entity.isAbstract {
                    let count = try store.count(StoreFetch(entity: entity, includesSubentities: false))
                    counts.append((entity.name, count))
                }
                try store.close()
                return ConversionOutcome(
                    counts: counts, changedKeyCount: copy.changedKeyCount, identifier: store.identifier)
            }
        } catch {
            // The caller gets the first error.
            if kind == .btree {
                try? Database.remove(at: target)
            } else {
                try? FileManager.default.removeItem(atPath: target)
            }
            // An error of reading is about the source: it comes again without a new file.
            _ = try withPath(path) { () throws(StoreError) in try StoredGraph(try source.snapshot(), of: source) }
            throw error
        }
    }
}

/// The rows that a conversion has written.
private struct ConversionOutcome {
    let counts: [(entity: String, count: Int)]
    /// The number of objects with other keys than before.
    let changedKeyCount: Int
    let identifier: UUID

    private var total: Int { counts.reduce(0) { $0 + $1.count } }

    func show(_ target: String, _ kind: StoreType, _ console: Console) {
        var table = TextTable([.text("entity"), .number("objects")])
        for (entity, count) in counts { table.append([entity, DisplayText.grouped(count)]) }
        console.output.write(table.rendered() + "\n")
        let changed = changedKeyCount > 0 ? ", \(DisplayText.grouped(changedKeyCount)) of them with other keys" : ""
        console.print("\(target): \(DisplayText.grouped(total)) objects\(changed), kind \(kind.rawValue)")
    }

    func json(_ path: String, _ target: String, from: StoreType, to kind: StoreType) -> JSONValue {
        [
            "source": .string(path), "sourceKind": .string(from.rawValue), "file": .string(target),
            "kind": .string(kind.rawValue), "storeIdentifier": .string(identifier.uuidString),
            "objects": .object(counts.map { (name: $0.entity, value: .count($0.count)) }),
            "otherKeys": .count(changedKeyCount),
        ]
    }
}
