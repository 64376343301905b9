// The reads that `withObservationTracking` follows, of attributes and relationships, and changes by any way (MO-41).

import EspalierModel
import EspalierStore
import Observation
import Synchronization
import Testing

@testable import Espalier

@Suite struct ObservationTests {
    /// A store with an artist, an album of two tracks and an album without tracks, and an observable context on it.
    private struct Library {
        let stack: Stack
        let context: ManagedObjectContext
        let artist: Artist
        let albums: [Album]
        let track: Track

        init() throws {
            stack = try Stack(.inMemory)
            let writer = stack.newContext()
            let artist = Artist(context: writer)
            artist.name = "Nina"
            for number in 0..<2 {
                let album = Album(context: writer)
                (album.title, album.artist) = ("Album \(number)", artist)
                for track in 0..<(number == 0 ? 2 : 0) {
                    let made = Track(context: writer)
                    (made.name, made.album) = ("Track \(track)", album)
                }
            }
            try writer.save()
            context = stack.newContext()
            context.isObservable = true
            context.retainsRegisteredObjects = true
            self.artist = try #require(try context.fetch(FetchRequest<Artist>()).first)
            albums = try context.fetch(FetchRequest<Album>(sortedBy: [SortKey("title")]))
            track = try #require(try context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")])).first)
        }

        /// Another context's object for the same row.
        func other<Object: ManagedObject>(_ object: Object) throws -> (Object, ManagedObjectContext) {
            let context = stack.newContext()
            context.retainsRegisteredObjects = true
            return (try #require(try context.existingObject(with: object.objectID) as? Object), context)
        }
    }

    /// Objects for a closure that runs where they are.
    // SAFETY: `onChange` runs within the change that the test makes, on the same thread.
    private struct Here<Objects>: @unchecked Sendable {
        let objects: Objects
    }

    @Test func `a setter notifies readers of its property, once, and readers of others never`() throws {
        let library = try Library()
        let (artist, track, album) = (library.artist, library.track, library.albums[0])

        #expect(
            try calls(
                reading: { _ = artist.name },
                {
                    artist.name = "a"; artist.name = "b"
                }) == 1)
        #expect(try calls(reading: { _ = artist.founded }, { artist.founded = 3 }) == 1)
        #expect(try calls(reading: { _ = track.bytes }, { track.bytes = 7 }) == 1)
        #expect(try calls(reading: { _ = track.medium }, { track.medium = .vinyl }) == 1)
        #expect(try calls(reading: { _ = track.plays }, { track.plays = 1 }) == 1)
        #expect(try calls(reading: { _ = artist.name }, { artist.founded = 4 }) == 0)
        #expect(try calls(reading: { _ = library.albums[1].title }, { album.title = "x" }) == 0)
        #expect(try calls(reading: {}, { artist.name = "c" }) == 0)
        #expect(try calls(reading: { _ = try artist.value(forKey: "name") }, { artist.name = "d" }) == 1)
        #expect(try calls(reading: { _ = artist[attribute: "name"] }, { artist.name = "e" }) == 1)
        #expect(try calls(reading: { _ = artist.name }, { try artist.setValue(.string("f"), forKey: "name") }) == 1)
    }

    @Test func `a change at one end of a relationship notifies readers of both ends, when both have changed`() throws {
        let library = try Library()
        let (artist, track, albums) = (library.artist, library.track, library.albums)

        #expect(try calls(reading: { _ = track.album }, { track.album = albums[1] }) == 1)
        #expect(try calls(reading: { _ = albums[1].tracks }, { track.album = albums[0] }) == 1)
        #expect(try calls(reading: { _ = albums[0].tracks.count }, { albums[1].tracks = [track] }) == 1)
        #expect(try calls(reading: { _ = track.album }, { albums[1].tracks = [] }) == 1)
        #expect(try calls(reading: { _ = artist.albums }, { albums[0].artist = nil }) == 1)
        #expect(
            try calls(
                reading: { _ = try artist.objectIDs(forRelationshipNamed: "albums") },
                { try artist.add([albums[0]], toRelationshipNamed: "albums") }) == 1)
        let (here, calls) = (Here(objects: (artist, albums)), Calls())
        withObservationTracking {
            _ = (artist.albums, albums[0].artist)
        } onChange: {
            let (artist, albums) = here.objects
            if artist.albums == [albums[1]], albums[0].artist == nil { calls.count.add(1, ordering: .relaxed) }
        }
        artist.albums = [albums[1]]
        #expect(calls.count.load(ordering: .relaxed) == 1)
    }

    @Test func `a live collection is followed, however it is read and changed`() throws {
        let stack = try Stack(.inMemory, classes: teamClasses)
        stack.context.isObservable = true
        let (boss, other) = (Member(context: stack.context), Member(context: stack.context))

        #expect(try calls(reading: { _ = boss.reports.count }, { boss.reports.insert(other) }) == 1)
        #expect(try calls(reading: { _ = boss.reports.isEmpty }, { boss.reports.remove(other) }) == 1)
        #expect(try calls(reading: { for _ in boss.reports {} }, { other.boss = boss }) == 1)
        #expect(try calls(reading: { _ = boss.reports.contains(other) }, { other.boss = nil }) == 1)
        #expect(try calls(reading: { _ = boss.reports.objectIDs }, { boss.reports = [other] }) == 1)
    }

    @Test func `an undo and a redo, a rollback and a refresh notify`() throws {
        let library = try Library()
        let (context, artist) = (library.context, library.artist)
        context.undoManager = UndoStack()
        artist.name = "Eunice"

        #expect(try calls(reading: { _ = artist.name }, { try context.undo() }) == 1)
        #expect(try calls(reading: { _ = artist.name }, { try context.redo() }) == 1 && artist.name == "Eunice")
        #expect(try calls(reading: { _ = artist.name }, { context.rollback() }) == 1 && artist.name == "Nina")
        #expect(try calls(reading: { _ = artist.name }, { context.refresh(artist, mergesChanges: false) }) == 1)
        #expect(try calls(reading: { _ = artist.name }, { context.refreshAllObjects() }) == 1)
    }

    @Test func `a merge notifies readers of what another context has saved, and no others`() throws {
        let library = try Library()
        let (context, artist, albums) = (library.context, library.artist, library.albums)
        context.automaticallyMergesChangesFromParent = true
        let (there, writer) = try library.other(artist)
        func save() throws {
            try writer.save()
            context.processPendingChanges()
        }

        #expect(
            try calls(
                reading: { _ = artist.name },
                {
                    there.name = "Eunice"; try save()
                }) == 1)
        #expect(artist.name == "Eunice")
        let album = Album(context: writer)
        album.title = "New"
        #expect(
            try calls(
                reading: { _ = artist.albums },
                {
                    album.artist = there; try save()
                }) == 1)
        #expect(artist.albums.count == 3)
        #expect(
            try calls(
                reading: { _ = albums[1].title },
                {
                    there.name = "Nina"; try save()
                }) == 0)
        #expect(
            try calls(
                reading: { _ = artist.albums },
                {
                    try writer.delete(album); try save()
                }) == 1)
        let (doomed, deleter) = try library.other(albums[1])
        try deleter.delete(doomed)
        #expect(
            try calls(
                reading: { _ = albums[1].title },
                {
                    try deleter.save()
                    context.processPendingChanges()
                }) == 1)
    }

    @Test func `a deletion and a reset notify readers of the objects that leave`() throws {
        let library = try Library()
        let (context, artist, albums) = (library.context, library.artist, library.albums)

        #expect(try calls(reading: { _ = albums[0].title }, { try context.delete(albums[0]) }) == 1)
        #expect(try calls(reading: { _ = artist.albums }, { context.processPendingChanges() }) == 1)
        #expect(try calls(reading: { _ = artist.name }, { context.reset() }) == 1)

        let again = try #require(try context.fetch(FetchRequest<Artist>()).first)
        #expect(try calls(reading: { _ = again.name }, { again.name = "new" }) == 1)
    }

    @Test func `a child's save notifies readers in its parent, and a child is observable as its parent is`() throws {
        let library = try Library()
        let child = ManagedObjectContext(parent: library.context)
        let draft = try #require(try child.existingObject(with: library.artist.objectID) as? Artist)

        #expect(child.isObservable)
        #expect(try calls(reading: { _ = draft.name }, { draft.name = "Draft" }) == 1)
        #expect(try calls(reading: { _ = library.artist.name }, { try child.save() }) == 1)
        #expect(library.artist.name == "Draft")
    }

    @Test func `a context that is not observable follows nothing, and the view context is observable`() async throws {
        let library = try Library()
        library.context.isObservable = false

        #expect(try calls(reading: { _ = library.artist.name }, { library.artist.name = "x" }) == 0)
        library.context.isObservable = true
        #expect(try calls(reading: { _ = library.artist.name }, { library.artist.name = "y" }) == 1)

        let model = try ManagedObjectModel(for: musicClasses)
        let container = try PersistentContainer(model: model, stores: [.inMemory])
        let isObservable = await MainActor.run { container.viewContext.isObservable }
        #expect(isObservable && !ManagedObjectContext(container.persistentStoreCoordinator).isObservable)
    }

    @Test func `hasChanges of a context is followed, and each change of it is told once (MC-32)`() throws {
        let library = try Library()
        let (context, artist, albums) = (library.context, library.artist, library.albums)
        let read = { _ = context.hasChanges }

        #expect(
            try calls(
                reading: read,
                {
                    artist.name = "a"; artist.name = "b"
                }) == 1)
        #expect(try calls(reading: read, { albums[0].title = "x" }) == 0, "it had changes before")
        #expect(try calls(reading: read, { try context.save() }) == 1)
        #expect(try calls(reading: read, { _ = Artist(context: context) }) == 1)
        #expect(try calls(reading: read, { context.rollback() }) == 1)
        #expect(try calls(reading: read, { try context.delete(albums[1]) }) == 1)
        #expect(try calls(reading: read, { context.reset() }) == 1)
        #expect(try calls(reading: read, { _ = try context.insertNewObject(forEntityName: "Artist") }) == 1)
        context.rollback()
        #expect(
            try calls(
                reading: { _ = try context.fetch(FetchRequest<Artist>()) }, { _ = Artist(context: context) }) == 0)
        context.rollback()
        context.isObservable = false
        #expect(try calls(reading: read, { _ = Artist(context: context) }) == 0)
    }

    @Test func `an undo manager tells once of each: whether it can undo and redo, number and names (MC-57)`() throws {
        let stack = try Stack(.inMemory)
        let undoManager = UndoStack()
        stack.context.undoManager = undoManager
        func add() {
            Artist(context: stack.context).name = "a"
            stack.context.processPendingChanges()
        }

        #expect(try calls(reading: { _ = undoManager.canUndo }, add) == 1)
        #expect(try calls(reading: { _ = undoManager.canUndo }, add) == 0, "it could undo before")
        #expect(try calls(reading: { _ = undoManager.undoCount }, add) == 1)
        #expect(try calls(reading: { _ = undoManager.undoActionName }, { undoManager.setActionName("Add") }) == 1)
        #expect(try calls(reading: { _ = undoManager.canRedo }, { try undoManager.undo() }) == 1)
        #expect(try calls(reading: { _ = undoManager.redoActionName }, { try undoManager.redo() }) == 1)
        #expect(try calls(reading: { _ = undoManager.redoCount }, { try undoManager.undo() }) == 1)
        #expect(try calls(reading: { _ = undoManager.canRedo }, add) == 1)
        #expect(try calls(reading: { _ = undoManager.canUndo }, { undoManager.removeAllActions() }) == 1)
        #expect(try calls(reading: {}, add) == 0)

        // An observer that changes what it observes is called once.
        let (here, count) = (Here(objects: undoManager), Calls())
        withObservationTracking {
            _ = undoManager.undoCount
        } onChange: {
            count.count.add(1, ordering: .relaxed)
            here.objects.registerUndo(withTarget: here.objects) { _ in }
        }
        undoManager.removeAllActions()
        #expect(count.count.load(ordering: .relaxed) == 1 && undoManager.canUndo)
    }

    @Test func `an undo group has no name when it begins, and observers are told of that (MC-57)`() throws {
        let undoManager = UndoStack()
        undoManager.groupsByEvent = false
        undoManager.registerUndo(withTarget: undoManager) { _ in }
        undoManager.setActionName("Add")

        let begun = try calls(reading: { _ = undoManager.undoActionName }, { undoManager.beginUndoGrouping() })
        #expect(begun == 1 && undoManager.undoActionName.isEmpty)
        let ended = try calls(reading: { _ = undoManager.undoActionName }, { try undoManager.endUndoGrouping() })
        #expect(ended == 1 && undoManager.undoActionName == "Add")
    }

    @Test func `an observer may read, change, save and delete in its call`() throws {
        let library = try Library()
        let (context, artist, albums) = (library.context, library.artist, library.albums)
        let here = Here(objects: (context, artist, albums[0]))
        for step in 0..<4 {
            withObservationTracking {
                _ = (artist.name, artist.albums)
            } onChange: {
                let (context, artist, album) = here.objects
                switch step {
                case 0: artist.name += "!"
                case 1: try? context.save()
                case 2: try? context.delete(album)
                default: context.rollback()
                }
            }
            artist.name = "Step \(step)"
        }

        // The last observer has rolled back to what the second one has saved.
        #expect(artist.name == "Step 1" && artist.albums == Set(albums))
        try context.save()
    }

    @Test func `an observed object is not retained, and its observers are forgotten with it`() throws {
        let library = try Library()
        library.context.retainsRegisteredObjects = false
        weak var token: Calls?
        weak var freed: Track?
        do {
            let (calls, track) = (Calls(), try #require(try library.context.fetch(FetchRequest<Track>()).last))
            withObservationTracking {
                _ = track.name
            } onChange: {
                calls.count.add(1, ordering: .relaxed)
            }
            (token, freed) = (calls, track)
            #expect(token != nil)
        }
        library.context.processPendingChanges()

        #expect(freed == nil && token == nil)
    }

    @Test func `a read of an object that has left its context keeps no observer`() throws {
        let library = try Library()
        let track = library.track
        try library.context.delete(track)
        try library.context.save()
        weak var token: Calls?
        do {
            let calls = Calls()
            withObservationTracking {
                _ = track.name
            } onChange: {
                calls.count.add(1, ordering: .relaxed)
            }
            token = calls
        }

        #expect(token == nil)
        // The context goes on following its objects.
        #expect(try calls(reading: { _ = library.artist.name }, { library.artist.name = "x" }) == 1)
    }

    @Test func `reads that nobody follows leave nothing behind, before and after one that is followed`() throws {
        let library = try Library()
        let (artist, album) = (library.artist, library.albums[0])
        for _ in 0..<3 { _ = (artist.name, album.title) }
        #expect(!artist.isObserved && !album.isObserved && !library.context.memory.hasObserved)

        #expect(try calls(reading: { _ = artist.name }, { artist.name = "a" }) == 1)
        for _ in 0..<3 { _ = (artist.name, album.title) }

        #expect(artist.isObserved && !album.isObserved)
        #expect(try calls(reading: { _ = album.title }, { artist.name = "b" }) == 0)
        #expect(try calls(reading: { _ = album.title }, { album.title = "x" }) == 1)
        #expect(try calls(reading: { _ = artist.founded }, { artist.founded = 1 }) == 1)
    }
}
