// Imports stores of this folder into a temporary folder, and reads what has arrived.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import TestSupport
import Testing

/// A store that was imported, open for reading.
struct ImportedStore {
    let store: BTreeStore
    let report: CoreDataImportReport

    /// Runs `body` with the import of a store, in a folder of its own.
    static func with(
        files: [String: [UInt8]], name: String, model: ModelDocument? = nil, limits: ImportLimits = .init(),
        _ body: (ImportedStore) throws -> Void
    ) throws {
        try withTemporaryFolder { folder in
            for (path, bytes) in files {
                let url = folder.appending(path: path)
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(bytes).write(to: url)
            }
            let target = folder.appending(path: "new.espalier").path
            let report = try CoreDataImport.importStore(
                at: folder.appending(path: name).path, to: target, model: model, in: PosixFileSystem.shared,
                limits: limits)
            let store = try BTreeStore.open(path: target, model: try BTreeStore.model(at: target), isReadOnly: true)
            try body(ImportedStore(store: store, report: report))
            try store.close()
            // Nothing else was written, and the source is as it was.
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(left) == Set(files.keys.map { String($0.prefix { $0 != "/" }) } + ["new.espalier"]))
            for (path, bytes) in files {
                #expect([UInt8](try Data(contentsOf: folder.appending(path: path))) == bytes, "\(path)")
            }
        }
    }

    /// The row of an entity with a primary key.
    func row(_ entity: String, _ key: UInt64) throws -> ObjectSnapshot? {
        let id = ObjectID(entityName: entity, storeIdentifier: store.identifier, key: key)
        return try store.snapshot().snapshots(of: [id])[0]
    }

    /// The value of an attribute.
    func value(_ entity: String, _ key: UInt64, _ attribute: String) throws -> AttributeValue {
        let row = try #require(try row(entity, key), "\(entity)/\(key)")
        let slot = try #require(store.model.entity(named: entity)?.attribute(named: attribute)?.slot)
        return row.value(at: slot)
    }

    /// The destination of a to-one relationship, as `Entity/key`.
    func destination(_ entity: String, _ key: UInt64, _ relationship: String) throws -> String? {
        let row = try #require(try row(entity, key), "\(entity)/\(key)")
        let slot = try #require(store.model.entity(named: entity)?.relationship(named: relationship)?.slot)
        return row.destination(at: slot).map { "\($0.entityName)/\($0.key)" }
    }

    /// The keys of the destinations of a to-many relationship.
    func destinations(_ entity: String, _ key: UInt64, _ relationship: String) throws -> [UInt64] {
        let relationship = try #require(store.model.entity(named: entity)?.relationship(named: relationship))
        let id = ObjectID(entityName: entity, storeIdentifier: store.identifier, key: key)
        return try store.snapshot().destinations(of: relationship, for: [id])[0].map(\.key)
    }
}

extension BTreeStore {
    /// The model in a file.
    static func model(at path: String) throws -> ManagedObjectModel {
        let store = try BTreeStore.openWithStoredModel(path: path)
        defer { try? store.close() }
        return store.model
    }
}

extension CoreDataImportError {
    /// The name of the case.
    var kindName: String {
        switch self {
        case .sqlite: "sqlite"
        case .notAStore: "notAStore"
        case .malformedXML: "malformedXML"
        case .noModel: "noModel"
        case .otherModel: "otherModel"
        case .model: "model"
        case .targetExists: "targetExists"
        case .storage: "storage"
        case .store: "store"
        case .checkFailed: "checkFailed"
        case .cancelled: "cancelled"
        }
    }

    /// The entities that differ; `nil` if the error is another one.
    var otherEntities: [String]? { if case .otherModel(_, let names, _) = self { names } else { nil } }
}
