// Power losses and failing calls at every write, sync and rename of a binary file's migration with a backup: the file
// has the old model, and the next migration makes or finds the backup, or it has the new model and the whole backup.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct BinaryMigrationCrashTests {
    private static let backedUp = MigrationOptions(backupPath: "backup")

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        let attributes = ["title", "author"].prefix(isNew ? 2 : 1).map { AttributeDescription($0, .string) }
        return try ManagedObjectModel(entities: [EntityDescription("Song", attributes: attributes)])
    }

    private static func open(_ system: SimulatedFileSystem, isNew: Bool) throws -> WholeGraphStore {
        try WholeGraphStore.openBinary(
            StoreOpening(.binary, model: model(isNew: isNew), path: "store", migration: backedUp), in: system)
    }

    /// A file of the old model, and its bytes.
    private func make(seed: UInt64) throws -> (system: SimulatedFileSystem, bytes: [UInt8]) {
        let system = SimulatedFileSystem(seed: seed)
        let store = try Self.open(system, isNew: false)
        var request = SaveRequest()
        for number in 0..<20 {
            let title = String(repeating: "la \(number) ", count: 100)
            request.insertions.append(
                .init(id: ObjectID(temporaryFor: "Song"), values: [.string(title)], destinations: []))
        }
        _ = try store.save(request)
        try store.close()
        let durable = system.afterPowerLoss(seed: seed)
        return (durable, try GraphFile.bytes(ofFileAt: "store", in: durable))
    }

    /// The migration of a file with these bytes.
    private func change(_ bytes: [UInt8]) -> OldOrNew {
        OldOrNew { system in
            let store = try Self.open(system, isNew: true)
            // A second replacement: a power loss during it finds the migration done.
            try store.setMetadata(["step": .integer(1)])
            try store.close()
        } isDone: { system in
            let found = try GraphFile.bytes(ofFileAt: "store", in: system)
            let isOld = found == bytes
            let store = try Self.open(system, isNew: true)
            let count = try store.count(StoreFetch(entity: store.model.entities[0]))
            try store.close()
            let backup = try GraphFile.bytes(ofFileAt: "backup", in: system)
            return count == 20 && backup == bytes ? !isOld : nil
        }
    }

    @Test func `a power loss while a binary file is migrated leaves the old model or the new one with the backup`()
        throws
    {
        for seed in testSeed(default: 15)..<testSeed(default: 15) + 4 {
            let (system, bytes) = try make(seed: seed)
            try change(bytes).expectWholeAfterPowerLoss(on: system, seed: seed)
        }
    }

    @Test func `a call that fails while a binary file is migrated leaves the old model or the new one with the backup`()
        throws
    {
        let (system, bytes) = try make(seed: testSeed(default: 16))
        try change(bytes).expectWholeAfterFailures(on: system, step: 1)
    }
}
