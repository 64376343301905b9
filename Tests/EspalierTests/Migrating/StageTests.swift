// Steps with work of the application: the work and the migration are one transaction, and the work may use the store as
// any other code does.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct StageTests {
    /// Tracks with a unique name and a length, which is a whole number in the newer version.
    private static func model(
        isNew: Bool, _ change: (inout EntityDescription) -> Void = { _ in }
    ) throws -> ManagedObjectModel {
        var track = EntityDescription(
            "Track",
            attributes: [
                AttributeDescription("name", .string), AttributeDescription("length", isNew ? .integer32 : .string),
            ], uniquenessConstraints: [["name"]])
        change(&track)
        return try ManagedObjectModel(entities: [track])
    }

    private static func makeStore(at path: String, _ lengths: [String]) throws {
        try withContext(at: path, try model(isNew: false)) { context in
            for (number, length) in lengths.enumerated() { try insert("track \(number)", length, context) }
            try context.save()
        }
    }

    @discardableResult
    private static func insert(
        _ name: String, _ length: String, _ context: ManagedObjectContext
    ) throws -> ManagedObject {
        let track = try context.insertNewObject(forEntityName: "Track")
        try track.setValue(.string(name), forKey: "name")
        try track.setValue(.string(length), forKey: "length")
        return track
    }

    /// Opens the store as it is; throws if it has another model.
    private static func withContext<Answer>(
        at path: String, _ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: model, stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    private static func tracks(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Track", sortKeys: [SortKey("name")]))
    }

    /// The values of all tracks, in the order of their names, in a store of `model`.
    private static func values(of key: String, at path: String, _ model: ManagedObjectModel) throws -> [AttributeValue]
    {
        try withContext(at: path, model) { context in
            try tracks(context).map { track in
                guard case .attribute(let value) = try track.value(forKey: key) else { return .null }
                return value
            }
        }
    }

    private static func lengths(at path: String, isNew: Bool) throws -> [AttributeValue] {
        try values(of: "length", at: path, try model(isNew: isNew))
    }

    /// Lengths without what is no digit.
    private static let correctLengths: MigrationStage.Work = { context in
        for track in try tracks(context) {
            guard case .attribute(.string(let length)) = try track.value(forKey: "length") else { continue }
            try track.setValue(.string(length.filter(\.isNumber)), forKey: "length")
        }
    }

    private static func migrate(_ path: String, _ stage: MigrationStage) throws -> [MigrationPlan] {
        try SchemaMigrationPlan(from: model(isNew: false)).then(stage, to: model(isNew: true)).migrate(storeAt: path)
    }

    @Test func `rows that the newer version forbids undo the work before, and the work after does not run`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path, ["5", "7 s"])
            let runs = Mutex(0)
            let stage = MigrationStage.custom(
                willMigrate: { context in
                    for track in try Self.tracks(context) { try track.setValue(.string("6"), forKey: "length") }
                    try context.save()
                    try Self.tracks(context)[0].setValue(.string("six"), forKey: "length")
                }, didMigrate: { _ in runs.withLock { $0 += 1 } })

            let error = #expect(throws: SchemaMigrationError.self) { try Self.migrate(path, stage) }

            guard case .stage(path, from: 0, reached: 0, StoreError.migrationRefused(path, let refusal))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.failures.map(\.subject) == ["Track.length"] && runs.withLock(\.self) == 0)
            #expect(try Self.lengths(at: path, isNew: false) == [.string("5"), .string("7 s")])
            let plan = try Self.migrate(path, .custom(willMigrate: Self.correctLengths))
            #expect(plan.first?.outcome?.rowsWritten == 2)
            #expect(try Self.lengths(at: path, isNew: true) == [.integer(5), .integer(7)])
        }
    }

    @Test func `work saves often, goes on after a save that failed, reserves IDs, uses metadata and batches`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path, ["5", "7"])
            let stage = MigrationStage.custom(
                willMigrate: { context in
                    let twin = try Self.insert("track 1", "8", context)
                    try Self.tracks(context)[0].setValue(.string("6"), forKey: "length")
                    #expect(throws: ContextError.self) { try context.save() }
                    try twin.setValue(.string("track 2"), forKey: "name")
                    try context.save()
                    let last = try Self.insert("track 3", "9", context)
                    try context.obtainPermanentIDs(for: [last])
                    let id = last.objectID
                    try context.save()
                    #expect(last.objectID == id)
                    let store = context.persistentStoreCoordinator.persistentStores[0]
                    try store.setMetadata(["step": .integer(1)])
                    #expect(try store.metadata() == ["step": .integer(1)])
                },
                didMigrate: { context in
                    let store = context.persistentStoreCoordinator.persistentStores[0]
                    #expect(try store.metadata() == ["step": .integer(1)])
                    let request = BatchUpdateRequest(
                        entityName: "Track", predicate: try FetchPredicate(format: "length > 7"),
                        propertiesToUpdate: ["length": 70])
                    #expect(try context.execute(request).count == 2)
                })

            _ = try Self.migrate(path, stage)

            let lengths = try Self.lengths(at: path, isNew: true)
            #expect(lengths == [.integer(6), .integer(7), .integer(70), .integer(70)])
            let store = try BTreeStore.open(path: path, model: Self.model(isNew: true))
            #expect(try store.check().isOK && store.metadata() == ["step": .integer(1)])
            try store.close()
        }
    }

    @Test func `values that the newer version requires can come from the work after, and are checked then`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path, ["5", "7"])
            let newer = try Self.model(isNew: true) {
                $0.attributes.append(AttributeDescription("rating", .integer16, isOptional: false))
                $0.relationships.append(RelationshipDescription("start", to: "Track", isOptional: false))
            }
            func plan(ratedCount: Int) throws -> SchemaMigrationPlan {
                SchemaMigrationPlan(from: try Self.model(isNew: false)).then(
                    .custom(didMigrate: { context in
                        let tracks = try Self.tracks(context)
                        for track in tracks.prefix(ratedCount) {
                            try track.setValue(.integer(3), forKey: "rating")
                            try track.setValue(.toOne(tracks[0]), forKey: "start")
                        }
                    }), to: newer)
            }

            #expect(throws: SchemaMigrationError.self) { try plan(ratedCount: 1).migrate(storeAt: path) }
            #expect(try Self.lengths(at: path, isNew: false) == [.string("5"), .string("7")])
            _ = try plan(ratedCount: 2).migrate(storeAt: path)

            #expect(try Self.values(of: "rating", at: path, newer) == [.integer(3), .integer(3)])
        }
    }

    @Test func `the work before sees the indexes of its version, and the newer version keeps them complete`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path, ["5", "7"])
            let (first, second) = (
                try Self.model(isNew: false) { $0.attributes[1].isIndexed = true },
                try Self.model(isNew: true) { $0.attributes[1].isIndexed = true }
            )
            let stage = MigrationStage.custom(willMigrate: { context in
                for track in try Self.tracks(context) { try track.setValue(.string("6"), forKey: "length") }
                try Self.insert("third", "9", context)
                try context.save()
                let same = FetchRequest<ManagedObject>(
                    entityName: "Track", predicate: try FetchPredicate(format: "length == '6'"))
                #expect(try context.count(for: same) == 2)
            })

            _ = try SchemaMigrationPlan(from: first).then(stage, to: second).migrate(storeAt: path)

            let store = try BTreeStore.open(path: path, model: second)
            let report = try store.check()
            #expect(report.isOK && report.rowCounts["Track"] == 3, "\(report.findings)")
            try store.close()
            let same = FetchRequest<ManagedObject>(
                entityName: "Track", predicate: try FetchPredicate(format: "length == 6"))
            let count = try Self.withContext(at: path, second) { try $0.count(for: same) }
            #expect(count == 2)
        }
    }

    @Test func `the backup of a plan is the store before its first step (MG-12)`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path, ["5", "7 s"])
            let third = try Self.model(isNew: true) { $0.attributes.append(AttributeDescription("note", .string)) }
            let plan = SchemaMigrationPlan(from: try Self.model(isNew: false))
                .then(.custom(willMigrate: Self.correctLengths), to: try Self.model(isNew: true))
                .then(.lightweight(), to: third)

            #expect(try plan.migrate(storeAt: path, backupPath: path + ".backup").count == 2)
            #expect(try plan.migrate(storeAt: path, backupPath: path + ".none").isEmpty)

            #expect(try Self.lengths(at: path + ".backup", isNew: false) == [.string("5"), .string("7 s")])
            #expect(!FileManager.default.fileExists(atPath: path + ".none"))
            #expect(try Self.values(of: "note", at: path, third) == [.null, .null])
        }
    }

    /// Four versions with lengths that are texts; the first two differ only in whether an element of a composite must
    /// have a value, so that their difference changes no row.
    private static func versions() throws -> [ManagedObjectModel] {
        try (0..<4).map { version in
            try model(isNew: false) { track in
                let element = AttributeDescription("x", .double, isOptional: version == 0)
                track.attributes.append(AttributeDescription("place", .composite, elements: [element]))
                for number in 1..<max(version, 1) {
                    track.attributes.append(AttributeDescription("note\(number)", .string))
                }
            }
        }
    }

    @Test(arguments: 0..<8)
    func `a plan makes one backup, before the first step that changes the file (MG-12)`(stepsWithWork: Int) throws {
        try withStorePath { path in
            let versions = try Self.versions()
            try Self.withContext(at: path, versions[0]) { context in
                try Self.insert("track", "1", context)
                try context.save()
            }
            #expect(ModelDifference(from: versions[0], to: versions[1]).changes.map(\.cost) == [.check])
            var plan = SchemaMigrationPlan(from: versions[0])
            for (number, version) in versions.dropFirst().enumerated() {
                let hasWork = stepsWithWork >> number & 1 == 1
                let work: MigrationStage.Work = { context in
                    let track = try Self.tracks(context)[0]
                    guard case .attribute(.string(let length)) = try track.value(forKey: "length") else { return }
                    try track.setValue(.string("\(length)+"), forKey: "length")
                }
                plan = plan.then(hasWork ? .custom(willMigrate: work) : .lightweight(), to: version)
            }

            #expect(try plan.migrate(storeAt: path, backupPath: path + ".backup").count == 3)

            let backup = try Self.values(of: "length", at: path + ".backup", versions[0])
            #expect(backup == [.string("1")])
            let length = "1" + String(repeating: "+", count: stepsWithWork.nonzeroBitCount)
            #expect(try Self.values(of: "length", at: path, versions[3]) == [.string(length)])
            #expect(try Self.values(of: "note2", at: path, versions[3]) == [.null])
        }
    }

    @Test func `a container that takes a plan makes the backup that is asked for of a store that it migrates`() throws {
        try withStorePath { path in
            let plan = SchemaMigrationPlan(from: try Self.model(isNew: false))
                .then(.custom(willMigrate: Self.correctLengths), to: try Self.model(isNew: true))
            let backup = path + ".backup"
            // There is no store yet.
            try PersistentContainer(plan, at: path + ".new", backupPath: backup).close()
            #expect(!FileManager.default.fileExists(atPath: backup))
            try Self.makeStore(at: path, ["5", "7 s"])

            for isMigrated in [false, true] {
                let container = try PersistentContainer(plan, at: path, backupPath: isMigrated ? path + ".2" : backup)
                let context = ManagedObjectContext(container.persistentStoreCoordinator)
                #expect(try Self.tracks(context).map { $0[attribute: "length"] } == [.integer(5), .integer(7)])
                try container.close()
            }

            #expect(try Self.lengths(at: backup, isNew: false) == [.string("5"), .string("7 s")])
            #expect(!FileManager.default.fileExists(atPath: path + ".2"))
        }
    }

    @Test func `numbers of destinations that the newer version allows can come from the work after`() throws {
        try withStorePath { path in
            func model(_ maximum: Int) throws -> ManagedObjectModel {
                try Self.model(isNew: false) { track in
                    track.relationships.append(
                        RelationshipDescription("heirs", to: "Track", .toMany, maxCount: maximum))
                }
            }
            let (first, second) = (try model(0), try model(1))
            try Self.withContext(at: path, first) { context in
                let tracks = try (0..<3).map { try Self.insert("track \($0)", "1", context) }
                try tracks[0].setValue(.toMany([tracks[1], tracks[2]]), forKey: "heirs")
                try tracks[1].setValue(.toMany([tracks[2]]), forKey: "heirs")
                try context.save()
            }
            let start = SchemaMigrationPlan(from: first)

            let error = #expect(throws: SchemaMigrationError.self) {
                try start.then(.custom(didMigrate: { _ in }), to: second).migrate(storeAt: path)
            }
            #expect(error?.description.contains("at most 1 object, but 1 row (Track/1) leads to more") == true)
            _ = try start.then(
                .custom(didMigrate: { context in
                    let tracks = try Self.tracks(context)
                    try tracks[0].setValue(.toMany([tracks[2]]), forKey: "heirs")
                }), to: second
            ).migrate(storeAt: path)

            try Self.withContext(at: path, second) { context in
                let tracks = try Self.tracks(context)
                #expect(try tracks[0].value(forKey: "heirs") == .toMany([tracks[2]]))
            }
        }
    }

    @Test func `the log has the work as parts, and the error of the work as the end (DB-03)`() throws {
        struct Stop: Error {}
        try withStorePath { path in
            try Self.makeStore(at: path, ["5"])
            let lines = Mutex<[String]>([])
            func migrate(_ didMigrate: @escaping MigrationStage.Work) throws {
                let log = MigrationLog(.parts) { record in lines.withLock { $0.append(record.description) } }
                let stage = MigrationStage.custom(willMigrate: Self.correctLengths, didMigrate: didMigrate)
                _ = try SchemaMigrationPlan(from: Self.model(isNew: false)).then(stage, to: Self.model(isNew: true))
                    .migrate(storeAt: path, log: log)
            }

            #expect(throws: SchemaMigrationError.self) { try migrate { _ in throw Stop() } }
            let last = lines.withLock(\.last)
            #expect(last?.hasPrefix("  not made, the file is as it was, ") == true && last?.contains("Stop") == true)
            lines.withLock { $0 = [] }
            try migrate { _ in }

            let parts = lines.withLock { $0.filter { $0.contains("  part: work ") } }
            #expect(parts.count == 2 && parts.first?.contains("work before the migration") == true, "\(parts)")
            #expect(lines.withLock(\.last)?.hasPrefix("  done: 1 rows written") == true)
        }
    }
}
