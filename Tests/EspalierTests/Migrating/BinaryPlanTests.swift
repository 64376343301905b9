// Plans of versions for binary files: all steps are one change of the file, and nothing else stays beside it.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct BinaryPlanTests {
    private struct Stop: Error {}

    /// Fails after the objects were made.
    private struct Failing: EntityMigrationPolicy {
        func end(_ mapping: EntityMapping, _ session: MigrationSession) throws { throw Stop() }
    }

    /// The names of the files beside the store, and the bytes of the store.
    private struct Folder: Equatable {
        let names: [String]
        let bytes: Data

        init(of path: String) throws {
            let url = URL(filePath: path)
            names = try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).sorted()
            bytes = try Data(contentsOf: url)
        }
    }

    private static func described(
        _ path: String, _ migration: MigrationOptions = .automatic
    ) -> PersistentStoreDescription {
        PersistentStoreDescription(type: .binary, path: path, migration: migration)
    }

    private static func ids(_ context: ManagedObjectContext) throws -> [String] {
        try TrackVersions.tracks(context).map { $0.objectID.uriRepresentation }
    }

    @Test func `a plan brings a binary file to its last version, and objects keep their IDs, in work too (MG-12)`()
        throws
    {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s"], type: .binary)
            let (ids, former) = try TrackVersions.withContext(at: path, version: 0, type: .binary) { context in
                (try Self.ids(context), try Folder(of: path).bytes)
            }
            let seen = Mutex<[[String]]>([])
            let look: MigrationStage.Work = { context in
                let ids = try Self.ids(context)
                seen.withLock { $0.append(ids) }
            }
            let plan = try TrackVersions.plan(
                .custom(
                    willMigrate: { context in
                        try look(context)
                        try TrackVersions.correctLengths(context)
                    }, didMigrate: look))
            let progress = MigrationProgress()
            let migration = MigrationOptions(backupPath: path + ".backup", progress: progress)

            let container = try PersistentContainer(plan, stores: [Self.described(path, migration)])

            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            #expect(try TrackVersions.tracks(context).map { $0[attribute: "length"] } == [.integer(5), .integer(7)])
            #expect(try Self.ids(context) == ids && seen.withLock(\.self) == [ids, ids])
            #expect(progress.fractionCompleted == 1)
            try container.close()
            #expect(try Folder(of: path).names == ["test.espalier", "test.espalier.backup"])
            #expect(try Data(contentsOf: URL(filePath: path + ".backup")) == former)
            let newest = try Folder(of: path)
            #expect(try plan.migrate(storeAt: path, backupPath: path + ".backup").isEmpty)
            #expect(try Folder(of: path) == newest, "a file of the last version stays as it is")
        }
    }

    /// Tracks and albums; the newer model makes jingles of the short tracks, and calls the text of an album title.
    private static func albums(isNew: Bool) throws -> ManagedObjectModel {
        let texts = [AttributeDescription("name", .string), AttributeDescription("seconds", .integer32)]
        var title = AttributeDescription(isNew ? "title" : "text", .string)
        if isNew { title.renamingIdentifier = "text" }
        let jingles = isNew ? [EntityDescription("Jingle", attributes: texts)] : []
        return try ManagedObjectModel(
            entities: [EntityDescription("Album", attributes: [title]), EntityDescription("Track", attributes: texts)]
                + jingles)
    }

    /// Saves an album and three tracks, of which two are short; returns the ID of the album.
    private static func makeAlbums(at path: String) throws -> String {
        let made = try PersistentContainer(model: try albums(isNew: false), stores: [described(path)])
        let context = ManagedObjectContext(made.persistentStoreCoordinator)
        for seconds in [20, 200, 30] as [Int64] {
            let track = try context.insertNewObject(forEntityName: "Track")
            try track.setValue(.integer(seconds), forKey: "seconds")
        }
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue(.string("first"), forKey: "text")
        try context.save()
        let id = album.objectID.uriRepresentation
        try made.close()
        return id
    }

    /// Makes jingles of short tracks.
    private static func jingles(
        _ policy: any EntityMigrationPolicy = PlainMigrationPolicy()
    ) throws -> MappingModel {
        MappingModel([
            EntityMapping("Track", to: "Track", where: try FetchPredicate(format: "seconds >= 60")),
            EntityMapping("Track", to: "Jingle", where: try FetchPredicate(format: "seconds < 60"), policy: policy),
        ])
    }

    @Test func `mappings alone migrate a binary file, or leave it as it was and nothing beside it (MG-06)`() throws {
        try withStorePath { path in
            _ = try Self.makeAlbums(at: path)
            let (older, newer) = (try Self.albums(isNew: false), try Self.albums(isNew: true))
            let (before, backup) = (try Folder(of: path), path + ".backup")
            let progress = MigrationProgress()

            let tried = try Self.jingles().migrationPlan(storeAt: path, from: older, to: newer)
            let failed = #expect(throws: MappingError.self) {
                try Self.jingles(Failing()).migrate(
                    storeAt: path, from: older, to: newer, MigrationOptions(backupPath: backup))
            }
            let left = try Folder(of: path)
            let done = try Self.jingles().migrate(
                storeAt: path, from: older, to: newer, MigrationOptions(backupPath: backup, progress: progress))

            #expect(failed?.code == 134170 && left == before)
            #expect(tried.mappings == done.mappings && done.mappings.map(\.createdCount) == [1, 2])
            #expect(try Folder(of: path).names == ["test.espalier", "test.espalier.backup"])
            #expect(try Data(contentsOf: URL(filePath: backup)) == before.bytes)
            #expect(progress.fractionCompleted == 1)
            let again = #expect(throws: MappingError.self) {
                try Self.jingles().migrate(storeAt: path, from: older, to: newer)
            }
            guard case .store(.incompatibleModel(path, _))? = again else {
                Issue.record("\(String(describing: again))")
                return
            }
        }
    }

    @Test func `an entity of a binary file is split by mappings, and a property gets another name (MG-06)`() throws {
        try withStorePath { path in
            let (older, newer) = (try Self.albums(isNew: false), try Self.albums(isNew: true))
            let id = try Self.makeAlbums(at: path)

            let done = try SchemaMigrationPlan(from: older).then(.mapped(by: try Self.jingles()), to: newer)
                .migrate(storeAt: path)

            #expect(done.map { $0.mappings.map(\.createdCount) } == [[1, 2]])
            let opened = try PersistentContainer(model: newer, stores: [Self.described(path, .off)])
            let after = ManagedObjectContext(opened.persistentStoreCoordinator)
            func seconds(_ entity: String) throws -> Set<AttributeValue> {
                Set(try after.fetch(FetchRequest<ManagedObject>(entityName: entity)).map { $0[attribute: "seconds"] })
            }
            #expect(try seconds("Track") == [.integer(200)])
            #expect(try seconds("Jingle") == [.integer(20), .integer(30)])
            let albums = try after.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
            #expect(albums.map { $0[attribute: "title"] } == [.string("first")])
            #expect(albums.map { $0.objectID.uriRepresentation } == [id])
            try opened.close()
        }
    }

    /// Last steps that fail at their beginning, on their way and at their end, with and without work, and by mappings.
    private static let failing: [MigrationStage] = [
        .lightweight(), .custom(willMigrate: { _ in throw Stop() }), .custom(willMigrate: { _ in }),
        .custom(willMigrate: TrackVersions.correctLengths, didMigrate: { _ in throw Stop() }),
        .mapped(by: MappingModel([EntityMapping("Track", to: "Track")])),
        .mapped(by: MappingModel([EntityMapping("Track", to: "Track", policy: Failing())])),
    ]

    @Test(arguments: failing.indices)
    func `a step that fails leaves a binary file as it was before the first step, and nothing beside it (MG-12)`(
        number: Int
    ) throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s"], type: .binary)
            let before = try Folder(of: path)

            let error = #expect(throws: SchemaMigrationError.self) {
                try TrackVersions.plan(Self.failing[number]).migrate(storeAt: path, backupPath: path + ".backup")
            }

            guard case .stage(path, from: 1, reached: 0, let cause)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            switch cause {
            case StoreError.migrationRefused(let refused, _), MappingError.store(.migrationRefused(let refused, _)):
                #expect(refused == path, "the error is about the store, and not about a file that is gone")
            default: break
            }
            #expect(try Folder(of: path) == before)
        }
    }

    @Test func `a plan that is cancelled after its last step leaves a binary file as it was`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5"], type: .binary)
            let before = try Folder(of: path)
            let cancelled = Mutex<MigrationProgress?>(nil)
            let progress = MigrationProgress { fraction in
                // Two of three parts: both steps, and not the replacement of the file.
                if fraction > 0.665 { cancelled.withLock { $0 }?.cancel() }
            }
            cancelled.withLock { $0 = progress }

            let error = #expect(throws: SchemaMigrationError.self) {
                try TrackVersions.plan(.lightweight()).migrate(
                    storeAt: path, backupPath: path + ".backup", progress: progress)
            }

            guard case .stage(path, from: 1, reached: 0, StoreError.migrationCancelled(path))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Folder(of: path) == before && progress.fractionCompleted < 1)
        }
    }

    @Test func `the trial of a plan names the rows of a binary file by their IDs, and leaves nothing (SD-30)`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s"], type: .binary)
            let before = try Folder(of: path)
            let id = try TrackVersions.withContext(at: path, version: 0, type: .binary) { context in
                try TrackVersions.tracks(context)[1].objectID
            }

            let refused = try TrackVersions.plan(.lightweight()).migrationPlan(storeAt: path)
            let plan = try TrackVersions.plan(.custom(willMigrate: TrackVersions.correctLengths))
            let tried = try plan.migrationPlan(storeAt: path)

            #expect(refused.count == 2 && refused.last?.refusal?.failures.first?.objects == [id])
            #expect(try Folder(of: path) == before)
            let done = try plan.migrate(storeAt: path)
            #expect(tried.count == 2 && tried.map(\.outcome) == done.map(\.outcome))
            #expect(try TrackVersions.lengths(at: path, version: 2, type: .binary) == [.integer(5), .integer(7)])
        }
    }

    @Test func `a file that is no backup refuses the plan of a binary file before its work, and stays`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5"], type: .binary)
            try Data("a text".utf8).write(to: URL(filePath: path + ".backup"))
            let before = try Folder(of: path)
            let plan = try TrackVersions.plan(.custom(willMigrate: { _ in Issue.record("the work runs") }))

            let error = #expect(throws: SchemaMigrationError.self) {
                try plan.migrate(storeAt: path, backupPath: path + ".backup")
            }

            guard case .store(.storage(.maintenance(.destinationExists), _))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Folder(of: path) == before)
        }
    }

    @Test func `the files that a plan writes beside a binary file have its permissions`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5"], type: .binary)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let folder = URL(filePath: path).deletingLastPathComponent().path
            let found = Mutex<[String]>([])
            let look: MigrationStage.Work = { _ in
                for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                    let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
                    let permissions = attributes[.posixPermissions].map { "\($0)" } ?? "none"
                    found.withLock { $0.append(permissions) }
                }
            }

            _ = try TrackVersions.plan(.custom(didMigrate: look)).migrate(storeAt: path)

            // The store and its tree at least.
            #expect(found.withLock { $0.count > 1 && $0.allSatisfy { $0 == "\(0o600)" } })
            #expect(try Folder(of: path).names == ["test.espalier"])
        }
    }

    @Test(arguments: [["5", "6"], ["5", "6 s"]])
    func `a binary file and a B-tree file are both migrated by a plan, or none of them is (SD-13)`(
        lengths: [String]
    ) throws {
        try withTemporaryFolder { folder in
            let paths = ["tree", "binary"].map { folder.appending(path: $0).path }
            try TrackVersions.makeStore(at: paths[0], [lengths[0]])
            try TrackVersions.makeStore(at: paths[1], [lengths[1]], type: .binary)
            let before = try paths.map { try Folder(of: $0) }
            let stores = [PersistentStoreDescription(path: paths[0]), Self.described(paths[1])]
            let plan = try TrackVersions.plan(.lightweight())

            guard lengths[1] == "6" else {
                let error = #expect(throws: SchemaMigrationError.self) {
                    try PersistentContainer(plan, stores: stores).close()
                }
                if case .stage(let refused, from: 1, reached: 0, StoreError.migrationRefused)? = error {
                    #expect(refused == paths[1])
                } else {
                    Issue.record("\(String(describing: error))")
                }
                #expect(try TrackVersions.lengths(at: paths[0], version: 0) == [.string("5")])
                #expect(try Folder(of: paths[1]) == before[1])
                return
            }
            try PersistentContainer(plan, stores: stores).close()
            #expect(try TrackVersions.lengths(at: paths[0], version: 2) == [.integer(5)])
            #expect(try TrackVersions.lengths(at: paths[1], version: 2, type: .binary) == [.integer(6)])
            #expect(try Folder(of: paths[1]).names == before[1].names)
        }
    }
}
