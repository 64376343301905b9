// The backup of steps with work and by mappings, and of plans of several steps that fail on their way.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct PlanBackupTests {
    private struct Stop: Error {}

    /// Fails after the objects were made.
    private struct Failing: EntityMigrationPolicy {
        func end(_ mapping: EntityMapping, _ session: MigrationSession) throws { throw Stop() }
    }

    private static let plainMapping = MappingModel([EntityMapping("Track", to: "Track")])

    /// Steps that fail at their beginning, on their way and at their end, with and without work, and by mappings.
    private static let failing: [MigrationStage] = [
        .lightweight(), .custom(willMigrate: { _ in throw Stop() }), .custom(willMigrate: { _ in }),
        .custom(willMigrate: TrackVersions.correctLengths, didMigrate: { _ in throw Stop() }),
        .mapped(by: plainMapping),
        .mapped(by: MappingModel([EntityMapping("Track", to: "Track", policy: Failing())])),
    ]

    @Test(arguments: failing.indices)
    func `a step that fails leaves no backup, and the next run makes it under the path (MG-12)`(number: Int) throws {
        try withStorePath { path in
            let backup = path + ".backup"
            try TrackVersions.makeStore(at: path, ["5", "7 s"], version: 1)

            for _ in 0..<2 {
                let error = #expect(throws: SchemaMigrationError.self) {
                    try TrackVersions.plan(Self.failing[number]).migrate(storeAt: path, backupPath: backup)
                }
                guard case .stage(path, from: 1, reached: 1, _)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(!FileManager.default.fileExists(atPath: backup))
            }
            try TrackVersions.withContext(at: path, version: 1) { context in
                try TrackVersions.tracks(context)[0].setValue(.string("6"), forKey: "length")
                try context.save()
            }

            let plan = try TrackVersions.plan(.custom(willMigrate: TrackVersions.correctLengths))
            #expect(try plan.migrate(storeAt: path, backupPath: backup).count == 1)

            #expect(try TrackVersions.lengths(at: backup, version: 1) == [.string("6"), .string("7 s")])
            #expect(try TrackVersions.lengths(at: path, version: 2) == [.integer(6), .integer(7)])
        }
    }

    @Test func `the backup of a plan stays after a later step has failed, and the next runs keep it (MG-12)`() throws {
        try withStorePath { path in
            let backup = path + ".backup"
            try TrackVersions.makeStore(at: path, ["5", "7 s"])
            for _ in 0..<2 {
                let error = #expect(throws: SchemaMigrationError.self) {
                    try TrackVersions.plan(.lightweight()).migrate(storeAt: path, backupPath: backup)
                }
                guard case .stage(path, from: 1, reached: 1, StoreError.migrationRefused)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
            let bytes = try Data(contentsOf: URL(filePath: backup))

            let plan = try TrackVersions.plan(.custom(willMigrate: TrackVersions.correctLengths))
            #expect(try plan.migrate(storeAt: path, backupPath: backup).count == 1)

            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)
            #expect(try TrackVersions.lengths(at: backup, version: 0) == [.string("5"), .string("7 s")])
        }
    }

    @Test func `a store whose plan has left its backup opens with an index that the last version gets later`() throws {
        try withStorePath { path in
            let backup = path + ".backup"
            try TrackVersions.makeStore(at: path, ["5", "7"], version: 1)
            let plan = try TrackVersions.plan(.lightweight())
            try PersistentContainer(plan, at: path, backupPath: backup).close()
            let bytes = try Data(contentsOf: URL(filePath: backup))
            var entities = try TrackVersions.model(2).descriptions
            entities[0].indexes = [.init("byLength", on: [.init("length")])]
            let indexed = try ManagedObjectModel(entities: entities)
            let next = SchemaMigrationPlan(from: try TrackVersions.model(0))
                .then(.lightweight(), to: try TrackVersions.model(1))
                .then(.lightweight(), to: indexed)

            for _ in 0..<2 {
                let progress = MigrationProgress()
                let container = try PersistentContainer(next, at: path, backupPath: backup, progress: progress)
                let context = ManagedObjectContext(container.persistentStoreCoordinator)
                let lengths = try TrackVersions.tracks(context).map { $0[attribute: "length"] }
                #expect(lengths == [.integer(5), .integer(7)])
                try container.close()
            }

            #expect(try BTreeStore.metadata(ofStoreAt: path).model?.descriptions[0].indexes.count == 1)
            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)
        }
    }

    @Test func `the backup of an earlier run does not stand for a store that was changed since (MG-12)`() throws {
        try withStorePath { path in
            let backup = path + ".backup"
            try TrackVersions.makeStore(at: path, ["5", "7 s"])
            let plan = try TrackVersions.plan(.lightweight())
            #expect(throws: SchemaMigrationError.self) { try plan.migrate(storeAt: path, backupPath: backup) }
            try TrackVersions.withContext(at: path, version: 1) { context in
                try TrackVersions.tracks(context)[1].setValue(.string("7"), forKey: "length")
                try context.save()
            }

            let error = #expect(throws: SchemaMigrationError.self) {
                try plan.migrate(storeAt: path, backupPath: backup)
            }

            guard case .stage(path, from: 1, reached: 1, let cause)? = error,
                case .storage(.maintenance(.destinationExists), _)? = cause as? StoreError
            else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try TrackVersions.lengths(at: backup, version: 0) == [.string("5"), .string("7 s")])
            #expect(try plan.migrate(storeAt: path, backupPath: path + ".2").count == 1)
            #expect(try TrackVersions.lengths(at: path + ".2", version: 1) == [.string("5"), .string("7")])
        }
    }
}
