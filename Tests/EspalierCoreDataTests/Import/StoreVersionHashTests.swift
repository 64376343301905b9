// Two versions of an entity have equal hashes here exactly where Core Data gave them equal ones, as the metadata of the
// stores record them that it wrote with these versions.

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
}
