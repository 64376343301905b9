// Stores that Core Data itself has written, compared with what SQLite and Python read in them once.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct RealStoreTests {
    private static let folder = Files.folder.appending(path: "duckduckgo+BrowserServicesKit")

    private func with(
        _ name: String, model: ModelDocument? = nil, _ body: (ImportedStore) throws -> Void
    ) throws {
        let files = try ["\(name).sqlite", "\(name).sqlite-wal"].map { file in
            (file, [UInt8](try Data(contentsOf: Self.folder.appending(path: file))))
        }
        try ImportedStore.with(
            files: Dictionary(uniqueKeysWithValues: files), name: "\(name).sqlite", model: model, body)
    }

    /// The model file of one version of the bookmarks.
    private func bookmarksModel(_ version: String) throws -> ModelDocument {
        let tests = Files.folder.deletingLastPathComponent().deletingLastPathComponent()
        let models = tests.appending(path: "EspalierModelFileTests/Models/duckduckgo+BrowserServicesKit")
        return try ModelDocument(
            contentsOf: models.appending(path: "BookmarksModel.xcdatamodeld/\(version).xcdatamodel"))
    }

    private func expectBookmarks(_ bookmarks: ImportedStore) throws {
        let rows: [(key: UInt64, isFolder: Bool, parent: UInt64?, date: Double?, title: String, url: String?)] = [
            (1, false, 8, 731947175.405035, "4", "4"), (2, false, 4, 731947175.40503, "32", "32"),
            (3, false, 8, 731947175.405025, "5", "5"), (4, true, 8, 731947175.40502, "3", nil),
            (5, false, 8, 731947175.405015, "1", "1"), (6, true, nil, nil, "favorites_root", nil),
            (7, true, 4, 731947175.405005, "31", nil), (8, true, nil, nil, "bookmarks_root", nil),
            (9, false, 4, 731947175.404992, "33", "33"), (10, false, 8, 731947175.404975, "2", "2"),
        ]
        let entity = "BookmarkEntity"
        #expect(bookmarks.report.objectCounts == [entity: 10])
        #expect(bookmarks.report.isComplete && bookmarks.report.ignoredTables.isEmpty)
        for row in rows {
            #expect(try bookmarks.value(entity, row.key, "isFolder") == .boolean(row.isFolder))
            #expect(try bookmarks.value(entity, row.key, "isPendingDeletion") == .boolean(false))
            #expect(try bookmarks.value(entity, row.key, "title") == .string(row.title))
            #expect(try bookmarks.value(entity, row.key, "uuid") == .string(row.title))
            #expect(try bookmarks.value(entity, row.key, "url") == row.url.map { .string($0) } ?? .null)
            let date = row.date.map { AttributeValue.date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null
            #expect(try bookmarks.value(entity, row.key, "modifiedAt") == date)
            #expect(try bookmarks.destination(entity, row.key, "parent") == row.parent.map { "\(entity)/\($0)" })
        }
        #expect(try bookmarks.destinations(entity, 8, "children") == [5, 10, 4, 1, 3])
        #expect(try bookmarks.destinations(entity, 4, "children") == [7, 2, 9])
        #expect(try bookmarks.destinations(entity, 6, "favorites") == [3, 1, 9, 2, 10])
        #expect(try bookmarks.destinations(entity, 9, "favoriteFolders") == [6])
        #expect(try bookmarks.destinations(entity, 4, "favoriteFolders") == [])
    }

    @Test func `bookmarks arrive with the model that their store keeps`() throws {
        try with("Bookmarks_V5", expectBookmarks)
    }

    @Test func `bookmarks arrive with their model file`() throws {
        try with("Bookmarks_V5", model: try bookmarksModel("BookmarksModel 5"), expectBookmarks)
    }

    @Test func `an older store arrives with two ordered relationships from one to many`() throws {
        try with("Bookmarks_V1") { bookmarks throws in
            let entity = "BookmarkEntity"
            #expect(bookmarks.report.objectCounts == [entity: 10] && bookmarks.report.isComplete)
            #expect(try bookmarks.destinations(entity, 10, "children") == [4, 2, 7, 8, 6])
            #expect(try bookmarks.destinations(entity, 7, "children") == [5, 3, 1])
            #expect(try bookmarks.destinations(entity, 9, "favorites") == [6, 8, 1, 3, 2])
            #expect(try bookmarks.value(entity, 3, "isFavorite") == .boolean(true))
            #expect(try bookmarks.destination(entity, 3, "favoriteFolder") == "\(entity)/9")
        }
    }

    /// The dates of change in each store, by title; the roots have none, and the first two versions no such attribute.
    private static let dates: [String: [String: Double]] = [
        "V3": [
            "1": 722787770.189304, "2": 722787770.189348, "3": 722787770.189317, "31": 722787770.18933,
            "32": 722787770.189342, "33": 722787770.189258, "4": 722787770.189287, "5": 722787770.189297,
        ],
        "V4": [
            "1": 723485158.135943, "2": 723485158.135903, "3": 723485158.135933, "31": 723485158.135921,
            "32": 723485158.135916, "33": 723485158.135888, "4": 723485158.135948, "5": 723485158.13591,
        ],
    ]

    @Test(arguments: ["V1", "V2", "V3", "V4", "V5"])
    func `the store of each version has the same bookmarks, folders and favourites in their orders`(
        version: String
    ) throws {
        try with("Bookmarks_\(version)") { bookmarks throws in
            let entity = "BookmarkEntity"
            #expect(bookmarks.report.objectCounts == [entity: 10] && bookmarks.report.isComplete)
            #expect(bookmarks.report.ignoredTables.isEmpty)
            var titles: [UInt64: String] = [:]
            for key in UInt64(1)...10 {
                guard case .string(let title) = try bookmarks.value(entity, key, "title") else { continue }
                titles[key] = title
                #expect(try bookmarks.value(entity, key, "uuid") == .string(title))
                let isFolder = ["3", "31", "bookmarks_root", "favorites_root"].contains(title)
                #expect(try bookmarks.value(entity, key, "isFolder") == .boolean(isFolder))
                #expect(try bookmarks.value(entity, key, "url") == (isFolder ? .null : .string(title)))
                guard let dates = Self.dates[version] else { continue }
                let date = dates[title].map { AttributeValue.date(Date(timeIntervalSinceReferenceDate: $0)) }
                #expect(try bookmarks.value(entity, key, "modifiedAt") == date ?? .null)
                #expect(try bookmarks.value(entity, key, "isPendingDeletion") == .boolean(false))
            }
            let lists = [
                "children": ["bookmarks_root": ["1", "2", "3", "4", "5"], "3": ["31", "32", "33"]],
                "favorites": ["favorites_root": ["5", "4", "33", "32", "2"]],
            ]
            for (relationship, owners) in lists {
                for (key, title) in titles {
                    let members = try bookmarks.destinations(entity, key, relationship).map { titles[$0] }
                    #expect(members == owners[title] ?? [], "\(relationship) of \(title)")
                }
            }
            #expect(titles.count == 10)
        }
    }

    @Test func `rows with unique values and dates that are missing arrive`() throws {
        try with("SyncMetadata_V3") { sync throws in
            #expect(sync.report.objectCounts == ["SyncableSettingsMetadata": 2, "SyncFeatureEntity": 2])
            #expect(sync.report.isComplete)
            let setting = "SyncableSettingsMetadata"
            #expect(try sync.value(setting, 1, "key") == .string("TestSetting-01"))
            #expect(try sync.value(setting, 1, "lastModified") == .null)
            #expect(
                try sync.value(setting, 2, "lastModified")
                    == .date(Date(timeIntervalSinceReferenceDate: 733068222.001259)))
            #expect(try sync.value("SyncFeatureEntity", 1, "name") == .string("TestFeature-02"))
            #expect(try sync.value("SyncFeatureEntity", 1, "lastModified") == .string("1234"))
            #expect(try sync.value("SyncFeatureEntity", 2, "state") == .string("needsRemoteDataFetch"))
        }
    }
}
