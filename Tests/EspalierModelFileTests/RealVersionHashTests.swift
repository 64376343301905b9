// Two versions of an entity have equal hashes here exactly where Core Data gave them equal ones.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct RealVersionHashTests {
    /// The first bytes of each hash in the metadata of stores that Core Data wrote with these models.
    private static let recorded: [(file: String, version: String, entity: String, hash: UInt64)] = [
        ("Bookmarks_V1", "BookmarksModel/BookmarksModel", "BookmarkEntity", 0xC37A_D9B3_1A1C_E3FA),
        ("Bookmarks_V2", "BookmarksModel/BookmarksModel 2", "BookmarkEntity", 0x99D6_5093_0F7E_4844),
        ("Bookmarks_V3", "BookmarksModel/BookmarksModel 3", "BookmarkEntity", 0x698B_764B_EB72_A2BC),
        ("Bookmarks_V4", "BookmarksModel/BookmarksModel 4", "BookmarkEntity", 0x6A08_6C95_44C0_ADC6),
        ("Bookmarks_V5", "BookmarksModel/BookmarksModel 5", "BookmarkEntity", 0x84F0_7C04_7D39_108D),
        ("SyncMetadata_V3", "SyncMetadata/SyncMetadata 3", "SyncableSettingsMetadata", 0xD3B4_D556_DB69_9538),
        ("SyncMetadata_V3", "SyncMetadata/SyncMetadata 3", "SyncFeatureEntity", 0x289B_8970_3A32_16AF),
    ]

    private func hash(of entity: String, at path: String) throws -> [UInt8] {
        let url = RealModels.url("duckduckgo+BrowserServicesKit/" + path)
        let model = try ManagedObjectModel(contentsOf: url, ignoring: Set(ModelFeature.allCases))
        return try #require(model.entity(named: entity)).versionHash
    }

    @Test func `hashes of versions are equal exactly where Core Data's are, compiled and as documents`() throws {
        var hashes: [(name: String, apple: UInt64, own: [UInt8])] = []
        for (file, version, entity, apple) in Self.recorded {
            let parts = version.split(separator: "/")
            let compiled = try hash(of: entity, at: "Compiled/\(file).mom")
            let document = try hash(of: entity, at: "\(parts[0]).xcdatamodeld/\(parts[1]).xcdatamodel")
            #expect(compiled == document, "\(version)")
            hashes.append((entity, apple, compiled))
        }
        for left in hashes {
            for right in hashes where left.name == right.name {
                #expect((left.apple == right.apple) == (left.own == right.own), "\(left.name)")
            }
        }
    }
}
