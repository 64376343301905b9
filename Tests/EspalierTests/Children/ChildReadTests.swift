// A child's save reads each row that it changes once.

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import Testing

@Suite struct ChildReadTests {
    @Test(arguments: [0, 1, 50])
    func `a save of a child reads the rows that it updates and deletes once`(_ count: Int) throws {
        let model = try ManagedObjectModel(for: teamClasses)
        let rowsRead = Mutex(0)
        let store = WatchedStore(model: model) { call in
            if case .rows(let ids) = call { rowsRead.withLock { $0 += ids.count } }
        }
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let writer = ManagedObjectContext(coordinator)
        for number in 0..<2 * count { Duty(context: writer).number = number }
        try writer.save()
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: root)
        let duties = try child.fetch(FetchRequest<Duty>(sortedBy: [SortKey("number")]))
        // One that the parent has changed has its row in memory.
        if let last = duties.last, let changed = try root.existingObject(with: last.objectID) as? Duty {
            changed.number += 100
            child.refresh(last, mergesChanges: false)
            #expect(last.number == 2 * count + 99)
        }
        for duty in duties.prefix(count) { duty.number += 1 }
        for duty in duties.dropFirst(count) { try child.delete(duty) }
        let before = rowsRead.withLock(\.self)

        try child.save()

        #expect(rowsRead.withLock(\.self) - before == max(0, 2 * count - 1))
        #expect(root.updatedObjects.count == count && root.deletedObjects.count == count)
        try root.save()
        let stored = try ManagedObjectContext(coordinator).fetch(FetchRequest<Duty>(sortedBy: [SortKey("number")]))
        #expect(stored.map(\.number) == Array(1..<count + 1))
    }
}
