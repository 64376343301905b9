// `dbtool import-coredata`, with stores that Core Data has written.

import Foundation
import TestSupport
import Testing

@Suite struct ImportCoreDataVerbTests {
    private static var stores: URL { Checkout.root.appending(path: "Tests/EspalierCoreDataTests/Stores") }

    /// Runs `body` with the path of a copy of a real store with its log, and the path of a store to be made.
    private func withBookmarks(_ body: (_ source: String, _ target: String) throws -> Void) throws {
        try withTemporaryFolder { folder throws -> Void in
            for name in ["Bookmarks_V5.sqlite", "Bookmarks_V5.sqlite-wal"] {
                try FileManager.default.copyItem(
                    at: Self.stores.appending(path: "duckduckgo+BrowserServicesKit/\(name)"),
                    to: folder.appending(path: name))
            }
            try body(
                folder.appending(path: "Bookmarks_V5.sqlite").path, folder.appending(path: "new.espalier").path)
        }
    }

    @Test func `a store is imported, and its objects are counted`() throws {
        try withBookmarks { source, target in
            let run = ToolRun("import-coredata", source, "-o", target)

            #expect(run.code == 0)
            #expect(run.output.contains("10 objects, 8 destinations of to-one relationships, 13 members of lists"))
            #expect(ToolRun("check", target).code == 0)
            let fetch = ToolRun("fetch", target, "BookmarkEntity", "parent.title == 'bookmarks_root'")
            #expect(fetch.code == 0 && fetch.output.contains("BookmarkEntity/10"))
            #expect(!fetch.output.contains("BookmarkEntity/9"))
        }
    }

    @Test func `the report in JSON has all numbers`() throws {
        try withBookmarks { source, target in
            let run = ToolRun("import-coredata", source, "-o", target, "--json")
            let expected =
                "\"storeIdentifier\":\"729EA06D-F512-407C-A56C-326316BFB40E\",\"objects\":{\"BookmarkEntity\":10},"
                + "\"destinations\":8,\"members\":13,\"ignoredTables\":[],\"notes\":[],"
                + "\"findings\":[],\"findingCount\":0"

            #expect(run.code == 0)
            #expect(run.output.contains(expected))
        }
    }

    @Test func `a target that exists, no target, and a source that is none are told apart`() throws {
        try withBookmarks { source, target in
            #expect(ToolRun("import-coredata", source).code == 2)
            try Data([1]).write(to: URL(filePath: target))
            let run = ToolRun("import-coredata", source, "-o", target)
            #expect(run.code == 2 && run.errors.contains("the file exists"))
            #expect(try Data(contentsOf: URL(filePath: target)) == Data([1]))
            let missing = ToolRun("import-coredata", source + "x", "-o", target + "x")
            #expect(missing.code == 3 && missing.errors.contains("the file does not exist"))
            #expect(!FileManager.default.fileExists(atPath: target + "x"))
        }
    }

    @Test func `a file that is no store and one that is cut short are refused with what to do`() throws {
        try withBookmarks { source, target in
            let whole = try Data(contentsOf: URL(filePath: source))
            try FileManager.default.removeItem(atPath: source + "-wal")
            for (bytes, reason) in [
                (Data(repeating: 65, count: 4_096), "this is not a SQLite 3 file; name the SQLite file"),
                (Data(), "the file is empty; name the SQLite file"),
                (whole.prefix(whole.count / 2), "the file is cut short: it has \(whole.count / 2) bytes"),
                (whole.prefix(60), "the file ends after 60 bytes, within its header; copy the whole file"),
            ] {
                try bytes.write(to: URL(filePath: source))
                let run = ToolRun("import-coredata", source, "-o", target)
                #expect(run.code == 3)
                #expect(run.errors.contains("\(source): \(reason)"))
                #expect(!FileManager.default.fileExists(atPath: target))
            }
        }
    }

    @Test func `of a folder of versions the one is used that the store was written with`() throws {
        try withBookmarks { source, target in
            let models = Checkout.root.appending(
                path: "Tests/EspalierModelFileTests/Models/duckduckgo+BrowserServicesKit")
            let other = ToolRun(
                "import-coredata", source, "-o", target, "--model",
                models.appending(path: "SyncMetadata.xcdatamodeld").path)
            #expect(other.code == 2)
            #expect(other.errors.contains("none of the versions 'SyncMetadata', 'SyncMetadata 2', 'SyncMetadata 3'"))
            #expect(!FileManager.default.fileExists(atPath: target))
            let run = ToolRun(
                "import-coredata", source, "-o", target, "--model",
                models.appending(path: "BookmarksModel.xcdatamodeld").path)
            #expect(run.code == 0 && run.output.contains("10 objects"))
            #expect(run.errors.contains("the version 'BookmarksModel 5' of the model, not with the current one"))
        }
    }

    @Test func `of a folder of compiled versions the one is used that the store was written with`() throws {
        try withBookmarks { source, target in
            let models = Checkout.root.appending(
                path: "Tests/EspalierModelFileTests/Models/duckduckgo+BrowserServicesKit/Compiled")
            let folder = URL(filePath: target).deletingLastPathComponent().appending(path: "Bookmarks.momd")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for name in ["Bookmarks_V3.mom", "Bookmarks_V5.mom"] {
                try FileManager.default.copyItem(at: models.appending(path: name), to: folder.appending(path: name))
            }
            let key = "NSManagedObjectModel_CurrentVersionName"
            try Data("<plist><dict><key>\(key)</key><string>Bookmarks_V3</string></dict></plist>".utf8)
                .write(to: folder.appending(path: "VersionInfo.plist"))

            let run = ToolRun("import-coredata", source, "-o", target, "--model", folder.path)

            #expect(run.code == 0 && run.output.contains("10 objects"), "\(run.errors)")
            #expect(run.errors.contains("the version 'Bookmarks_V5' of the model, not with the current one"))
        }
    }

    @Test func `a model that is not the store's is refused with the name of the entity`() throws {
        try withBookmarks { source, target in
            let models = Checkout.root.appending(
                path: "Tests/EspalierModelFileTests/Models/duckduckgo+BrowserServicesKit/BookmarksModel.xcdatamodeld")
            let (right, wrong) = ("BookmarksModel 5.xcdatamodel", "BookmarksModel 3.xcdatamodel")
            let refused = ToolRun(
                "import-coredata", source, "-o", target, "--model", models.appending(path: wrong).path)
            #expect(refused.code == 2 && refused.errors.contains("BookmarkEntity"))
            #expect(!FileManager.default.fileExists(atPath: target))
            let run = ToolRun("import-coredata", source, "-o", target, "--model", models.appending(path: right).path)
            #expect(run.code == 0)
        }
    }
}
