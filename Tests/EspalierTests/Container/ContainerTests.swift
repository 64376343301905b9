// Containers: the main actor's context, background contexts, several stores.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing
import TestSupport

@Suite struct ContainerTests {
    @MainActor @Test func `what a background context saves arrives in the view context`() async throws {
        let container = try PersistentContainer(
            model: ManagedObjectModel(for: musicClasses), stores: [.inMemory])
        let artist = Artist(context: container.viewContext)
        artist.name = "Before"
        try container.viewContext.saveAndCompare()
        let id = artist.objectID

        let count = try await container.performBackgroundTask { context in
            let artist = try #require(try context.existingObject(with: id) as? Artist)
            artist.name = "After"
            let album = Album(context: context)
            (album.title, album.artist) = ("New", artist)
            try context.saveAndCompare()
            return artist.albums.count
        }

        #expect(count == 1)
        container.viewContext.processPendingChanges()
        #expect(artist.name == "After" && artist.albums.map(\.title) == ["New"])
    }

    @MainActor @Test func `a container keeps its objects in a file`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            let first = try PersistentContainer(for: musicClasses, at: path)
            let artist = Artist(context: first.viewContext)
            artist.name = "Miles"
            try first.viewContext.saveAndCompare()
            let uri = artist.objectID.uriRepresentation
            try first.close()
            artist.name = "Other"
            #expect(throws: ContextError.self) { try first.viewContext.saveAndCompare() }

            let second = try PersistentContainer(for: musicClasses, at: path)
            let id = try second.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
            #expect((try second.viewContext.existingObject(with: id) as? Artist)?.name == "Miles")
            try second.close()
            #expect(throws: ContextError.self) {
                try PersistentContainer(
                    model: ManagedObjectModel(for: musicClasses),
                    stores: [PersistentStoreDescription(path: folder.path)])
            }
        }
    }

    @Test func `objects go to the store that takes their entity, and no relationship leads across`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let people = try coordinator.addPersistentStore(.inMemory(entityNames: ["Listener", "Playlist"]))
        let music = try coordinator.addPersistentStore(.inMemory(entityNames: ["Artist", "Album", "LiveTrack"]))
        let context = ManagedObjectContext(coordinator)
        let track = Track(context: context)
        track.name = "So What"
        let listener = Listener(context: context)
        listener.name = "Ann"
        try context.saveAndCompare()
        #expect(coordinator.persistentStore(for: track.objectID) === music)
        #expect(coordinator.persistentStore(for: listener.objectID) === people)

        listener.favourite = track
        guard
            case .relationshipAcrossStores(_, "favourite", track.objectID)? = contextError({
                try context.saveAndCompare()
            })
        else {
            Issue.record("a relationship leads across stores")
            return
        }
        context.rollback()
        listener.name = "Bea"
        track.name = "So what"
        try context.saveAndCompare()
        let fresh = ManagedObjectContext(coordinator)
        #expect(try fresh.fetch(FetchRequest<Track>()).map(\.name) == ["So what"])
        #expect(try fresh.fetch(FetchRequest<Listener>()).map(\.name) == ["Bea"])
    }

    @Test func `two stores of one entity answer a fetch as one`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let stores = [0, 1].map { _ in InMemoryStore(model: coordinator.managedObjectModel) }
        for (round, store) in stores.enumerated() {
            let alone = PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
            alone.add(store)
            let context = ManagedObjectContext(alone)
            for number in 0..<5 {
                let artist = Artist(context: context)
                artist.name = "\(number * 2 + round)"
            }
            try context.saveAndCompare()
            coordinator.add(store)
        }

        let context = ManagedObjectContext(coordinator)
        var request = FetchRequest<Artist>(sortedBy: [SortKey("name", ascending: false)])
        (request.fetchOffset, request.fetchLimit) = (1, 3)
        #expect(try context.fetch(request).map(\.name) == ["8", "7", "6"])
        #expect(try context.count(for: request) == 3 && context.count(for: FetchRequest<Artist>()) == 10)
    }

    @Test func `a class that describes nothing and a destination without class are reported together`() throws {
        do {
            _ = try ManagedObjectModel(for: [Album.self, ManagedObject.self])
            Issue.record("the model was accepted")
        } catch {
            #expect(error.problems.count == 3)
            #expect("\(error)".contains("Artist.self") && "\(error)".contains("@Entity"))
        }
    }
}
