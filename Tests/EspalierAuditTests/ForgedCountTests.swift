// Numbers of entries that the catalog states and no tree has: an object store adds and multiplies them.
//
// The engine passes on what a record states; only its check reads all entries.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct ForgedCountTests {
    /// The records of all trees of a closed store state `count` entries.
    private static func files(_ count: UInt64) throws -> ForgedFiles {
        var files = try ObjectSampleRun.files(seed: 5, saves: 20)
        let database = try Self.database(files)
        let trees = try database.beginRead().trees()
        try database.close()
        // A record begins with the tree's number and root, and the number of entries follows at 16.
        let records = Dictionary(
            uniqueKeysWithValues: trees.map { (UInt64($0.tree.id) | UInt64($0.root) << 32, $0.entryCount) })
        for page in 2..<files.pageCount where files.tree(page) == files.tree(2) {
            for place in page * files.pageSize..<(page + 1) * files.pageSize - 24
            where records[files.store.u64(place)] == files.store.u64(place + 16) {
                files.store.set(count, at: place + 16)
            }
            files.sealPage(page)
        }
        return files
    }

    private static func database(_ files: ForgedFiles) throws -> Database {
        let system = SimulatedFileSystem(seed: 3)
        system.replaceContents(of: "store", with: files.store)
        var options = SampleStores.options
        options.createIfMissing = false
        return try Database.open("store", in: system, options: options)
    }

    @Test(arguments: [.max, .max - 1, 1 << 63, 1 << 62] as [UInt64])
    func `entries of any number give answers or findings, and no trap`(_ count: UInt64) throws {
        let database = try Self.database(try Self.files(count))
        let stated = try database.beginRead().trees().filter { $0.entryCount == count }
        #expect(stated.count > 20)
        let model = try ObjectSampleModel.make()
        let store = try BTreeStore.open(database, path: "store", model: model)
        var progress: [StoreCheckProgress] = []

        let report = try store.check { state in
            progress.append(state)
            return true
        }
        let snapshot = try store.snapshot()
        for name in ["Thing", "Work", "Owner"] {
            let entity = try #require(model.entity(named: name))
            for limit in [nil, 3, Int.max] {
                var fetch = StoreFetch(entity: entity)
                fetch.limit = limit
                #expect(try snapshot.fetch(fetch).count == min(try snapshot.count(fetch), limit ?? .max))
            }
        }

        #expect(report.isComplete && progress.allSatisfy { $0.entryCount >= $0.entriesChecked })
        _ = try store.rebuildDerivedTrees()
    }

    @Test(arguments: [.max, .max - 1, 1 << 63] as [UInt64])
    func `a salvage reports losses of any number that a catalog states`(_ count: UInt64) throws {
        let system = SimulatedFileSystem(seed: 3)
        system.replaceContents(of: "store", with: try Self.files(count).store)

        let report = try Database.salvage(
            from: "store", into: "new", in: system, options: .init(), storeOptions: SampleStores.options)

        #expect(report.trees.filter { $0.expectedRowCount == count }.count > 20)
        #expect(report.rowCount > 0 && report.lostRowCount == .max)
    }
}
