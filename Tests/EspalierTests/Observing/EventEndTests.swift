// Events of the view context that end by themselves although nobody observes the context (MC-36, MC-54).

@testable import Espalier
import EspalierModel
import Testing

@Suite @MainActor struct EventEndTests {
    private let container: PersistentContainer
    private var context: ManagedObjectContext { container.viewContext }

    init() throws { container = try PersistentContainer(inMemoryFor: musicClasses) }

    @Test func `each turn of the main actor is an undo group, without an observer (MC-36, MC-54)`() async throws {
        let undoManager = UndoStack()
        context.undoManager = undoManager
        let artist = Artist(context: context)
        artist.name = "Miles"
        _ = try context.count(for: FetchRequest<Album>())
        artist.name = "Miles Davis"
        await wait { undoManager.undoCount == 1 && undoManager.groupingLevel == 0 }
        #expect(undoManager.undoCount == 1 && undoManager.groupingLevel == 0, "the first turn ended no event")
        artist.name = "Nina"
        await wait { undoManager.undoCount == 2 }

        #expect(undoManager.undoCount == 2 && undoManager.groupingLevel == 0, "the second turn ended no event")
        try context.undo()
        #expect(artist.name == "Miles Davis")
        try context.undo()
        #expect(context.insertedObjects.isEmpty)
    }

    @Test func `changes that wait for the undo manager give one notice, however many calls follow (MC-54)`() throws {
        let artist = Artist(context: context)
        artist.name = "Miles"
        try context.save()
        context.undoManager = UndoStack()
        var count = 0
        context.eventNotice = { count += 1 }

        artist.name = "Davis"
        for _ in 0..<20 { context.refresh(artist, mergesChanges: true) }
        #expect(count == 1, "\(count) notices of one event")
        context.processPendingChanges()
        artist.name = "Nina"
        #expect(count == 2, "\(count) notices of two events")
    }

    @Test func `delete rules run at the end of a turn, without an observer and an undo manager (MC-36)`() async throws {
        let artist = Artist(context: context)
        artist.name = "Miles"
        let album = Album(context: context)
        (album.title, album.artist) = ("Kind of Blue", artist)
        try context.save()
        try context.delete(artist)
        #expect(!album.isDeleted)
        await wait { album.isDeleted }

        #expect(album.isDeleted && context.deletedObjects == [artist, album])
    }

    @Test func `the record of an event ends with a turn (MC-36)`() async throws {
        context.recordsChangesOfEvent = true
        let artist = Artist(context: context)
        artist.name = "Miles"
        #expect(try artist.changedValuesForCurrentEvent().keys.sorted() == ["name"])
        await wait { (try? artist.changedValuesForCurrentEvent().isEmpty) == true }

        #expect(try artist.changedValuesForCurrentEvent().isEmpty, "the turn ended no event")
    }
}
