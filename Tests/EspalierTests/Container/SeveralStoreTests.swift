// Containers of several stores of an older version: none of them is migrated if another one is refused or cannot be
// opened, and all are open in the order of their descriptions if none is.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct SeveralStoreTests {
    private static func open(_ stores: [PersistentStoreDescription]) throws -> PersistentContainer {
        try PersistentContainer(model: TrackVersions.model(2), stores: stores)
    }

    /// The ways of opening several stores with the last version.
    enum Way: CaseIterable {
        case inferred, lightweightPlan, planWithWork

        func open(_ stores: [PersistentStoreDescription]) throws -> PersistentContainer {
            let work = MigrationStage.custom(didMigrate: { _ in })
            return switch self {
            case .inferred: try SeveralStoreTests.open(stores)
            case .lightweightPlan: try PersistentContainer(TrackVersions.plan(.lightweight()), stores: stores)
            case .planWithWork: try PersistentContainer(TrackVersions.plan(work), stores: stores)
            }
        }

        /// The rows for which a migration is refused.
        func failures(of error: any Error) -> [MigrationFailure]? {
            switch error {
            case ContextError.store(.migrationRefused(_, let refusal)): refusal.failures
            case SchemaMigrationError.stage(_, from: 1, reached: 0, StoreError.migrationRefused(_, let refusal)):
                refusal.failures
            default: nil
            }
        }
    }

    @Test(arguments: Way.allCases, [[0, 1], [1, 0]])
    func `no store is migrated if rows of another one do not fit, whichever comes first`(
        _ way: Way, order: [Int]
    ) throws {
        try withTemporaryFolder { folder in
            let paths = ["fits", "does not"].map { folder.appending(path: $0).path }
            try TrackVersions.makeStore(at: paths[0], ["5"])
            try TrackVersions.makeStore(at: paths[1], ["1", "12a"])
            let id = try TrackVersions.withContext(at: paths[1], version: 0) { context in
                try TrackVersions.tracks(context)[1].objectID
            }

            let error = #expect(throws: (any Error).self) {
                try way.open(order.map { PersistentStoreDescription(path: paths[$0]) })
            }

            let failures = try #require(error.flatMap { way.failures(of: $0) }, "\(String(describing: error))")
            #expect(failures.map(\.subject) == ["Track.length"] && failures.first?.objects == [id])
            #expect(try TrackVersions.lengths(at: paths[0], version: 0) == [.string("5")])
            #expect(try TrackVersions.lengths(at: paths[1], version: 0) == [.string("1"), .string("12a")])
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.filter { $0.contains("trial") } == [])
        }
    }

    @Test(arguments: Way.allCases)
    func `stores that fit are migrated and open in their order, each with its own options`(_ way: Way) throws {
        try withTemporaryFolder { folder in
            let paths = ["a", "b", "new", "c"].map { folder.appending(path: $0).path }
            try TrackVersions.makeStore(at: paths[0], ["5"])
            try TrackVersions.makeStore(at: paths[1], ["6"], version: 1)
            try TrackVersions.makeStore(at: paths[3], ["7"])
            let lines = Mutex<[String]>([])
            let progress = MigrationProgress()
            var stores = paths.map { PersistentStoreDescription(path: $0) }
            stores[0].migration = MigrationOptions(backupPath: paths[0] + ".backup", progress: progress)
            stores[1].migration.log = MigrationLog { record in lines.withLock { $0.append(record.description) } }
            stores[2].name = "new"
            stores[3].configurationName = "Music"
            stores[3].migration.backupPath = paths[3] + ".backup"
            stores.insert(.inMemory(entityNames: []), at: 2)

            let container = try way.open(stores)

            let opened = container.persistentStoreCoordinator.persistentStores
            #expect(opened.map(\.path) == [paths[0], paths[1], nil, paths[2], paths[3]])
            #expect(container.persistentStoreCoordinator.persistentStore(named: "new") === opened[3])
            #expect(container.persistentStoreCoordinator.description(of: opened[4])?.configurationName == "Music")
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let lengths = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
                .map { $0[attribute: "length"] }
            #expect(Set(lengths) == [.integer(5), .integer(6), .integer(7)] && lengths.count == 3)
            try container.close()
            #expect(try TrackVersions.lengths(at: paths[0] + ".backup", version: 0) == [.string("5")])
            #expect(try TrackVersions.lengths(at: paths[3] + ".backup", version: 0) == [.string("7")])
            #expect(progress.fractionCompleted == 1)
            #expect(lines.withLock { $0.contains { $0.contains("Track.length: ") } })
            try way.open(stores).close()
        }
    }

    /// The second of two stores, which cannot be opened for another reason than its rows.
    enum Second: CaseIterable {
        case noStore, missingAndReadOnly, unknownConfiguration, unmigrated, readOnly, backupOfFirst, backupIsThere
        case backupOfFirstBySpelling
        case unknownKind, binaryBackupIsThere, damagedBinary, wrongOption, wrongSortOption
        /// A store that has the last version.
        case newestWithWrongOption
    }

    private static func second(
        _ second: Second, at path: String, backup: String
    ) throws -> PersistentStoreDescription {
        var description = PersistentStoreDescription(path: path)
        switch second {
        case .noStore: try Data("a text".utf8).write(to: URL(filePath: path))
        case .missingAndReadOnly: description.isReadOnly = true
        case .unknownConfiguration, .unmigrated, .readOnly, .backupOfFirst, .backupOfFirstBySpelling,
            .backupIsThere, .wrongOption, .wrongSortOption:
            try TrackVersions.makeStore(at: path, ["5"])
        case .newestWithWrongOption: try BTreeStore.open(path: path, model: TrackVersions.model(2)).close()
        case .unknownKind: description.type = StoreType(rawValue: "Unknown")
        case .binaryBackupIsThere:
            description.type = .binary
            try TrackVersions.makeStore(at: path, ["5"], type: .binary)
        case .damagedBinary:
            description.type = .binary
            try Data("a text".utf8).write(to: URL(filePath: path))
        }
        switch second {
        case .unknownConfiguration: description.configurationName = "Musik"
        case .unmigrated: description.migration = .off
        case .readOnly: description.isReadOnly = true
        case .backupOfFirst: description.migration.backupPath = backup
        case .backupOfFirstBySpelling:
            let url = URL(filePath: backup)
            description.migration.backupPath = url.deletingLastPathComponent().path + "/./" + url.lastPathComponent
        case .backupIsThere, .binaryBackupIsThere:
            description.migration.backupPath = path + ".backup"
            try Data("a text".utf8).write(to: URL(filePath: path + ".backup"))
        case .wrongOption, .newestWithWrongOption:
            description.setOption(.string("large"), forKey: .cacheByteCount)
        case .wrongSortOption: description.setOption(.string("large"), forKey: .sortByteCountMax)
        case .noStore, .missingAndReadOnly, .unknownKind, .damagedBinary: break
        }
        return description
    }

    @Test(arguments: Second.allCases, Way.allCases)
    func `the first store is not migrated if the second one cannot be opened`(_ second: Second, _ way: Way) throws {
        try withTemporaryFolder { folder in
            let (path, backup) = (folder.appending(path: "a").path, folder.appending(path: "a.backup").path)
            try TrackVersions.makeStore(at: path, ["5"])
            let first = PersistentStoreDescription(path: path, migration: MigrationOptions(backupPath: backup))
            let other = try Self.second(second, at: folder.appending(path: "b").path, backup: backup)

            let error = #expect(throws: (any Error).self) { try way.open([first, other]).close() }

            #expect(error is ContextError || way != .inferred && error is SchemaMigrationError)
            #expect(try TrackVersions.lengths(at: path, version: 0) == [.string("5")])
            #expect(!FileManager.default.fileExists(atPath: backup))
            try way.open([first]).close()
        }
    }

    @Test(arguments: [Way.inferred, .lightweightPlan], [StoreType.btree, .binary])
    func `two stores with one backup are refused with the kind of the later one`(_ way: Way, _ type: StoreType) throws {
        try withTemporaryFolder { folder in
            let migration = MigrationOptions(backupPath: folder.appending(path: "backup").path)
            let paths = ["a", "b"].map { folder.appending(path: $0).path }
            try TrackVersions.makeStore(at: paths[0], ["5"])
            try TrackVersions.makeStore(at: paths[1], ["6"], type: type)
            let stores = [
                PersistentStoreDescription(path: paths[0], migration: migration),
                PersistentStoreDescription(type: type, path: paths[1], migration: migration),
            ]

            let error = #expect(throws: (any Error).self) { try way.open(stores).close() }

            let caught = try #require(error)
            let kind: String? =
                switch caught {
                case ContextError.store(.invalidOption("backupPath", let kind, _)),
                    SchemaMigrationError.store(.invalidOption("backupPath", let kind, _)):
                    kind
                default: nil
                }
            #expect(kind == type.rawValue, "\(caught)")
        }
    }

    @Test func `rows of a binary file that do not fit are named before another store is migrated`() throws {
        try withTemporaryFolder { folder in
            let paths = ["tree", "binary"].map { folder.appending(path: $0).path }
            try TrackVersions.makeStore(at: paths[0], ["5"])
            try TrackVersions.makeStore(at: paths[1], ["12a"], type: .binary)
            let id = try TrackVersions.withContext(at: paths[1], version: 0, type: .binary) { context in
                try TrackVersions.tracks(context)[0].objectID
            }
            let (path, binary) = (paths[1], PersistentStoreDescription(type: .binary, path: paths[1]))
            let bytes = try Data(contentsOf: URL(filePath: path))

            for stores in [[PersistentStoreDescription(path: paths[0]), binary], [binary]] {
                let error = contextError { try Self.open(stores).close() }
                guard case .store(.migrationRefused(path, let refusal))? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(refusal.failures.first?.objects == [id])
            }
            let coordinator = PersistentStoreCoordinator(managedObjectModel: try TrackVersions.model(2))
            let plan = try coordinator.migrationPlan(for: binary, checkingRows: true)
            #expect(plan.refusal?.failures.first?.objects == [id] && plan.outcome == nil)
            let unread = try coordinator.migrationPlan(for: binary)
            #expect(unread.steps == plan.steps && unread.refusal == nil && unread.outcome == nil)
            #expect(throws: ContextError.self) { try coordinator.migrationPlan(for: .inMemory) }
            #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
            #expect(try TrackVersions.lengths(at: paths[0], version: 0) == [.string("5")])
        }
    }

    @Test func `a binary file that may not be migrated is not opened past the steps of a plan`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "binary").path
            try TrackVersions.makeStore(at: path, ["5"], type: .binary)
            let plan = try TrackVersions.plan(.custom(didMigrate: { _ in Issue.record("the work runs") }))
            let unmigrated = PersistentStoreDescription(type: .binary, path: path, migration: .off)

            let error = contextError { try PersistentContainer(plan, stores: [unmigrated]).close() }

            #expect(error?.code == 134100)
            #expect(try TrackVersions.lengths(at: path, version: 0, type: .binary) == [.string("5")])
        }
    }

    @Test(arguments: Way.allCases)
    func `a trial is cancelled by the progress of its store, and no store is migrated`(_ way: Way) throws {
        try withTemporaryFolder { folder in
            let paths = ["a", "b"].map { folder.appending(path: $0).path }
            for path in paths { try TrackVersions.makeStore(at: path, ["5"]) }
            let progress = MigrationProgress()
            progress.cancel()
            var stores = paths.map { PersistentStoreDescription(path: $0) }
            stores[1].migration.progress = progress

            #expect(throws: (any Error).self) { try way.open(stores).close() }

            for path in paths { #expect(try TrackVersions.lengths(at: path, version: 0) == [.string("5")]) }
            #expect(progress.fractionCompleted == 0)
        }
    }
}
