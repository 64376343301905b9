// The group to which changes belong that contexts have not registered when a group begins or ends, or gets a name
// (MC-54): an application changes objects between these calls and ends no event.

import Espalier
import EspalierModel
import Testing

@Suite struct UndoGroupTests {
    private let stack: Stack
    private var context: ManagedObjectContext { stack.context }
    private let undoManager = UndoStack()
    /// An artist with three albums.
    private let artist: Artist

    init() throws {
        stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 1)
        stack.context.undoManager = undoManager
        let request = FetchRequest<Artist>(try FetchPredicate(format: "name == 'Artist 2'"))
        artist = try #require(try stack.context.fetch(request).first)
    }

    @Test func `what waits when a group begins stays outside, and what waits when it ends is part of it (MC-54)`()
        throws
    {
        artist.name = "A"
        undoManager.beginUndoGrouping()
        artist.founded = 7
        try undoManager.endUndoGrouping()

        try undoManager.undoNestedGroup()

        #expect(artist.founded == 1952 && artist.name == "A")
        try context.undo()
        #expect(artist.name == "Artist 2" && !undoManager.canUndo && undoManager.redoCount == 2)
        for _ in 0..<2 { try context.redo() }
        #expect(artist.founded == 7 && artist.name == "A")
    }

    @Test func `a group without groups by event has what is changed in it, with its name (MC-54)`() throws {
        undoManager.groupsByEvent = false
        artist.name = "Before"
        undoManager.beginUndoGrouping()
        artist.name = "A"
        undoManager.setActionName("Rename")
        artist.founded = 7
        try undoManager.endUndoGrouping()
        context.processPendingChanges()
        #expect(undoManager.undoCount == 2 && undoManager.undoActionName == "Rename")

        try context.undo()

        #expect(artist.name == "Before" && artist.founded == 1952)
        #expect(undoManager.redoActionName == "Rename" && undoManager.undoActionName.isEmpty)
        try context.undo()
        #expect(artist.name == "Artist 2" && !undoManager.canUndo)
    }

    @Test func `a name is that of the changes before it, and not of the former event (MC-54)`() throws {
        artist.name = "A"
        undoManager.setActionName("Rename")
        context.processPendingChanges()
        artist.founded = 7
        undoManager.setActionName("Set Year")
        artist.founded = 8
        context.processPendingChanges()
        #expect(undoManager.undoCount == 2 && undoManager.undoActionName == "Set Year")

        try context.undo()

        #expect(artist.founded == 1952 && undoManager.undoActionName == "Rename")
        #expect(undoManager.redoActionName == "Set Year")
        try context.undo()
        #expect(artist.name == "Artist 2" && undoManager.redoActionName == "Rename")
    }

    @Test func `a name given in a transaction is that of its group, and is gone if it fails (MC-54)`()
        throws
    {
        struct Refusal: Error {}
        artist.name = "A"
        undoManager.setActionName("Rename")
        context.processPendingChanges()
        #expect(throws: Refusal.self) {
            try context.transaction {
                artist.founded = 7
                undoManager.setActionName("Set Year")
                throw Refusal()
            }
        }
        artist.founded = 8
        context.processPendingChanges()
        #expect(undoManager.undoCount == 2 && undoManager.undoActionName.isEmpty)

        try context.transaction {
            artist.founded = 9
            undoManager.setActionName("Set Year")
        }

        #expect(undoManager.undoCount == 3 && undoManager.undoActionName == "Set Year")
        try context.undo()
        #expect(artist.founded == 8 && undoManager.undoActionName.isEmpty)
        try context.undo()
        #expect(artist.founded == 1952 && undoManager.undoActionName == "Rename")
    }

    @Test func `a name given in a transaction is that of what it saves, also without groups by event (MC-54)`()
        throws
    {
        struct Refusal: Error {}
        undoManager.groupsByEvent = false
        artist.name = "A"
        undoManager.setActionName("Rename")
        #expect(throws: Refusal.self) {
            try context.transaction {
                artist.founded = 7
                undoManager.setActionName("Set Year")
                throw Refusal()
            }
        }
        artist.founded = 8
        context.processPendingChanges()
        #expect(undoManager.undoCount == 2 && undoManager.undoActionName.isEmpty)

        try context.transaction {
            artist.founded = 9
            undoManager.setActionName("Set Year")
        }

        #expect(undoManager.undoCount == 3 && undoManager.undoActionName == "Set Year")
        artist.founded = 10
        context.processPendingChanges()
        #expect(undoManager.undoCount == 4 && undoManager.undoActionName.isEmpty)
        for _ in 0..<2 { try context.undo() }
        #expect(artist.founded == 8 && undoManager.undoActionName.isEmpty && undoManager.redoActionName == "Set Year")
        try context.undo()
        #expect(artist.founded == 1952 && undoManager.undoActionName == "Rename")
    }

    @Test func `a name for changes of a transaction that are not registered is not that of later ones (MC-54)`()
        throws
    {
        undoManager.groupsByEvent = false
        try context.transaction {
            artist.founded = 7
            undoManager.setActionName("Set Year")
            undoManager.disableUndoRegistration()
        }
        try undoManager.enableUndoRegistration()

        artist.name = "A"
        context.processPendingChanges()

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName.isEmpty)
    }

    @Test func `a group of an application keeps the name that it had before a transaction in it that fails (MC-54)`()
        throws
    {
        struct Refusal: Error {}
        undoManager.groupsByEvent = false
        undoManager.beginUndoGrouping()
        undoManager.setActionName("Rename")
        #expect(throws: Refusal.self) {
            try context.transaction {
                artist.founded = 7
                throw Refusal()
            }
        }
        artist.name = "A"
        try undoManager.endUndoGrouping()

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName == "Rename")
    }

    @Test func `a group that an application begins in a transaction that fails keeps its name (MC-54)`() throws {
        struct Refusal: Error {}
        undoManager.groupsByEvent = false
        #expect(throws: Refusal.self) {
            try context.transaction {
                undoManager.beginUndoGrouping()
                undoManager.setActionName("Rename")
                artist.founded = 7
                throw Refusal()
            }
        }
        artist.name = "A"
        try undoManager.endUndoGrouping()

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName == "Rename")
    }

    @Test(arguments: [true, false], ["", "Rename"])
    func `a name given in a nested transaction that fails is not that of the changes before it (MC-54)`(
        _ groupsByEvent: Bool, _ name: String
    ) throws {
        struct Refusal: Error {}
        undoManager.groupsByEvent = groupsByEvent
        try context.transaction {
            artist.name = "A"
            if !name.isEmpty { undoManager.setActionName(name) }
            #expect(throws: Refusal.self) {
                try context.transaction {
                    artist.founded = 7
                    undoManager.setActionName("Set Year")
                    throw Refusal()
                }
            }
        }

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName == name)
        try context.undo()
        #expect(artist.name == "Artist 2" && artist.founded == 1952)
    }

    @Test func `a name given in a transaction that fails without a change is not that of the last event (MC-54)`()
        throws
    {
        struct Refusal: Error {}
        artist.name = "A"
        undoManager.setActionName("Rename")
        context.processPendingChanges()

        #expect(throws: Refusal.self) {
            try context.transaction {
                undoManager.setActionName("Set Year")
                throw Refusal()
            }
        }

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName == "Rename")
    }

    @Test(arguments: [true, false])
    func `a name given in a hook of a save that fails is not that of the changes before it (MC-54)`(
        _ groupsByEvent: Bool
    ) throws {
        undoManager.groupsByEvent = groupsByEvent
        artist.name = "A"
        let token = context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { [undoManager] message in
            undoManager.setActionName("Save")
            // The save reports this call, and fails.
            message.context.rollback()
        }
        #expect(throws: ContextError.self) { try context.save() }
        token.cancel()
        artist.founded = 7
        context.processPendingChanges()

        #expect(undoManager.undoCount == 1 && undoManager.undoActionName.isEmpty)
        try context.undo()
        #expect(artist.name == "Artist 2" && artist.founded == 1952)
    }

    @Test func `a deletion in a group is undone with it, and with what its delete rules have done (MC-12, MC-54)`()
        throws
    {
        let albums = Array(artist.albums)
        artist.name = "A"
        undoManager.beginUndoGrouping()
        try context.delete(artist)
        try undoManager.endUndoGrouping()
        #expect(albums.count == 3 && albums.allSatisfy(\.isDeleted))

        try undoManager.undoNestedGroup()

        #expect(!artist.isDeleted && artist.name == "A" && artist.albums == Set(albums))
        #expect(context.deletedObjects.isEmpty)
    }

    @Test func `what waits in each context that shares an undo manager is part of the group that ends (MC-54)`()
        throws
    {
        let other = stack.newContext()
        other.undoManager = undoManager
        undoManager.beginUndoGrouping()
        artist.name = "A"
        Listener(context: other).name = "Ann"
        try undoManager.endUndoGrouping()

        try undoManager.undoNestedGroup()

        #expect(artist.name == "Artist 2" && !other.hasChanges && undoManager.redoCount == 1)
    }

    @Test func `a group that begins and ends while registration is off registers nothing that waits (MC-54)`() throws {
        artist.name = "A"
        undoManager.disableUndoRegistration()
        undoManager.beginUndoGrouping()
        try undoManager.endUndoGrouping()
        undoManager.setActionName("Nothing")
        try undoManager.enableUndoRegistration()
        context.processPendingChanges()

        try context.undo()

        #expect(artist.name == "Artist 2")
    }

    @Test func `what an application's action changes in a context when it is undone is redone with it (MC-57)`()
        throws
    {
        artist.name = "A"
        context.processPendingChanges()
        undoManager.registerUndo(withTarget: artist) { $0.founded = 7 }
        try undoManager.undo()
        context.processPendingChanges()
        #expect(artist.founded == 7 && undoManager.undoCount == 1 && undoManager.redoCount == 1)

        try context.redo()

        #expect(artist.founded == 1952 && undoManager.undoCount == 2 && !undoManager.canRedo)
        try context.undo()
        #expect(artist.founded == 7 && artist.name == "A")
        try context.undo()
        #expect(artist.founded == 7 && artist.name == "Artist 2")
        for _ in 0..<2 { try context.redo() }
        #expect(artist.founded == 1952 && artist.name == "A")
    }

    @Test func `an application's action comes after what was changed before it, and is undone before (MC-57)`()
        throws
    {
        for groupsByEvent in [true, false] {
            undoManager.groupsByEvent = groupsByEvent
            artist.name = "A"
            undoManager.registerUndo(withTarget: artist) { $0.founded = $0.name == "A" ? 7 : 8 }
            #expect(undoManager.undoCount == (groupsByEvent ? 1 : 2))

            for _ in 0..<(groupsByEvent ? 1 : 2) { try context.undo() }

            #expect(artist.name == "Artist 2" && artist.founded == 7 && !undoManager.canUndo)
            context.rollback()
            #expect(artist.founded == 1952)
        }
    }

    @Test func `an action that an action registers comes after what that has changed before (MC-57)`() throws {
        undoManager.registerUndo(withTarget: artist) { [undoManager] artist in
            artist.name = "A"
            undoManager.registerUndo(withTarget: artist) { $0.founded = $0.name == "A" ? 7 : 8 }
        }
        try context.undo()
        #expect(artist.name == "A" && artist.founded == 1952)

        try context.redo()

        #expect(artist.name == "Artist 2" && artist.founded == 7)
    }

    @Test func `an application's action registers nothing that waits while registration is off (MC-54)`() throws {
        artist.name = "A"
        undoManager.disableUndoRegistration()
        undoManager.registerUndo(withTarget: artist) { $0.founded = 7 }
        try undoManager.enableUndoRegistration()
        context.processPendingChanges()

        try context.undo()

        #expect(artist.name == "Artist 2" && artist.founded == 1952 && !undoManager.canUndo)
    }
}
