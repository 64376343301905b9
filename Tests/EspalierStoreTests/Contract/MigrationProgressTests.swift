// The progress of migrations, and their cancellation by it.

import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct MigrationProgressTests {
    /// A model whose migration rewrites all albums and builds an index.
    private static func model() throws -> ManagedObjectModel {
        try MigrationLibrary.model { entities in
            entities[1].attributes[2].type = .string
            entities[3].attributes[1].isIndexed = true
        }
    }

    private static func fill(_ path: String, count: Int64) throws {
        try MigrationLibrary.makeStore(at: path)
        let store = try BTreeStore.open(path: path, model: MigrationLibrary.model { _ in })
        var graph = GraphInsertion(store.model)
        for serial in 0..<count { try graph.add(1000 + serial, "Album", ["price": .double(0.5)]) }
        try graph.save(in: store)
        try store.close()
    }

    @Test func `the fraction ascends from 0 to 1, and is 1 only after the commit`() throws {
        try withStorePath { path in
            try Self.fill(path, count: 3000)
            let seen = Mutex<[Double]>([])
            let progress = MigrationProgress { fraction in seen.withLock { $0.append(fraction) } }
            #expect(progress.fractionCompleted == 0)

            let options = MigrationOptions(progress: progress)
            try BTreeStore.open(path: path, model: Self.model(), migration: options).close()

            let fractions = seen.withLock { $0 }
            #expect(progress.fractionCompleted == 1 && fractions.last == 1 && fractions.count > 4)
            #expect(zip(fractions, fractions.dropFirst()).allSatisfy { $0 <= $1 })
            #expect(fractions.dropLast().allSatisfy { (0..<1).contains($0) })
        }
    }

    @Test(arguments: [0.0, 0.2, 0.9])
    func `a migration that is cancelled leaves the store as it was, and can be run again`(at limit: Double) throws {
        try withStorePath { path in
            try Self.fill(path, count: 3000)
            let old = try BTreeStore.openWithStoredModel(path: path)
            let before = try GraphDump(old)
            try old.close()
            let holder = Mutex<MigrationProgress?>(nil)
            let progress = MigrationProgress { if $0 >= limit { holder.withLock { $0 }?.cancel() } }
            holder.withLock { $0 = progress }
            if limit == 0 { progress.cancel() }

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(
                    path: path, model: Self.model(), migration: MigrationOptions(progress: progress))
            }

            guard case .migrationCancelled(path)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(error?.description.contains("open it again") == true)
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(try store.model.descriptions == MigrationLibrary.library() && GraphDump(store) == before)
            #expect(try store.check().isOK)
            try store.close()
            try BTreeStore.open(path: path, model: Self.model()).close()
            holder.withLock { $0 = nil }
        }
    }

    @Test func `an index alone is a migration, with a fraction, a cancellation and a backup`() throws {
        try withStorePath { path in
            try Self.fill(path, count: 3000)
            let (indexed, backup) = (try MigrationLibrary.model { $0[1].attributes[1].isIndexed = true }, path + ".0")
            let holder = Mutex<MigrationProgress?>(nil)
            let cancelled = MigrationProgress { if $0 > 0.2 { holder.withLock { $0 }?.cancel() } }
            holder.withLock { $0 = cancelled }
            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(
                    path: path, model: indexed, migration: MigrationOptions(backupPath: backup, progress: cancelled))
            }
            holder.withLock { $0 = nil }
            guard case .migrationCancelled(path)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(!FileManager.default.fileExists(atPath: backup))

            let seen = Mutex<[Double]>([])
            let progress = MigrationProgress { fraction in seen.withLock { $0.append(fraction) } }
            let options = MigrationOptions(backupPath: backup, progress: progress)
            try BTreeStore.open(path: path, model: indexed, migration: options).close()

            let fractions = seen.withLock { $0 }
            #expect(fractions.count > 4 && fractions.last == 1 && progress.fractionCompleted == 1)
            let former = try BTreeStore.openWithStoredModel(path: backup)
            #expect(former.model.descriptions == MigrationLibrary.library())
            try former.close()
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(try store.model.descriptions == indexed.descriptions && store.check().isOK)
            try store.close()
        }
    }

    @Test func `a step without work can be cancelled before it, and is complete after it`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model { $0[0].attributes.append(AttributeDescription("fee", .double)) }
            let cancelled = MigrationProgress()
            cancelled.cancel()
            #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: model, migration: MigrationOptions(progress: cancelled))
            }

            let progress = MigrationProgress()
            try BTreeStore.open(path: path, model: model, migration: MigrationOptions(progress: progress)).close()

            #expect(progress.fractionCompleted == 1)
        }
    }
}
