// The memory of objects: faults, and objects of an entity with many superentities. Each figure comes from a process of
// its own, as bytes of resident memory for one object. There is no peer: rows have no faults and no inheritance.

import BenchKit
import Espalier
import Foundation

struct MemoryLines {
    /// The number of objects.
    let count: Int
    let folder: URL
    /// The superentities of the deepest entity.
    private static let depth = 200

    func all() -> [() -> Line] {
        [
            ("faults", "objects by ID, no row in memory"),
            ("fetched", "a fetch of all, kept, no attribute read: the rows are in memory"),
            ("new 1", "new objects, one attribute set of 2"),
            ("new \(Self.depth)", "the same of the \(Self.depth)th subentity, of \(Self.depth + 1)"),
            ("kept \(Self.depth)", "the same, saved and fetched, the attribute read"),
        ].map { work, note in
            {
                Line(
                    "objects memory, \(work)", note: note, unit: .bytes, operationCount: count,
                    contenders: [
                        Line.Contender(EspalierObjects.name) {
                            try ChildRun.start(["memory", work, "\(count)", try place().path])["memory"] ?? 0
                        }
                    ])
            }
        }
    }

    /// A new folder.
    private func place() throws -> URL {
        let place = folder.appendingPathComponent("memory-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        return place
    }

    /// The work of the process: `work` with `count` objects.
    static func run(_ work: String, _ count: Int, _ folder: String) throws {
        let depth = work.split(separator: " ").last.flatMap { Int($0) } ?? 1
        let model = try ManagedObjectModel(
            entities: (0...depth).map { level in
                EntityDescription(
                    "E\(level)", superentity: level == 0 ? nil : "E\(level - 1)",
                    attributes: [AttributeDescription("a\(level)", .integer64)])
            })
        let store = try BTreeStore.open(path: folder + "/objects.espalier", model: model)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let name = "E\(depth)"
        if !work.hasPrefix("new") { try fill(coordinator, name, count) }
        let context = ManagedObjectContext(coordinator)
        let ids = work == "faults" ? try context.fetchIDs(FetchRequest<ManagedObject>(entityName: name)) : []
        let before = try MemoryRun.residentByteCount("VmRSS:")
        var objects: [ManagedObject] = []
        switch work {
        case "faults": for id in ids { objects.append(try context.object(with: id)) }
        case "fetched": objects = try context.fetch(FetchRequest<ManagedObject>(entityName: name))
        case _ where work.hasPrefix("new"): objects = try new(context, name, count)
        default:
            objects = try context.fetch(FetchRequest<ManagedObject>(entityName: name))
            for object in objects { blackHole(object[attribute: "a0"]) }
        }
        try withExtendedLifetime((objects, context)) {
            print("memory \(try MemoryRun.residentByteCount("VmRSS:") - before)")
        }
        try store.close()
    }

    private static func new(_ context: ManagedObjectContext, _ name: String, _ count: Int) throws -> [ManagedObject] {
        try (0..<count).map { number in
            let object = try context.insertNewObject(forEntityName: name)
            try object.setValue(.integer(Int64(number)), forKey: "a0")
            return object
        }
    }

    /// Saves objects and reads their rows, so that the cache of the store is filled.
    private static func fill(_ coordinator: PersistentStoreCoordinator, _ name: String, _ count: Int) throws {
        let context = ManagedObjectContext(coordinator)
        for first in stride(from: 0, to: count, by: 1000) {
            blackHole(try new(context, name, min(1000, count - first)).count)
            try context.save()
            context.reset()
        }
        let predicate = try FetchPredicate(format: "a0 < 0")
        blackHole(try context.count(for: FetchRequest<ManagedObject>(entityName: name, predicate: predicate)))
    }
}
