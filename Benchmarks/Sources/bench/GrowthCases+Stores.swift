// The operations of `bench --growth` on files of stores, on migrations with rules and work, and on stores in memory.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    /// A coordinator whose model is that of the papers.
    private static func ownCoordinator() throws -> PersistentStoreCoordinator {
        PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: classes))
    }

    // MARK: Files

    static let files: [GrowthCase] = [
        GrowthCase("metadataForPersistentStore", 0) { store in
            let path = try container(of: store)
            return {
                let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: path)
                blackHole(metadata)
            }
        },
        GrowthCase("replacePersistentStore", 1, work: .file) { store in
            let source = PersistentStoreDescription(path: try container(of: store))
            let target = PersistentStoreDescription(path: try copy(of: store))
            let coordinator = try ownCoordinator()
            return { try coordinator.replacePersistentStore(target, withStoreFrom: source) }
        },
        GrowthCase("destroyPersistentStore", 1, reason: "the system frees each page of the file", work: .file) {
            store in
            let (coordinator, path) = (try ownCoordinator(), try copy(of: store))
            return { try coordinator.destroyPersistentStore(PersistentStoreDescription(path: path)) }
        },
        GrowthCase("migratePersistentStore to a store in memory", 1, reason: "n log n in rows", work: .tables) {
            store in
            let (coordinator, path) = (try ownCoordinator(), try copy(of: store))
            let former = try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
            return {
                let moved = try coordinator.migratePersistentStore(former, to: .inMemory)
                try coordinator.remove(moved.store)
            }
        },
        GrowthCase("erase of a container", 1, reason: "the system frees each page of the file", work: .file) { store in
            let container = try PersistentContainer(for: classes, at: try copy(of: store))
            return {
                try MainActor.assumeIsolated { try container.erase() }
                try container.close()
            }
        },
        GrowthCase("a container that opens on a thread of its own", 0) { store in
            let path = try container(of: store)
            return { try wait { try await PersistentContainer.open(for: classes, at: path).close() } }
        },
        GrowthCase("coordinator: persistentStore(atPath:), persistentStore(named:), description(of:)", 0) { store in
            let (coordinator, path) = (store.coordinator, store.folder.path + "/papers.espalier")
            let opened = coordinator.persistentStores[0]
            return {
                guard coordinator.persistentStore(atPath: path) === opened else {
                    throw WrongResult(expected: 1, found: 0)
                }
                blackHole(coordinator.persistentStore(named: "papers") == nil)
                blackHole(coordinator.description(of: opened)?.path)
            }
        },
    ]

    // MARK: Models

    /// The mapping of papers to those of the newer model.
    private static let mappings = MappingModel([EntityMapping("Paper", to: "Paper")])

    /// A migration of a copy of a closed store to the newer model.
    private static func migration(
        _ name: String, reason: String = "",
        _ body:
            @escaping @Sendable (_ path: String, _ former: ManagedObjectModel, _ newer: ManagedObjectModel) throws
            -> Void
    ) -> GrowthCase {
        GrowthCase("migration: " + name, 1, reason: reason, work: .tables) { store in
            let (former, newer) = (try ManagedObjectModel(for: classes), try newerModel())
            let path = try copy(of: store)
            return { try body(path, former, newer) }
        }
    }

    static let models: [GrowthCase] = [
        migration("a mapping of all", reason: "all objects are in memory until the end") { path, former, newer in
            blackHole(try mappings.migrate(storeAt: path, from: former, to: newer).steps.count)
        },
        migration("the plan of a mapping of all", reason: "it is tried and rolled back") { path, former, newer in
            blackHole(try mappings.migrationPlan(storeAt: path, from: former, to: newer).steps.count)
        },
        migration("a lightweight stage") { path, former, newer in
            let plan = SchemaMigrationPlan(from: former).then(.lightweight(), to: newer)
            blackHole(try plan.migrate(storeAt: path).count)
        },
        migration("a stage with work on all") { path, former, newer in
            let stage = MigrationStage.custom(didMigrate: { context in
                for paper in try context.fetch(FetchRequest<ManagedObject>(entityName: "Paper")) {
                    try paper.setValue(.string("x"), forKey: "added")
                }
            })
            let plan = SchemaMigrationPlan(from: former).then(stage, to: newer)
            blackHole(try plan.migrate(storeAt: path).count)
        },
    ]

    // MARK: Stores in memory

    /// A container in memory with all papers.
    private static func memoryContainer(_ count: Int) throws -> PersistentContainer {
        try PersistentContainer(inMemoryFor: classes) { context in
            for number in 0..<count { PaperStore.fill(Paper(context: context), number, of: count) }
        }
    }

    /// An operation on a store in memory that has all papers.
    private static func inMemory(
        _ name: String, reason: String = "", _ body: @escaping @Sendable (ManagedObjectContext) throws -> Void
    ) -> GrowthCase {
        GrowthCase("in memory: " + name, 1, reason: reason, work: .tables) { store in
            let container = try memoryContainer(store.count)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            return {
                try body(context)
                withExtendedLifetime(container) {}
            }
        }
    }

    /// An operation on a store in memory with all papers, all of which the first shelf and one topic have.
    private static func oneOwner(
        _ name: String, _ body: @escaping @Sendable (ManagedObjectContext) throws -> Void
    ) -> GrowthCase {
        GrowthCase("in memory, one owner of all: " + name, 1, work: .tables) { store in
            let container = try PersistentContainer(inMemoryFor: classes) { PaperStore.fill($0, store.count) }
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            return {
                try body(context)
                withExtendedLifetime(container) {}
            }
        }
    }

    static let memory: [GrowthCase] = [
        oneOwner("delete all, save") { context in
            for paper in try all(context) { try context.delete(paper) }
            try context.save()
        },
        oneOwner("delete the owners, save") { context in
            try context.delete(try shelf(context))
            try context.delete(try topic(context))
            try context.save()
        },
        GrowthCase("binary file, one owner of all: open", 1, work: .tables) { store in
            let (coordinator, path) = (try ownCoordinator(), store.folder.path + "/papers.binary")
            let description = PersistentStoreDescription(type: .binary, path: path)
            if !FileManager.default.fileExists(atPath: path) {
                let source = try coordinator.addPersistentStore(.inMemory)
                let context = ManagedObjectContext(coordinator)
                PaperStore.fill(context, store.count)
                try context.save()
                try coordinator.remove(try coordinator.migratePersistentStore(source, to: description).store)
            }
            return { try coordinator.remove(try coordinator.addPersistentStore(description)) }
        },
        GrowthCase("in memory: insert all and save", 1, work: .tables) { store in
            { try memoryContainer(store.count).close() }
        },
        GrowthCase("in memory: save of one among all, beside a snapshot", 0) { store in
            let container = try memoryContainer(store.count)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let paper = try found(try all(context).last)
            return {
                let snapshot = try container.persistentStoreCoordinator.persistentStores[0].snapshot()
                paper.touched += 1
                try context.save()
                withExtendedLifetime((container, snapshot)) {}
            }
        },
        inMemory("fetch all, read an attribute") { context in
            for paper in try all(context) { blackHole(paper.number) }
        },
        inMemory("update all, save") { context in
            for paper in try all(context) { paper.touched += 1 }
            try context.save()
        },
        inMemory("delete all, save") { context in
            for paper in try all(context) { try context.delete(paper) }
            try context.save()
        },
        inMemory(
            "by an indexed value", reason: "this store has no index and tests each row: the others are compared with it"
        ) { context in
            let request = FetchRequest<Paper>(try FetchPredicate(format: "code == %@", PaperStore.code("c", 7)))
            blackHole(try context.fetch(request).count)
        },
        inMemory("unindexed ==") { context in
            let request = FetchRequest<Paper>(try FetchPredicate(format: "number == 77"))
            blackHole(try context.fetch(request).count)
        },
    ]
}
