// Changes by the application while a fetch reads values of unsaved objects: a store of the application's own runs its
// code before it answers.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct PendingIndexHookTests {
    /// Renames an object whenever a store reads rows by their IDs.
    // SAFETY: @unchecked Sendable, because a test uses it on its own thread only.
    private final class Renaming: @unchecked Sendable {
        var object: Listener?
        private(set) var count = 0

        func rename() {
            guard let object else { return }
            object.name = "changed"
            count += 1
        }
    }

    @Test func `what the application changes while a fetch reads unsaved values is found (F-3)`() throws {
        let (model, renaming) = (try ManagedObjectModel(for: musicClasses), Renaming())
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(
            WatchedStore(model: model) { call throws(StoreError) in
                if case .rows = call { renaming.rename() }
            })
        let writer = ManagedObjectContext(coordinator)
        let stored = Listener(context: writer)
        stored.name = "stored"
        try writer.save()
        let context = ManagedObjectContext(coordinator)
        let fault = try #require(try context.object(with: stored.objectID) as? Listener)
        // The other end changes the object, and needs no row of it.
        Playlist(context: context).owner = fault
        let new = (0..<40).map { number in
            let listener = Listener(context: context)
            listener.name = "new \(number)"
            return listener
        }
        #expect(fault.hasChanges && context.rowsFetched == 0)
        renaming.object = new[0]
        let request = FetchRequest<Listener>(try FetchPredicate(format: "name == 'changed'"))

        // The name of the object without a row is read after those of the new ones.
        #expect(try context.fetch(request).map(\.objectID) == [new[0].objectID])
        #expect(renaming.count > 0)
        #expect(try context.fetch(request).map(\.objectID) == [new[0].objectID])
        #expect(try context.count(for: FetchRequest<Listener>(FetchPredicate(format: "name == 'new 0'"))) == 0)
        renaming.object = nil
    }
}
