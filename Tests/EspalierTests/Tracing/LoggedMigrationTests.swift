// The log of migrations: what each level has, who asks for it, and what failures leave in it (DB-03).

import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Espalier

@Suite struct LoggedMigrationTests {
    /// The records of a log.
    private final class Records: Sendable {
        private let list = Mutex([MigrationRecord]())

        func log(_ level: MigrationLog.Level) -> MigrationLog {
            MigrationLog(level) { record in self.list.withLock { $0.append(record) } }
        }

        /// Removes and returns the descriptions of all records.
        func take() -> [String] {
            list.withLock { list in
                defer { list = [] }
                return list.map(\.description)
            }
        }
    }

    private static func model(_ change: (inout EntityDescription) -> Void = { _ in }) throws -> ManagedObjectModel {
        var track = EntityDescription(
            "Track",
            attributes: [AttributeDescription("name", .string), AttributeDescription("seconds", .integer32)])
        change(&track)
        return try ManagedObjectModel(entities: [track])
    }

    /// A closed store with five tracks.
    private static func store(_ folder: URL) throws -> String {
        let path = folder.appending(path: "tracks.espalier").path
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try model())
        let store = try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
        let context = ManagedObjectContext(coordinator)
        for number in 0..<5 {
            let track = try context.insertNewObject(forEntityName: "Track")
            try track.setValue(.string("track \(number)"), forKey: "name")
            try track.setValue(.integer(Int64(number)), forKey: "seconds")
        }
        try context.save()
        try store.close()
        return path
    }

    private static func open(_ path: String, _ model: ManagedObjectModel, _ options: MigrationOptions) throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(PersistentStoreDescription(path: path, migration: options)).close()
    }

    /// The name and the length in the newer version.
    private static func renamed(_ track: inout EntityDescription) {
        (track.attributes[0].name, track.attributes[0].renamingIdentifier) = ("title", "name")
        track.attributes[1].type = .string
    }

    @Test func `a log has the models, each step with its rows, and the end (DB-03)`() throws {
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())
            let newer = try Self.model(Self.renamed)

            try Self.open(path, newer, MigrationOptions(log: records.log(.steps)))

            let lines = records.take()
            try #require(lines.count == 4, "\(lines)")
            let former = try Self.model().versionChecksum.prefix(12)
            #expect(lines[0].hasPrefix("migration of \(path) from model \(former) in the file to "))
            #expect(lines[0].hasSuffix("inferred from names and renaming identifiers"))
            #expect(lines[1].contains("Track.title: ") && lines[1].hasSuffix(", 0 rows"))
            #expect(lines[2].contains("Track.seconds: ") && lines[2].hasSuffix(", 5 rows"))
            #expect(
                lines[3].hasPrefix("  done: 5 rows written, 0 moved, 0 removed, 0 links written, 0 indexes built, "))
            try Self.open(path, newer, MigrationOptions(log: records.log(.matches)))
            #expect(records.take().isEmpty, "a store of the model is not migrated")
        }
    }

    @Test func `the second level has the parts with their time, and the third what continues what (DB-03)`() throws {
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())

            try Self.open(path, try Self.model(Self.renamed), MigrationOptions(log: records.log(.matches)))

            let lines = records.take()
            let matches = lines.filter { $0.hasPrefix("  match: ") }
            #expect(
                matches == [
                    "  match: Track continues Track", "  match: Track.title continues Track.name",
                    "  match: Track.seconds continues Track.seconds",
                ])
            let parts = lines.filter { $0.hasPrefix("  part: ") }
            #expect(
                parts.contains { $0.hasPrefix("  part: rows of Track, 5, ") } && parts.last?.contains("commit") == true)
        }
    }

    @Test func `an index is in the log, migrated or adopted, and so is a trial (DB-03)`() throws {
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())
            let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model(Self.renamed))
            let options = MigrationOptions(log: records.log(.parts))
            _ = try coordinator.migrationPlan(
                for: PersistentStoreDescription(path: path, migration: options), checkingRows: true)
            var lines = records.take()
            #expect(
                lines.first?.hasPrefix("trial of a migration of ") == true && lines.last?.contains("done: 5") == true)

            try Self.open(path, try Self.model { $0.attributes[0].isIndexed = true }, options)

            lines = records.take()
            #expect(lines.first?.hasSuffix("inferred from names and renaming identifiers") == true)
            #expect(lines.contains { $0.hasPrefix("  step: ") && $0.hasSuffix(", 5 rows") }, "\(lines)")
            #expect(
                lines.contains { $0.hasPrefix("  part: index ") } && lines.last?.contains("1 indexes built") == true)

            let unmigrated = MigrationOptions(isAutomatic: false, log: records.log(.parts))
            try Self.open(path, try Self.model { $0.attributes[1].isIndexed = true }, unmigrated)

            lines = records.take()
            #expect(lines.first?.hasSuffix("of the same rows: indexes, constraints and records") == true)
            #expect(
                lines.contains { $0.hasPrefix("  part: index ") } && lines.last?.contains("1 indexes built") == true)
        }
    }

    @Test func `a migration that is refused ends with its reason, and the file is as it was (DB-03)`() throws {
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())
            let smaller = try Self.model { $0.attributes.removeLast() }

            #expect(throws: ContextError.self) {
                try Self.open(path, smaller, MigrationOptions(log: records.log(.steps)))
            }

            let lines = records.take()
            #expect(lines.count == 2 && lines[1].hasPrefix("  not made, the file is as it was, "), "\(lines)")
            #expect(lines[1].contains("Track.seconds"))
        }
    }

    @Test func `plans and mappings are in the log with their numbers and their names (DB-03)`() throws {
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())
            let (first, second) = (try Self.model(), try Self.model { $0.attributes[0].isOptional = false })
            let split = try ManagedObjectModel(entities: [
                EntityDescription("Song", attributes: second.descriptions[0].attributes)
            ])
            let mapping = EntityMapping("Track", to: "Song", where: try FetchPredicate(format: "seconds >= 0"))
            let plan = SchemaMigrationPlan(from: first).then(.lightweight(), to: second)
                .then(.mapped(by: MappingModel([mapping])), to: split)

            _ = try plan.migrate(storeAt: path, log: records.log(.steps))

            let lines = records.take()
            #expect(
                lines.filter { $0.hasPrefix("plan: ") } == [
                    "plan: from version 0 to version 1 of 2", "plan: from version 1 to version 2 of 2",
                ])
            #expect(
                lines.contains { $0.hasSuffix("by the mappings TrackToSong, else inferred from names") }, "\(lines)")
            #expect(lines.contains("  mapping: TrackToSong took 5 objects and made 5"))
            #expect(lines.filter { $0.hasPrefix("  done: ") }.count == 2 && lines.last?.hasPrefix("  done: ") == true)
        }
    }

    @Test func `a mapping that fails leaves its end in the log (DB-03)`() throws {
        struct Failing: EntityMigrationPolicy {
            func end(_ mapping: EntityMapping, _ session: MigrationSession) throws { throw CancellationError() }
        }
        try withTemporaryFolder { folder in
            let (path, records) = (try Self.store(folder), Records())
            let song = try ManagedObjectModel(entities: [
                EntityDescription("Song", attributes: Self.model().descriptions[0].attributes)
            ])
            let mappings = MappingModel([EntityMapping("Track", to: "Song", policy: Failing())])

            #expect(throws: MappingError.self) {
                try mappings.migrate(
                    storeAt: path, from: Self.model(), to: song, MigrationOptions(log: records.log(.steps)))
            }

            #expect(records.take().last?.hasPrefix("  not made, the file is as it was, ") == true)
        }
    }

    @Test func `a process whose environment asks for it writes its migrations to the standard error (DB-03)`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            // SAFETY: the process has one thread yet.
            unsafe setenv("ESPALIER_MIGRATION_LOG", "2", 1)
            try withTemporaryFolder { folder in
                try Self.open(try Self.store(folder), try Self.model(Self.renamed), .automatic)
            }
        }

        let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("espalier: migration of ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("espalier:   part: rows of Track, 5, ") }, "\(lines)")
    }
}
