// Objects that outlive their context: values in memory stay readable; any other access throws or stops the program.

import Espalier
import EspalierModel
import Foundation
import Observation
import Synchronization
import TestSupport
import Testing

@Suite struct EndedContextTests {
    /// An album with an artist and a track, whose context has ended; the album's values are in memory if `isRead`.
    private static func orphan(isRead: Bool) throws -> Album {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        let writer = ManagedObjectContext(coordinator)
        let (artist, album, track) = (Artist(context: writer), Album(context: writer), Track(context: writer))
        (artist.name, album.title, track.name) = ("Nina Simone", "Pastel Blues", "Sinnerman")
        (album.artist, track.album) = (artist, album)
        try writer.saveAndCompare()

        let context = ManagedObjectContext(coordinator)
        let found = try #require(try context.fetch(FetchRequest<Album>()).first)
        if isRead { #expect(found.title == "Pastel Blues") } else { context.refresh(found, mergesChanges: false) }
        return found
    }

    @Test func `values in memory are read after the context has ended`() throws {
        let album = try Self.orphan(isRead: true)

        #expect(album.managedObjectContext == nil)
        #expect(album.title == "Pastel Blues" && album[attribute: "title"] == .string("Pastel Blues"))
        #expect(album.description.contains("Pastel Blues"))
    }

    @Test func `access by name throws what the context was needed for`() throws {
        let album = try Self.orphan(isRead: false)
        func isContextEnded(_ body: () throws -> Void) -> Bool {
            if case .contextEnded(album.objectID)? = contextError(body) { true } else { false }
        }

        #expect(isContextEnded { _ = try album.value(forKey: "title") })
        #expect(isContextEnded { _ = try album.value(forKey: "artist") })
        #expect(isContextEnded { _ = try album.value(forKey: "tracks") })
        #expect(isContextEnded { _ = try album.objectIDs(forRelationshipNamed: "tracks") })
        #expect(isContextEnded { try album.setValue(.string("New"), forKey: "title") })
        #expect(isContextEnded { try album.add([], toRelationshipNamed: "tracks") })
        #expect(isContextEnded { try album.remove([], fromRelationshipNamed: "tracks") })
        #expect(album.description.contains("its context has ended"))
    }

    @Test(arguments: ["attribute", "to-one", "to-many", "committed", "write", "write to-one", "write to-many"])
    func `typed access that needs an ended context stops with what to keep, and never reads nil`(
        _ access: String
    ) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [access = access as String] in
            let album = try EndedContextTests.orphan(isRead: access.hasPrefix("to") || access.hasPrefix("write"))
            switch access {
            case "attribute": print(album.title)
            case "to-one": print(album.artist?.name ?? "nobody")
            case "to-many": print(album.tracks.count)
            case "committed": print(album.committedValues())
            case "write": album.title = "New"
            case "write to-one": album.artist = nil
            default: album.tracks = []
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("keep a reference to the ManagedObjectContext"), "\(message)")
    }

    @Test func `the end of a context that has changes stops nobody`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        var context: ManagedObjectContext? = ManagedObjectContext(coordinator)
        let artist = try Artist(context: #require(context))
        artist.name = "Unsaved"

        context = nil

        #expect(artist.name == "Unsaved" && artist.founded == nil)
        #expect(artist.managedObjectContext == nil && !artist.hasChanges)
    }

    /// An object for a closure that runs where it is.
    // SAFETY: `onChange` runs when the test releases the context, on the same thread.
    private struct Here: @unchecked Sendable {
        let object: ManagedObject
    }

    @Test func `an observer that runs because a context ends finds objects that have no context any more`() throws {
        let stack = try Stack(.inMemory)
        let undoManager = UndoStack()
        var context: ManagedObjectContext? = stack.newContext()
        let artist = try Artist(context: #require(context))
        artist.name = "Unsaved"
        context?.undoManager = undoManager
        artist.name = "Renamed"
        context?.processPendingChanges()
        let (here, all, detached) = (Here(object: artist), Calls(), Calls())
        withObservationTracking {
            _ = undoManager.canUndo
        } onChange: {
            all.count.add(1, ordering: .relaxed)
            if here.object.managedObjectContext == nil { detached.count.add(1, ordering: .relaxed) }
        }

        context = nil

        #expect(!undoManager.canUndo && all.count.load(ordering: .relaxed) == 1)
        #expect(detached.count.load(ordering: .relaxed) == 1, "the object still had the context that ends")
        #expect(artist.name == "Renamed")
    }

    @MainActor @Test func `a view context follows other contexts though nobody keeps its container`() async throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let context = try PersistentContainer(model: model, stores: [.inMemory]).viewContext
        let artist = Artist(context: context)
        artist.name = "Before"
        try context.saveAndCompare()
        let (id, coordinator) = (artist.objectID, context.persistentStoreCoordinator)

        try await BackgroundContext(coordinator).perform { context in
            let artist = try #require(try context.existingObject(with: id) as? Artist)
            artist.name = "After"
            try context.saveAndCompare()
        }

        // The context merges the save when the main actor is free, without any call from the application.
        await wait { artist.name == "After" }
        #expect(artist.name == "After")
    }
}
