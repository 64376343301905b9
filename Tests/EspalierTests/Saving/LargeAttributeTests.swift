// Attributes of many pages: changed, undone, seen by several contexts, and gone with their rows, in stores of every
// kind (MD-22). `ESPALIER_LARGE_MIB` says how many MiB a value has.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct LargeAttributeTests {
    private static func coordinator(_ type: StoreType, _ path: String) throws -> PersistentStoreCoordinator {
        let scan = AttributeDescription("scan", .binary, allowsExternalBinaryDataStorage: true)
        let page = EntityDescription("Page", attributes: [AttributeDescription("title", .string), scan])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(entities: [page]))
        try coordinator.addPersistentStore(
            PersistentStoreDescription(type: type, path: type == .inMemory ? nil : path))
        return coordinator
    }

    private static func value(_ byte: UInt8) -> AttributeValue { .binary(Data(LargeValues.largest(byte))) }

    @Test(arguments: [StoreType.inMemory, .btree, .binary])
    func `a value of many pages is saved, changed, undone and read by two contexts and a child (MD-22)`(
        _ type: StoreType
    ) throws {
        try withStorePath { path in
            let coordinator = try Self.coordinator(type, path)
            let (context, other) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
            let page = try context.insertNewObject(forEntityName: "Page")
            try page.setValue(Self.value(1), forKey: "scan")
            try context.save()
            let seen = try other.existingObject(with: page.objectID)
            #expect(seen[attribute: "scan"] == Self.value(1))

            let undo = UndoStack()
            context.undoManager = undo
            try page.setValue(Self.value(2), forKey: "scan")
            context.processPendingChanges()
            try undo.undo()
            #expect(page[attribute: "scan"] == Self.value(1))
            try undo.redo()
            let child = ManagedObjectContext(parent: context)
            #expect(try child.existingObject(with: page.objectID)[attribute: "scan"] == Self.value(2))
            try context.save()
            #expect(seen[attribute: "scan"] == Self.value(1))
            other.refresh(seen, mergesChanges: false)
            #expect(seen[attribute: "scan"] == Self.value(2))
            // A change of another attribute keeps the value.
            try seen.setValue(.string("t"), forKey: "title")
            try other.save()
            context.refresh(page, mergesChanges: false)
            #expect(page[attribute: "scan"] == Self.value(2) && page[attribute: "title"] == .string("t"))
            for store in coordinator.persistentStores { try store.close() }
            guard type != .inMemory else { return }
            let reopened = ManagedObjectContext(try Self.coordinator(type, path))
            #expect(try reopened.existingObject(with: page.objectID)[attribute: "scan"] == Self.value(2))
            for store in reopened.persistentStoreCoordinator.persistentStores { try store.close() }
        }
    }

    @Test func `a change beside a large value writes a few pages, however large the value is (MD-22)`() throws {
        try withStorePath { path in
            let coordinator = try Self.coordinator(.btree, path)
            let store = try #require(coordinator.persistentStores.first as? BTreeStore)
            let context = ManagedObjectContext(coordinator)
            let page = try context.insertNewObject(forEntityName: "Page")
            // Bytes of which no two pages are equal.
            var scan = Data()
            for number in UInt32(0)..<1 << 18 {
                scan.append(contentsOf: [0, 8, 16].map { UInt8(truncatingIfNeeded: number >> $0) })
            }
            try page.setValue(.binary(scan), forKey: "scan")
            try context.save()
            let before = store.statistics.logLiveByteCount
            for title in ["t", "a longer title", "", String(repeating: "very long ", count: 200)] {
                try page.setValue(.string(title), forKey: "title")
                try context.save()
            }
            let written = store.statistics.logLiveByteCount - before
            #expect(written < 200_000, "\(written) bytes for four titles beside \(scan.count)")
            #expect(try store.check().isOK)
            try store.close()
            let reopened = ManagedObjectContext(try Self.coordinator(.btree, path))
            #expect(try reopened.existingObject(with: page.objectID)[attribute: "scan"] == .binary(scan))
            for store in reopened.persistentStoreCoordinator.persistentStores { try store.close() }
        }
    }

    @Test func `the pages of a deleted value are used again (MD-22)`() throws {
        try withStorePath { path in
            var sizes: [Int] = []
            for round in 0..<5 {
                let context = ManagedObjectContext(try Self.coordinator(.btree, path))
                for page in try context.fetch(FetchRequest<ManagedObject>(entityName: "Page")) {
                    try context.delete(page)
                }
                try context.save()
                let page = try context.insertNewObject(forEntityName: "Page")
                try page.setValue(Self.value(UInt8(round)), forKey: "scan")
                try context.save()
                for store in context.persistentStoreCoordinator.persistentStores { try store.close() }
                sizes.append(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
            }
            #expect((sizes.last ?? 0) < 5 * LargeValues.mebibytes << 19, "\(sizes)")
        }
    }
}
