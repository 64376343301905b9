// The options of a description whose store a plan migrates: those of its work, and the wait for a process that writes
// the file.

import Dispatch
import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct PlanOptionTests {
    /// The options that a store shows.
    private struct Shown: Hashable {
        let cachePageCount: Int
        let sortByteCount: Int

        init(_ store: any PersistentStore) throws {
            let tree = try #require(store as? BTreeStore)
            (cachePageCount, sortByteCount) = (tree.statistics.cachePageCapacity, tree.sortByteCountMax)
        }
    }

    /// Gives the contexts of a mapping to a closure.
    private struct Watching: EntityMigrationPolicy {
        let watch: MigrationStage.Work

        func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {
            try watch(session.sourceContext)
            try watch(session.destinationContext)
        }
    }

    /// The kinds of steps to the last version.
    enum Step: CaseIterable {
        case lightweight, custom, mapped

        /// A step that gives its contexts to a closure, if it has any.
        func stage(_ watch: @escaping MigrationStage.Work) -> MigrationStage {
            switch self {
            case .lightweight: .lightweight()
            case .custom: .custom(willMigrate: watch, didMigrate: watch)
            case .mapped:
                .mapped(by: MappingModel([EntityMapping("Track", to: "Track", policy: Watching(watch: watch))]))
            }
        }
    }

    /// Locks a store as another process does that writes it: by other means than the engine's.
    private static func lock(_ path: String) throws(StorageError) -> any StorageFile {
        let file = try PosixFileSystem.shared.open(path, role: .store, mode: .readWrite)
        try file.lockForWriting()
        return file
    }

    @Test(arguments: [Step.custom, .mapped], [1, 2])
    func `the work of a step uses its store with the options of the description, tried and carried out (PS-18)`(
        _ step: Step, storeCount: Int
    ) throws {
        try withTemporaryFolder { folder in
            let paths = ["a", "b"].prefix(storeCount).map { folder.appending(path: $0).path }
            for path in paths { try TrackVersions.makeStore(at: path, ["5"]) }
            let shown = Mutex<[Shown]>([])
            let plan = try TrackVersions.plan(
                step.stage { context in
                    for store in context.persistentStoreCoordinator.persistentStores {
                        let options = try Shown(store)
                        shown.withLock { $0.append(options) }
                    }
                })
            let stores = paths.map { path in
                var description = PersistentStoreDescription(path: path)
                description.setOption(.integer(1 << 20), forKey: .cacheByteCount)
                description.setOption(.integer(8192), forKey: .sortByteCountMax)
                return description
            }

            let container = try PersistentContainer(plan, stores: stores)

            let opened = try container.persistentStoreCoordinator.persistentStores.map { try Shown($0) }
            try container.close()
            #expect(Set(shown.withLock { $0 }) == Set(opened))
            // Two of each run; each of several stores is tried first.
            #expect(shown.withLock { $0.count } == (storeCount == 1 ? 2 : 8))
            let plain = try BTreeStore.open(path: paths[0], model: TrackVersions.model(2))
            let usual = try Shown(plain)
            try plain.close()
            for options in opened {
                #expect(options.sortByteCount == 8192 && usual.sortByteCount != 8192)
                #expect(options.cachePageCount != usual.cachePageCount)
            }
        }
    }

    @Test(arguments: Step.allCases)
    func `a plan waits for a process that writes a store, before each step, if its options say so (PS-18, PS-26)`(
        _ step: Step
    ) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try TrackVersions.makeStore(at: path, ["5"])
            let plan = try TrackVersions.plan(step.stage { _ in })
            let lockCount = Mutex(0)
            var store = PersistentStoreDescription(path: path)
            store.migration.log = MigrationLog { record in
                // Another process writes the store when a step begins.
                guard case .stage = record, let file = try? Self.lock(path) else { return }
                lockCount.withLock { $0 += 1 }
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { try? file.close() }
            }
            store.setOption(.integer(60), forKey: .timeout)
            let first = try Self.lock(path)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { try? first.close() }

            try PersistentContainer(plan, stores: [store]).close()

            #expect(lockCount.withLock { $0 } == 2)
            #expect(try TrackVersions.lengths(at: path, version: 2) == [.integer(5)])
        }
    }

    @Test(arguments: Step.allCases)
    func `a plan without a wait is refused while a process writes the store, and leaves it as it was`(
        _ step: Step
    ) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try TrackVersions.makeStore(at: path, ["5"], version: 1)
            let plan = try TrackVersions.plan(step.stage { _ in Issue.record("the work runs") })
            let locked = Mutex<(any StorageFile)?>(nil)
            var store = PersistentStoreDescription(path: path)
            store.migration.log = MigrationLog { record in
                guard case .stage = record, let file = try? Self.lock(path) else { return }
                locked.withLock { $0 = file }
            }

            let late = #expect(throws: SchemaMigrationError.self) { try PersistentContainer(plan, stores: [store]) }

            guard case .stage(path, from: 1, reached: 1, let cause)? = late,
                case .storage(.opening(.storeBusy), _)? = (cause as? StoreError) ?? (cause as? MappingError)?.storeError
            else {
                Issue.record("\(String(describing: late))")
                return
            }
            let early = #expect(throws: SchemaMigrationError.self) { try PersistentContainer(plan, stores: [store]) }
            if case .store(.storage(.opening(.storeBusy), _))? = early {
            } else {
                Issue.record("\(String(describing: early))")
            }
            try locked.withLock { $0 }?.close()
            #expect(try TrackVersions.lengths(at: path, version: 1) == [.string("5")])
        }
    }
}

extension MappingError {
    /// The error of the store below, if it is one.
    fileprivate var storeError: StoreError? {
        guard case .store(let error) = self else { return nil }
        return error
    }
}
