// The entrance: imports a store of Core Data into a new store.
//
// Invariants
//   1. The new store appears when it is whole, checked and durable; after a failure there is none.
//   2. The store of Core Data is only read.

package import EspalierEngine
public import EspalierModelFile
import EspalierStore

/// Imports stores that Core Data has written.
public enum CoreDataImport {
    /// Imports the store at `path` into a new store at `target`.
    ///
    /// Every object arrives with its values, relationships and positions in ordered relationships, and keeps its
    /// primary key: the last parts of the URIs of an object are equal in both stores. Values of the application in the
    /// metadata of the store arrive too. Values that cannot be read, and those that must be unique and are not, are
    /// listed in the report, and everything else arrives (MD-12). No other program may write the store meanwhile; the
    /// commits of a log beside it are read, and changes without a commit are not.
    ///
    /// - Parameters:
    ///   - path: A SQLite or XML store of Core Data.
    ///   - target: The new store; the file must not exist.
    ///   - model: The model file with which the store was written; `nil` = the model that the store keeps, which an
    ///     XML store does not.
    ///   - progress: Called with the number of objects written so far; returning `false` ends the import.
    /// - Returns: the numbers of objects, and everything that was not imported.
    /// - Throws: `CoreDataImportError`; then there is no new store.
    /// - Complexity: O(objects log objects). The memory depends on the longest value and the longest list, and 24 bytes
    ///   are needed for each run of consecutive primary keys of one entity.
    @discardableResult
    public static func importStore(
        at path: String, to target: String, model: ModelDocument? = nil, progress: ((Int) -> Bool)? = nil
    ) throws(CoreDataImportError) -> CoreDataImportReport {
        try importStore(at: path, to: target, model: model, in: PosixFileSystem.shared, progress: progress)
    }

    /// Imports the store at `path` with that version of a model with which it was written.
    ///
    /// The current version is tried first, then the others from the last name on; nothing is written before a version
    /// fits. A version with a place for everything in the store comes before one that would leave a part of it out. A
    /// note in the report names the version if it is not the current one. All else is as in
    /// ``importStore(at:to:model:progress:)``.
    ///
    /// - Throws: `CoreDataImportError.otherModel` if the store was written with none of the versions; `.model` if none
    ///   fits and one has no meaning here.
    /// - Complexity: O(versions x bytes of an XML store, and bytes of all versions), and that of the import.
    @discardableResult
    public static func importStore(
        at path: String, to target: String, versions: ModelVersions, progress: ((Int) -> Bool)? = nil
    ) throws(CoreDataImportError) -> CoreDataImportReport {
        let others = versions.names.filter { $0 != versions.currentName }.reversed()
        var refused: [String]?
        var meaningless: CoreDataImportError?
        for isStrict in [true, false] {
            for name in [versions.currentName] + others {
                do throws(CoreDataImportError) {
                    var report = try importStore(
                        at: path, to: target, model: document(named: name, of: versions), in: PosixFileSystem.shared,
                        isStrict: isStrict, progress: progress)
                    if name != versions.currentName {
                        report.notes.append(
                            "the store was written with the version '\(name)' of the model, not with the current one")
                    }
                    return report
                } catch {
                    switch error {
                    // Only a version that does not fit at all is refused; others get their turn after the strict ones.
                    case .otherModel(_, let entities, _): if !isStrict { refused = refused ?? entities }
                    // Another version may be the store's.
                    case .model: meaningless = meaningless ?? error
                    default: throw error
                    }
                }
            }
        }
        if let meaningless { throw meaningless }
        let list = versions.names.map { "'\($0)'" }.joined(separator: ", ")
        throw .otherModel(
            path: path, entities: refused ?? [],
            reason: "the store was written with none of the versions \(list); give the model file that it was written "
                + "with, or none to use the model in the store")
    }

    private static func document(
        named name: String, of versions: ModelVersions
    ) throws(CoreDataImportError) -> ModelDocument {
        do throws(ModelFileError) { return try versions.document(named: name) } catch { throw .model(error) }
    }

    /// Imports a store in any file system; the new store is in the same one.
    ///
    /// - Parameter isStrict: whether a model is another one if it has no place for a part of the store, which is a
    ///   finding otherwise.
    package static func importStore(
        at path: String, to target: String, model: ModelDocument?, in fileSystem: any FileSystem,
        limits: ImportLimits = .init(), isStrict: Bool = false, progress: ((Int) -> Bool)? = nil
    ) throws(CoreDataImportError) -> CoreDataImportReport {
        let entry = try storing(target) { () throws(StorageError) in try fileSystem.entry(at: target) }
        let present = try storing(target) { () throws(StorageError) in try entry.identity(role: .copy) }
        guard present == nil else { throw .targetExists(path: target) }
        var report = CoreDataImportReport()
        let source = try source(path, model: model, isStrict: isStrict, in: fileSystem, &report)
        // The new store is written beside the target under another name. If a link has the target's name, it stays.
        let name = target.split(separator: "/").last.map(String.init) ?? target
        let path = target.dropLast(name.count) + entry.temporary(fileSystem.random()).name
        let temporary = try storing(target) { () throws(StorageError) in try fileSystem.entry(at: String(path)) }
        do throws(CoreDataImportError) {
            let written = try write(source, limits, report, to: String(path), in: fileSystem, progress)
            let isMoved = try storing(target) { () throws(StorageError) in
                let isMoved = try temporary.renameExclusively(
                    to: DirectoryEntry(temporary.directory, name), role: .copy)
                if isMoved { try temporary.directory.sync() }
                return isMoved
            }
            guard isMoved else { throw .targetExists(path: target) }
            return written
        } catch {
            // Files that cannot be removed do no harm: nothing reads them.
            try? temporary.remove(role: .copy)
            try? temporary.log.remove(role: .copy)
            throw error
        }
    }

    /// The store at `path`, whose first bytes say in which format it is.
    private static func source(
        _ path: String, model: ModelDocument?, isStrict: Bool, in fileSystem: any FileSystem,
        _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) -> any ImportSource {
        let input = try withImportErrors { () throws(SQLiteFileError) in try SQLiteInput(path, in: fileSystem) }
        guard let input else {
            throw .sqlite(SQLiteFileError(path: path, .readable, "the file does not exist"))
        }
        defer { input.close() }
        let beginning = try withImportErrors { () throws(SQLiteFileError) in try input.bytes(at: 0, count: 100) }
        guard XMLSource.isXML(beginning) else {
            return try SQLiteSource(path, model: model, isStrict: isStrict, in: fileSystem, &report)
        }
        guard input.byteCount <= XMLSource.byteCountMax else {
            throw .notAStore(path: path, reason: "it has \(input.byteCount) bytes, more than an XML store can have")
        }
        let bytes = try withImportErrors { () throws(SQLiteFileError) in
            try input.bytes(at: 0, count: Int(input.byteCount))
        }
        return try XMLSource(bytes, path: path, model: model, isStrict: isStrict, &report)
    }

    /// Writes the objects of a source to a new store, checks it and closes it.
    private static func write(
        _ source: any ImportSource, _ limits: ImportLimits, _ report: CoreDataImportReport, to path: String,
        in fileSystem: any FileSystem, _ progress: ((Int) -> Bool)?
    ) throws(CoreDataImportError) -> CoreDataImportReport {
        var options = DatabaseOptions()
        (options.applicationID, options.durability) = (BTreeStore.applicationID, .none)
        options.checkpointing = .background
        let database = try storing(path) { () throws(StorageError) in
            try Database.open(path, in: fileSystem, options: options)
        }
        let store: BTreeStore
        do throws(StoreError) {
            store = try BTreeStore.open(database, path: path, model: source.model)
        } catch {
            throw .store(error)
        }
        let written: CoreDataImportReport
        do throws(CoreDataImportError) {
            written = try ObjectWriter(source, store, limits, report, progress).run()
            try check(store, path)
        } catch {
            // The first error is reported.
            try? store.close()
            throw error
        }
        do throws(StoreError) { try store.close() } catch { throw .store(error) }
        return written
    }

    private static func check(_ store: BTreeStore, _ path: String) throws(CoreDataImportError) {
        let found: StoreCheckReport
        do throws(StoreError) { found = try store.check() } catch { throw .store(error) }
        let problems = found.findings + found.dangling
        guard found.isOK, problems.isEmpty else {
            let texts = problems.map(\.description) + found.duplicates.map(\.description)
            throw .checkFailed(path: path, findings: Array(texts.prefix(100)))
        }
    }

    private static func storing<R>(
        _ path: String, _ body: () throws(StorageError) -> R
    ) throws(CoreDataImportError) -> R {
        do throws(StorageError) { return try body() } catch { throw .storage(error, path: path) }
    }
}
