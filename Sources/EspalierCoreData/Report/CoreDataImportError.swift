// The error of an import from Core Data: what was refused, and where.

public import EspalierEngine
public import EspalierModelFile
public import EspalierStore

/// The reason why a store of Core Data was not imported; nothing was written then.
public enum CoreDataImportError: Error, Sendable, CustomStringConvertible {
    /// The SQLite file cannot be read.
    case sqlite(SQLiteFileError)
    /// The file is no store of Core Data: a table or a part of one is missing.
    case notAStore(path: String, reason: String)
    /// The XML store is not well formed, or has parts that such stores do not have.
    case malformedXML(path: String, line: Int, reason: String)
    /// There is no model: neither the caller nor the store has one that can be read.
    case noModel(path: String, reason: String)
    /// The model is not the one with which the store was written; the entities that differ, by name.
    case otherModel(path: String, entities: [String], reason: String)
    /// The model has an error, or no meaning here.
    case model(ModelFileError)
    /// A file exists where the new store would be.
    case targetExists(path: String)
    /// The new store cannot be written.
    case storage(StorageError, path: String)
    /// The new store refuses rows, for example because values that follow from other rows are not unique.
    case store(StoreError)
    /// The check of the new store has found an error of the import.
    case checkFailed(path: String, findings: [String])
    /// The caller has ended the import.
    case cancelled

    /// A sentence that names the file.
    public var description: String {
        switch self {
        case .sqlite(let error): error.description
        case .notAStore(let path, let reason):
            "\(path): this is not a store of Core Data: \(reason); name the SQLite or XML file of a store that Core "
                + "Data has written"
        case .malformedXML(let path, let line, let reason):
            "\(path): line \(line): \(reason); use another copy of the file, or mend it there"
        case .noModel(let path, let reason): "\(path): the model is missing: \(reason)"
        case .otherModel(let path, let entities, let reason):
            "\(path): the store has another model: \(entities.joined(separator: ", ")): \(reason)"
        case .model(let error): error.description
        case .targetExists(let path): "\(path): the file exists; name another one, or move it away"
        case .storage(let error, let path): "\(path): \(error)"
        case .store(let error): "\(error)"
        case .checkFailed(let path, let findings):
            "\(path): the new store failed its check and was removed:\n"
                + findings.map { "  \($0)" }.joined(separator: "\n")
        case .cancelled: "the import was cancelled"
        }
    }
}
