// The memory of faults and of new objects: counted in allocations, and in bytes in a process of its own, because other
// tests allocate meanwhile; `bench --only "objects memory"` measures it with everything around.

import EspalierModel
import EspalierStore
import Foundation
import Testing

@testable import Espalier

@Suite struct FaultMemoryTests {
    private static let faultCount = 100_000

    @Test func `a fault that was found by its ID is one allocation`() throws {
        let stack = try Stack.ofPapers(1000)
        let ids = try stack.newContext().fetchIDs(FetchRequest<Paper>())
        let context = stack.newContext()
        let faults = try ids.map { try context.object(with: $0) }

        #expect(faults.count == 1000 && faults.allSatisfy(\.isFault))
        #expect(faults.allSatisfy { $0.changes == nil && $0.newValues == nil && !$0.hasRow && $0.cohort == nil })
    }

    @Test func `faults of one fetch share the rows and what they have in common`() throws {
        let stack = try Stack.ofPapers(1000)
        let context = stack.newContext()
        let faults = try context.fetch(FetchRequest<Paper>())

        #expect(faults.count == 1000 && faults.allSatisfy(\.isFault))
        #expect(Set(faults.compactMap { $0.cohort.map { ObjectIdentifier($0) } }).count == 1)
        let contents = Set(faults.compactMap { $0.withRow { content, _ in ObjectIdentifier(content) } })
        #expect(contents.count < 20, "\(contents.count) storages of rows")
        #expect(faults.allSatisfy { $0.changes == nil && $0.newValues == nil })
    }

    @Test func `100,000 registered faults take less than 150 bytes each`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("notes.espalier").path
        let coordinator = try Self.openNotes(at: path)
        try ManagedObjectContext(coordinator).execute(
            BatchInsertRequest(entityName: "Note", objects: (0..<Self.faultCount).map { ["number": $0] }))
        for store in coordinator.persistentStores { try store.close() }

        await #expect(processExitsWith: .success) { [path = path as String] in
            let context = ManagedObjectContext(try FaultMemoryTests.openNotes(at: path))
            let ids = try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Note"))
            var objects: [ManagedObject] = []
            objects.reserveCapacity(ids.count)
            let before = try FaultMemoryTests.residentByteCount()
            for id in ids { objects.append(try context.object(with: id)) }
            let byteCount = try FaultMemoryTests.residentByteCount() - before
            #expect(objects.count == FaultMemoryTests.faultCount && objects.allSatisfy(\.isFault))
            #expect(byteCount < 150 * objects.count, "\(byteCount / objects.count) bytes a fault")
            // A measurement that finds nothing would pass any limit.
            #expect(byteCount > 40 * objects.count, "\(byteCount / objects.count) bytes a fault")
            withExtendedLifetime(context) {}
        }
    }

    @Test func `new objects of the 200th subentity take less than 450 bytes each`() async throws {
        await #expect(processExitsWith: .success) {
            let (depth, count) = (200, 20_000)
            let entities = (0...depth).map { level in
                EntityDescription(
                    "E\(level)", superentity: level == 0 ? nil : "E\(level - 1)",
                    attributes: [AttributeDescription("a\(level)", .integer64)])
            }
            let coordinator = PersistentStoreCoordinator(
                managedObjectModel: try ManagedObjectModel(entities: entities))
            try coordinator.addPersistentStore(.inMemory)
            let context = ManagedObjectContext(coordinator)
            var objects: [ManagedObject] = []
            objects.reserveCapacity(count + 1)
            // The first object makes what all of them share.
            objects.append(try context.insertNewObject(forEntityName: "E\(depth)"))
            let before = try FaultMemoryTests.residentByteCount()
            for number in 0..<count {
                let object = try context.insertNewObject(forEntityName: "E\(depth)")
                try object.setValue(.integer(Int64(number)), forKey: "a0")
                objects.append(object)
            }
            let byteCount = try FaultMemoryTests.residentByteCount() - before
            #expect(objects.allSatisfy(\.isInserted) && objects.count == count + 1)
            #expect(byteCount < 450 * count, "\(byteCount / count) bytes an object")
            // A measurement that finds nothing would pass any limit.
            #expect(byteCount > 100 * count, "\(byteCount / count) bytes an object")
            withExtendedLifetime(context) {}
        }
    }

    private static func openNotes(at path: String) throws -> PersistentStoreCoordinator {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Note", attributes: [AttributeDescription("number", .integer64)])
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(try BTreeStore.open(path: path, model: model))
        return coordinator
    }

    /// The memory of this process that is not swapped out, in bytes.
    private static func residentByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber))) * 1024
    }
}
