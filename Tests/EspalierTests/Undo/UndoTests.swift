// Undoing and redoing in a context: the changes that form a group, the state that is restored, and the refusals (MC-53
// to MC-58).

import Espalier
import EspalierModel
import Testing

/// The `UndoError` that `body` throws, or `nil`.
func undoError(_ body: () throws -> Void) -> UndoError? {
    do {
        try body()
        return nil
    } catch {
        return error as? UndoError
    }
}

@Suite struct UndoTests {
    /// A stack whose context can undo, with an artist of three albums of two tracks each.
    private struct Scene {
        let stack: Stack
        var context: ManagedObjectContext { stack.context }
        let undoManager = UndoStack()
        let artist: Artist

        init(_ kind: StoreKind = .btree) throws {
            stack = try Stack(kind)
            try stack.makeMusic(artists: 3, tracks: 2)
            stack.context.undoManager = undoManager
            let request = FetchRequest<Artist>(try FetchPredicate(format: "name == 'Artist 2'"))
            artist = try #require(try stack.context.fetch(request).first)
        }

        /// The titles of the stored albums with the names of their tracks in order.
        func stored() throws -> [String: [String]] {
            let albums = try stack.stored(Album.self)
            return Dictionary(uniqueKeysWithValues: albums.map { ($0.title, $0.tracks.map(\.name)) })
        }
    }

    // MARK: Groups

    @Test func `what an event changes is undone and redone at once (MC-54, MC-57)`() throws {
        let scene = try Scene()
        scene.artist.name = "Miles"
        scene.artist.founded = 1926
        _ = try scene.context.count(for: FetchRequest<Album>())
        scene.artist.name = "Miles Davis"
        scene.undoManager.setActionName("Rename")
        scene.context.processPendingChanges()
        scene.artist.name = "Davis"

        try scene.context.undo()
        #expect(scene.artist.name == "Miles Davis" && scene.undoManager.undoActionName == "Rename")
        try scene.context.undo()
        #expect(scene.artist.name == "Artist 2" && scene.artist.founded == 1952)
        #expect(!scene.undoManager.canUndo && scene.undoManager.redoActionName == "Rename")
        try scene.context.redo()
        #expect(scene.artist.name == "Miles Davis" && scene.artist.founded == 1926)
        try scene.context.redo()
        #expect(scene.artist.name == "Davis" && !scene.undoManager.canRedo)
    }

    @Test func `a context has no undo manager at first (MC-53)`() throws {
        let stack = try Stack(.inMemory)
        #expect(stack.context.undoManager == nil)
        #expect(undoError { try stack.context.undo() } == .noUndoManager)
        #expect(undoError { try stack.context.redo() } == .noUndoManager)
    }

    @Test func `a new change leaves nothing to redo`() throws {
        let scene = try Scene()
        scene.artist.name = "A"
        try scene.context.undo()
        scene.artist.name = "B"
        #expect(undoError { try scene.context.redo() } == .nothingToRedo)
        #expect(scene.artist.name == "B")
        try scene.context.undo()
        #expect(undoError { try scene.context.undo() } == .nothingToUndo)
        #expect(scene.artist.name == "Artist 2")
    }

    @Test func `changes while registration is disabled stay when others are undone (MC-54)`() throws {
        let scene = try Scene()
        scene.artist.name = "A"
        scene.context.processPendingChanges()
        scene.undoManager.disableUndoRegistration()
        scene.artist.founded = 1
        scene.context.processPendingChanges()
        try scene.undoManager.enableUndoRegistration()
        try scene.context.undo()
        #expect(scene.artist.name == "Artist 2" && scene.artist.founded == 1)
        #expect(undoError { try scene.undoManager.enableUndoRegistration() } == .registrationIsEnabled)
    }

    @Test func `groups nest, and an inner one can be undone alone`() throws {
        let scene = try Scene()
        scene.undoManager.beginUndoGrouping()
        scene.artist.name = "A"
        scene.context.processPendingChanges()
        scene.undoManager.beginUndoGrouping()
        scene.artist.founded = 7
        scene.context.processPendingChanges()
        #expect(scene.undoManager.groupingLevel == 3)
        #expect(undoError { try scene.context.undo() } == .openGroup(level: 3))
        try scene.undoManager.endUndoGrouping()
        try scene.undoManager.undoNestedGroup()
        #expect(scene.artist.founded == 1952 && scene.artist.name == "A")
        try scene.undoManager.endUndoGrouping()
        #expect(undoError { try scene.undoManager.endUndoGrouping() } == .noGroup)
        try scene.context.undo()
        #expect(scene.artist.name == "Artist 2" && scene.undoManager.redoCount == 2)
        try scene.context.redo()
        try scene.context.redo()
        #expect(scene.artist.founded == 7 && scene.artist.name == "A")
    }

    @Test func `a nested group is undone alone, and leaves what the event has changed before`() throws {
        let scene = try Scene()
        scene.artist.name = "A"
        _ = try scene.context.count(for: FetchRequest<Album>())
        scene.undoManager.beginUndoGrouping()
        scene.artist.founded = 7
        scene.context.processPendingChanges()
        try scene.undoManager.endUndoGrouping()

        try scene.undoManager.undoNestedGroup()

        #expect(scene.artist.founded == 1952 && scene.artist.name == "A")
        try scene.context.undo()
        #expect(scene.artist.name == "Artist 2" && scene.undoManager.redoCount == 2)
    }

    @Test func `changes that wait when a nested group is undone come after it, and are undone with the event (MC-54)`()
        throws
    {
        let scene = try Scene()
        scene.undoManager.beginUndoGrouping()
        scene.artist.founded = 7
        scene.context.processPendingChanges()
        try scene.undoManager.endUndoGrouping()
        scene.artist.name = "A"

        try scene.undoManager.undoNestedGroup()

        #expect(scene.artist.founded == 1952 && scene.artist.name == "Artist 2")
        #expect(!scene.undoManager.canUndo && scene.undoManager.redoCount == 1)
        try scene.context.redo()
        #expect(scene.artist.founded == 7 && scene.artist.name == "A" && scene.undoManager.undoCount == 1)
        try scene.context.undo()
        #expect(scene.artist.founded == 1952 && scene.artist.name == "Artist 2")
    }

    @Test func `a nested group is not undone below a later change of the open group around it`() throws {
        let scene = try Scene()
        for _ in 0..<2 { scene.undoManager.beginUndoGrouping() }
        scene.artist.founded = 7
        scene.context.processPendingChanges()
        try scene.undoManager.endUndoGrouping()
        scene.artist.name = "A"

        #expect(undoError { try scene.undoManager.undoNestedGroup() } == .openGroup(level: 2))

        #expect(scene.artist.founded == 7 && scene.artist.name == "A")
        try scene.undoManager.endUndoGrouping()
        try scene.context.undo()
        #expect(scene.artist.founded == 1952 && scene.artist.name == "Artist 2")
        try scene.context.redo()
        #expect(scene.artist.founded == 7 && scene.artist.name == "A")
    }

    @Test func `what waits in contexts that share an undo manager is one group when an undo ends the event (MC-54)`()
        throws
    {
        let scene = try Scene()
        let others = (0..<3).map { _ in scene.stack.newContext() }
        for other in others {
            other.undoManager = scene.undoManager
            Listener(context: other).name = "Ann"
        }
        scene.artist.name = "A"

        try scene.undoManager.undo()

        #expect(scene.artist.name == "Artist 2" && others.allSatisfy { !$0.hasChanges })
        #expect(!scene.undoManager.canUndo && scene.undoManager.redoCount == 1)
    }

    @Test func `as many levels are kept as are wanted, of the newest groups`() throws {
        let scene = try Scene()
        scene.undoManager.levelsOfUndo = 3
        for year in 1...10 {
            scene.artist.founded = Int32(year)
            scene.context.processPendingChanges()
        }
        #expect(scene.undoManager.undoCount == 3)
        while scene.undoManager.canUndo { try scene.context.undo() }
        #expect(scene.artist.founded == 7 && scene.undoManager.redoCount == 3)
    }

    @Test func `without groups by event each action is a group of its own`() throws {
        let scene = try Scene()
        scene.undoManager.groupsByEvent = false
        for year in 1...2 {
            scene.artist.founded = Int32(year)
            _ = try scene.context.count(for: FetchRequest<Album>())
        }
        try scene.context.undo()
        #expect(scene.artist.founded == 1)
    }

    // MARK: Restored state

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a deletion is undone with all that went along, in its order, before and after a save (MC-56)`(
        _ kind: StoreKind, _ isSaved: Bool
    ) throws {
        let scene = try Scene(kind)
        let before = try scene.stored()
        let ids = try Set(scene.context.fetchIDs(FetchRequest<Track>()))
        let (playlist, owner) = (Playlist(context: scene.context), Listener(context: scene.context))
        (owner.name, playlist.name, playlist.owner) = ("Ann", "All", owner)
        playlist.tracks = Set(try scene.context.fetch(FetchRequest<Track>()))
        try scene.context.save()
        try scene.context.delete(scene.artist)
        if isSaved {
            try scene.context.saveAndCompare()
            #expect(try scene.stored().count == 3)
        }

        try scene.context.undo()

        #expect(scene.artist.isInserted == isSaved && !scene.artist.isDeleted && scene.artist.albums.count == 3)
        #expect(playlist.tracks.count == 12)
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == before)
        #expect(try Set(scene.stack.newContext().fetchIDs(FetchRequest<Track>())) == ids)
        #expect(try scene.stack.stored(Playlist.self).map(\.tracks.count) == [12])

        try scene.context.redo()

        #expect(scene.artist.isDeleted && playlist.tracks.count == 6)
        try scene.context.saveAndCompare()
        #expect(try scene.stored().count == 3)
    }

    @Test(arguments: [false, true])
    func `an insertion is undone, and redone as the same object with its values`(_ isSaved: Bool) throws {
        let scene = try Scene()
        let album = Album(context: scene.context)
        (album.title, album.artist) = ("New", scene.artist)
        if isSaved { try scene.context.save() }
        let id = album.objectID

        try scene.context.undo()
        #expect(scene.artist.albums.count == 3 && album.isDeleted == isSaved)
        try scene.context.saveAndCompare()
        #expect(try scene.stored().count == 6 && album.managedObjectContext == nil)

        try scene.context.redo()
        #expect(album.title == "New" && album.artist == scene.artist && scene.artist.albums.count == 4)
        try scene.context.saveAndCompare()
        #expect(try scene.stored().count == 7 && (!isSaved || album.objectID == id))
    }

    @Test func `objects come back to where they stood in an order`() throws {
        let scene = try Scene()
        let album = try #require(scene.artist.albums.first)
        for number in 2..<6 {
            let track = Track(context: scene.context)
            (track.name, track.album) = ("\(number)", album)
        }
        try scene.context.save()
        let before = album.tracks
        album.tracks.swapAt(0, 5)
        album.tracks.remove(at: 3)
        scene.context.processPendingChanges()
        try scene.context.delete(before[2])
        scene.context.processPendingChanges()
        before[1].album = nil

        for _ in 0..<3 { try scene.context.undo() }
        #expect(album.tracks == before)
        for _ in 0..<3 { try scene.context.redo() }
        #expect(album.tracks == [before[5], before[4], before[0]])
        for _ in 0..<3 { try scene.context.undo() }
        try scene.context.saveAndCompare()
        #expect(try scene.stored()[album.title] == before.map(\.name))
    }

    @Test func `undoing after a save makes changes for the next one (MC-56)`() throws {
        let scene = try Scene()
        scene.artist.name = "Saved"
        try scene.context.save()
        #expect(scene.undoManager.undoCount == 1)
        try scene.context.undo()
        #expect(scene.artist.isUpdated && scene.artist.name == "Artist 2")
        try scene.context.saveAndCompare()
        try scene.context.redo()
        try scene.context.saveAndCompare()
        #expect(scene.artist.name == "Saved")
    }

    @Test func `what hooks set of an object that is saved is undone with the event`() throws {
        let stack = try Stack(.inMemory, classes: [Stamped.self])
        stack.context.undoManager = UndoStack()
        let stamped = Stamped(context: stack.context)
        try stack.context.save()
        #expect(stamped.stamp == 1)
        stamped.number = 5
        try stack.context.save()
        #expect(stamped.stamp == 2)
        try stack.context.undo()
        #expect(stamped.number == 0 && stamped.stamp == 1)
        #expect(undoError { try stamped.undoInHook(stack.context) } == .contextIsSaving)
    }

    // MARK: Changes that cannot be undone

    @Test func `what others have saved is not undone, nor does it hinder undoing`() throws {
        let scene = try Scene()
        scene.context.automaticallyMergesChangesFromParent = true
        scene.artist.name = "Mine"
        scene.context.processPendingChanges()
        let other = scene.stack.newContext()
        let theirs = try #require(try other.existingObject(with: scene.artist.objectID) as? Artist)
        theirs.founded = 1
        let album = Album(context: other)
        (album.title, album.artist) = ("Theirs", theirs)
        try other.save()
        scene.context.processPendingChanges()
        #expect(scene.undoManager.undoCount == 1)
        try scene.context.undo()
        #expect(scene.artist.name == "Artist 2" && scene.artist.founded == 1 && scene.artist.albums.count == 4)
        scene.context.refreshAllObjects()
        #expect(undoError { try scene.context.undo() } == .nothingToUndo)
    }

    @Test(arguments: [false, true])
    func `rollback and reset leave nothing to undo (MC-29, MC-30)`(_ resets: Bool) throws {
        let scene = try Scene()
        scene.artist.name = "A"
        scene.context.processPendingChanges()
        scene.artist.name = "B"
        if resets { scene.context.reset() } else { scene.context.rollback() }
        #expect(undoError { try scene.context.undo() } == .nothingToUndo)
        #expect(!scene.undoManager.canRedo && !scene.context.hasChanges)
    }

    @Test func `a save that fails leaves what can be undone as it was`() throws {
        let scene = try Scene()
        scene.artist.name = "A"
        scene.artist.albums.first?.tracks.first?.seconds = 1
        let playlists = (0..<2).map { _ in Playlist(context: scene.context) }
        for playlist in playlists { playlist.name = "Same" }
        #expect(contextError { try scene.context.save() } != nil)
        try scene.context.undo()
        #expect(!scene.context.hasChanges || scene.context.insertedObjects.isEmpty)
        #expect(scene.artist.name == "Artist 2" && playlists.allSatisfy { $0.managedObjectContext == nil })
        try scene.context.saveAndCompare()
    }

    @Test func `actions of an application's own are undone among the changes of contexts`() throws {
        let scene = try Scene()
        let field = Field()
        field.set("one", scene.undoManager)
        scene.artist.name = "A"
        try scene.context.undo()
        #expect(field.text.isEmpty && scene.artist.name == "Artist 2")
        try scene.context.redo()
        #expect(field.text == "one" && scene.artist.name == "A")
        let other = scene.stack.newContext()
        other.undoManager = scene.undoManager
        Listener(context: other).name = "Ann"
        try scene.undoManager.undo()
        #expect(!other.hasChanges && scene.artist.name == "A")
        scene.undoManager.registerUndo(withTarget: field) { [undoManager = scene.undoManager] _ in
            #expect(undoManager.isUndoing && !undoManager.isRedoing)
            #expect(undoError { try undoManager.undo() } == .isBusy)
        }
        try scene.undoManager.undo()
        scene.undoManager.removeAllActions()
        #expect(!scene.undoManager.canUndo && !scene.undoManager.canRedo)
    }
}

/// An object with a hook that changes it.
private final class Stamped: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Stamped",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("stamp", Int.self, defaultValue: 0),
            ])
    }
    override class var entityName: String { "Stamped" }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var stamp: Int {
        get { _get("stamp", at: 1) }
        set { _set("stamp", at: 1, newValue) }
    }
    private var isStamped = false
    private var error: (any Error)?

    override func willSave() {
        do { try managedObjectContext?.undo() } catch { self.error = error }
        if !isStamped { stamp += 1 }
        isStamped = true
    }
    override func didSave() { isStamped = false }

    func undoInHook(_ context: ManagedObjectContext) throws {
        number += 1
        try context.save()
        if let error { throw error }
    }
}

/// A part of an application that belongs to no context.
private final class Field {
    private(set) var text = ""

    func set(_ text: String, _ undoManager: UndoStack) {
        let former = self.text
        undoManager.registerUndo(withTarget: self) { $0.set(former, undoManager) }
        self.text = text
    }
}
