// Two versions of an entity have equal hashes here exactly where Core Data gave them equal ones, as the metadata of the
// stores record them that it wrote with these versions; and a store is imported with exactly its version.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct StoreVersionHashTests {
    /// The version of an entity with which a store was made.
    private struct Version {
        let store: String
        let entity: String
        /// The hash that Core Data wrote.
        let recorded: [UInt8]
        /// Our hashes, of the compiled model and of the document.
        let own: [[UInt8]]
    }

    /// The stores, and the version of the model of each.
    private static let stores: [(store: String, document: String)] =
        ["", " 2", " 3", " 4", " 5"].enumerated().map { number, ending in
            ("Bookmarks_V\(number + 1)", "BookmarksModel.xcdatamodeld/BookmarksModel\(ending).xcdatamodel")
        } + [("SyncMetadata_V3", "SyncMetadata.xcdatamodeld/SyncMetadata 3.xcdatamodel")]

    private static let folder = "duckduckgo+BrowserServicesKit"
    private static let models = Checkout.root.appending(path: "Tests/EspalierModelFileTests/Models/\(folder)")

    private static func model(_ path: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(contentsOf: models.appending(path: path), ignoring: Set(ModelFeature.allCases))
    }

    /// The hashes in the metadata of a store, by entity.
    private static func recordedHashes(_ name: String) throws -> [String: [UInt8]] {
        let store = Files.folder.appending(path: "\(folder)/\(name).sqlite")
        var files: [String: [UInt8]] = [:]
        for suffix in ["", "-wal"] {
            files[name + suffix] = [UInt8](try Data(contentsOf: URL(filePath: store.path + suffix)))
        }
        let database = try SQLiteDatabase(name, in: try Files.system(files))
        let table = try #require(try database.table("Z_METADATA"))
        let column = try #require(table.columns.firstIndex(of: "Z_PLIST"))
        var row = table.rows()
        guard try row.next(), case .blob(let bytes) = row.record.value(column) else { return [:] }
        let list = try BinaryPropertyList(bytes)
        func member(_ name: String, of index: Int) -> Int? {
            guard case .dictionary(let keys, let items) = list.objects[index] else { return nil }
            return zip(keys, items).first { list.objects[$0.0] == .string(name) }?.1
        }
        let hashes = try #require(member("NSStoreModelVersionHashes", of: list.top))
        guard case .dictionary(let keys, let items) = list.objects[hashes] else { return [:] }
        var found: [String: [UInt8]] = [:]
        for (key, item) in zip(keys, items) {
            guard case .string(let entity) = list.objects[key], case .data(let hash) = list.objects[item] else {
                continue
            }
            found[entity] = hash
        }
        return found
    }

    private static func versions() throws -> [Version] {
        try stores.flatMap { store, document in
            let models = [try model("Compiled/\(store).mom"), try model(document)]
            let recorded = try recordedHashes(store)
            #expect(models.allSatisfy { Set($0.entities.map(\.name)) == Set(recorded.keys) }, "\(store)")
            return try recorded.sorted { $0.key < $1.key }.map { entity, hash in
                let own = try models.map { try #require($0.entity(named: entity)).versionHash }
                return Version(store: store, entity: entity, recorded: hash, own: own)
            }
        }
    }

    @Test func `hashes of versions are equal exactly where Core Data's are, compiled and as documents`() throws {
        let versions = try Self.versions()

        #expect(versions.count == 7 && versions.allSatisfy { $0.recorded.count == 32 })
        for left in versions {
            for right in versions {
                let isEqual = left.recorded == right.recorded
                let pair = "\(left.store) \(left.entity), \(right.store) \(right.entity)"
                for own in left.own { #expect(right.own.allSatisfy { ($0 == own) == isEqual }, "\(pair)") }
            }
        }
    }

    // MARK: All stores with all versions

    /// All versions of both models, also those of which there is no store.
    private static let documents =
        ["", " 2", " 3", " 4", " 5", " 6"].map { "BookmarksModel.xcdatamodeld/BookmarksModel\($0).xcdatamodel" }
        + ["", " 2", " 3", " 4"].map { "SyncMetadata.xcdatamodeld/SyncMetadata\($0).xcdatamodel" }

    /// The entities of a store that a version lacks, or describes in another way than the version of the store.
    ///
    /// Of the metadata, the second version has one of both entities, and the fourth one adds an attribute to it.
    private static func otherEntities(of store: String, in document: String) -> [String] {
        if stores.contains(where: { $0.store == store && $0.document == document }) { return [] }
        guard store == "SyncMetadata_V3" else { return ["BookmarkEntity"] }
        switch document {
        case "SyncMetadata.xcdatamodeld/SyncMetadata 2.xcdatamodel": return ["SyncableSettingsMetadata"]
        case "SyncMetadata.xcdatamodeld/SyncMetadata 4.xcdatamodel": return ["SyncFeatureEntity"]
        default: return ["SyncFeatureEntity", "SyncableSettingsMetadata"]
        }
    }

    @Test func `each version has the hashes of a store for exactly those entities that it describes alike`() throws {
        for (store, own) in Self.stores {
            let former = try Self.model("Compiled/\(store).mom")
            for document in Self.documents {
                let model = try Self.model(document)

                let others = former.entities.filter { model.entity(named: $0.name)?.versionHash != $0.versionHash }

                let expected = Self.otherEntities(of: store, in: document)
                #expect(others.map(\.name).sorted() == expected, "\(store), \(document)")
                #expect((model.versionChecksum == former.versionChecksum) == (document == own), "\(store), \(document)")
            }
        }
    }

    @Test(arguments: stores.map(\.store))
    func `a store is imported with its own version, and with each other one refused by the entities that differ`(
        store: String
    ) throws {
        let files = try ["", "-wal"].map { ending -> (String, [UInt8]) in
            let name = "\(store).sqlite\(ending)"
            let bytes = try Data(contentsOf: Files.folder.appending(path: "\(Self.folder)/\(name)"))
            return (name, [UInt8](bytes))
        }
        for document in Self.documents {
            let model = try ModelDocument(contentsOf: Self.models.appending(path: document))
            var others: [String] = []
            do {
                try ImportedStore.with(
                    files: Dictionary(uniqueKeysWithValues: files), name: "\(store).sqlite", model: model
                ) { imported throws in
                    #expect(imported.report.isComplete, "\(document): \(imported.report.findings)")
                }
            } catch let error as CoreDataImportError {
                others = try #require(error.otherEntities, "\(document): \(error)")
            }

            #expect(others == Self.otherEntities(of: store, in: document), "\(document)")
        }
    }
}
