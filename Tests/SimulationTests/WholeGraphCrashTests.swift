// Power losses and failing calls at every write, sync and rename of a save that replaces a whole file: the store is as
// before or as after, never in between, and never missing.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct WholeGraphCrashTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription("Song", attributes: [AttributeDescription("title", .string)])
        ])
    }

    private static func open(_ system: SimulatedFileSystem) throws -> WholeGraphStore {
        try WholeGraphStore(
            GraphFile("store", BinaryGraphFormat(), in: system), type: .binary, model: model())
    }

    private static func insert(_ count: Int, into store: WholeGraphStore) throws {
        var request = SaveRequest()
        let song = store.model.entities[0]
        for number in 0..<count {
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: song.name),
                    values: [.string(String(repeating: "la \(number) ", count: 100))], destinations: []))
        }
        _ = try store.save(request)
    }

    private func change() -> OldOrNew {
        OldOrNew { system in
            let store = try Self.open(system)
            try Self.insert(30, into: store)
            // A second replacement, which changes no row: a power loss during it finds the first one done.
            try store.setMetadata(["step": .integer(1)])
            try store.close()
        } isDone: { system in
            let store = try Self.open(system)
            let count = try store.count(StoreFetch(entity: store.model.entities[0]))
            return count == 50 ? true : count == 20 ? false : nil
        }
    }

    private func make(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try Self.open(system)
        try Self.insert(20, into: store)
        try store.close()
        return system.afterPowerLoss(seed: seed)
    }

    @Test func `a power loss while a file is replaced leaves the former file or the new one (PS-12)`() throws {
        for seed in testSeed(default: 5)..<testSeed(default: 5) + 6 {
            try change().expectWholeAfterPowerLoss(on: try make(seed: seed), seed: seed)
        }
    }

    @Test func `a call that fails while a file is replaced leaves the former file or the new one (PS-12)`() throws {
        try change().expectWholeAfterFailures(on: try make(seed: testSeed(default: 6)), step: 1)
    }
}
