// Power losses and failing calls at every write, sync and rename of a plan's step for a binary file, with the tree
// beside it: the file has the old bytes, or the newer model with all changes of the step, and the whole backup.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct BinaryPlanCrashTests {
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_MIGRATION_STEP", default: 3)
    private static let songCount = 20

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        let attributes = ["title", "author"].prefix(isNew ? 2 : 1).map { AttributeDescription($0, .string) }
        return try ManagedObjectModel(entities: [EntityDescription("Song", attributes: attributes)])
    }

    private static func opening(isNew: Bool, _ migration: MigrationOptions) throws -> StoreOpening {
        StoreOpening(.binary, model: try model(isNew: isNew), path: "store", migration: migration)
    }

    /// A file of the older model, and its bytes.
    private func make(seed: UInt64) throws -> (system: SimulatedFileSystem, bytes: [UInt8]) {
        let system = SimulatedFileSystem(seed: seed)
        let store = try WholeGraphStore.openBinary(try Self.opening(isNew: false, .off), in: system)
        var request = SaveRequest()
        for number in 0..<Self.songCount {
            let title = String(repeating: "la \(number) ", count: 50)
            request.insertions.append(
                .init(id: ObjectID(temporaryFor: "Song"), values: [.string(title)], destinations: []))
        }
        _ = try store.save(request)
        try store.close()
        let durable = system.afterPowerLoss(seed: seed)
        return (durable, try GraphFile.bytes(ofFileAt: "store", in: durable))
    }

    /// Gives every song an author after the migration.
    private static let stage = MigrationStage.custom(didMigrate: { context in
        for song in try context.fetch(FetchRequest<ManagedObject>(entityName: "Song")) {
            try song.setValue(.string("nobody"), forKey: "author")
        }
    })

    /// Does the work of a plan with one step.
    private static func migrate(_ system: SimulatedFileSystem) throws {
        let options = MigrationOptions(backupPath: "backup")
        let tree = try GraphFileTree(of: try opening(isNew: true, options), in: system)
        defer { tree.remove() }
        var small = DatabaseOptions.small
        small.applicationID = BTreeStore.applicationID
        let database = try Database.open(tree.path, in: system, options: small)
        let (older, newer) = (try model(isNew: false), try model(isNew: true))
        let open = try StagedMigration.begin(in: database, nil, from: older, to: newer, .automatic)
        _ = try stage.migrate(open)
        try tree.replaceFile(newer, backupPath: "backup", options: small)
    }

    /// The step on a file with these bytes.
    private func change(_ bytes: [UInt8]) -> OldOrNew {
        OldOrNew { system in
            try Self.migrate(system)
        } isDone: { system in
            let backup = system.contents(of: "backup")
            guard backup == nil || backup == bytes else { return nil }
            guard try GraphFile.bytes(ofFileAt: "store", in: system) != bytes else { return false }
            let store = try WholeGraphStore.openBinary(try Self.opening(isNew: true, .off), in: system)
            defer { try? store.close() }
            let entity = try #require(store.model.entity(named: "Song"))
            let author = try #require(entity.attribute(named: "author")).slot
            let rows = try store.snapshot().fetch(StoreFetch(entity: entity))
            let isWhole = rows.count == Self.songCount && rows.allSatisfy { $0.value(at: author) == .string("nobody") }
            return isWhole && backup == bytes ? true : nil
        }
    }

    @Test func `a power loss while a plan migrates a binary file leaves the old file or the new one with the backup`()
        throws
    {
        for seed in testSeed(default: 45)..<testSeed(default: 45) + 2 {
            print("ESPALIER_SEED=\(seed)")
            let (system, bytes) = try make(seed: seed)
            try change(bytes).expectWholeAfterPowerLoss(on: system, seed: seed)
        }
    }

    @Test func `a call that fails while a plan migrates a binary file leaves the old file or the new one`()
        throws
    {
        let (system, bytes) = try make(seed: testSeed(default: 46))
        try change(bytes).expectWholeAfterFailures(on: system, step: Self.step)
        let whole = system.afterKill()
        try Self.migrate(whole)
        #expect(whole.paths == ["backup", "store"], "the tree is gone, with its log")
    }
}
