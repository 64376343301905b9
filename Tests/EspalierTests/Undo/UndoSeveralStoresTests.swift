// Undoing after a save that one of two stores has taken and the other one refused (MC-40, MC-56).

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct UndoSeveralStoresTests {
    private let coordinator: PersistentStoreCoordinator
    private let context: ManagedObjectContext
    private let undoManager = UndoStack()

    init() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(try BTreeStore.inMemory(model: model), entityNames: ["Artist", "Album", "Track"])
        coordinator.add(InMemoryStore(model: model), entityNames: ["Listener", "Playlist"])
        context = ManagedObjectContext(coordinator)
    }

    private func make<Object: ManagedObject>(_ type: Object.Type, _ name: String) throws -> Object {
        let object = try #require(try context.insertNewObject(forEntityName: Object.entityName) as? Object)
        try object.setValue(.string(name), forKey: "name")
        return object
    }

    /// The names of the stored objects of a class.
    private func stored<Object: ManagedObject>(_ type: Object.Type) throws -> [String] {
        let fresh = ManagedObjectContext(coordinator)
        return try fresh.fetch(FetchRequest<Object>(sortedBy: [SortKey("name")])).map { object in
            if case .string(let name) = object[attribute: "name"] { name } else { "" }
        }
    }

    @Test func `what one store has written and the other refused is undone and redone, and then saved (MC-40, MC-56)`()
        throws
    {
        let (owner, leaving) = (try make(Listener.self, "Ann"), try make(Listener.self, "Bea"))
        let (kept, gone) = (try make(Track.self, "So What"), try make(Track.self, "Blue in Green"))
        try make(Playlist.self, "Evening").owner = owner
        try context.save()
        context.undoManager = undoManager
        kept.name = "Freddie"
        context.processPendingChanges()
        for object in [gone, leaving] {
            try context.delete(object)
            context.processPendingChanges()
        }
        let second = try make(Playlist.self, "Evening")
        second.owner = owner

        let error = contextError { try context.save() }

        guard case .partlySaved(.constraints)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(!kept.hasChanges && gone.managedObjectContext == nil && leaving.isDeleted && second.isInserted)
        #expect(undoManager.undoCount == 4)

        while undoManager.canUndo { try context.undo() }

        #expect(kept.name == "So What" && kept.isUpdated && gone.isInserted)
        #expect(!leaving.isDeleted && second.managedObjectContext == nil && owner.playlists.count == 1)
        try context.saveAndCompare()
        #expect(try stored(Track.self) == ["Blue in Green", "So What"])
        #expect(try stored(Listener.self) == ["Ann", "Bea"] && stored(Playlist.self) == ["Evening"])

        while undoManager.canRedo { try context.redo() }

        #expect(kept.name == "Freddie" && gone.isDeleted && leaving.isDeleted)
        #expect(second.isInserted && second.name == "Evening" && second.owner == owner)
        second.name = "Night"
        try context.saveAndCompare()
        #expect(try stored(Track.self) == ["Freddie"] && stored(Listener.self) == ["Ann"])
        #expect(try stored(Playlist.self) == ["Evening", "Night"])
    }
}
