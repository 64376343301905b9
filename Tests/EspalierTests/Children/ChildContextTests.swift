// Child contexts: what they read of their parent, and what their saves make of it (MC-06, MC-43 to MC-46).

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct ChildContextTests {
    /// The names that a context finds, in order.
    private func names(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")])).map(\.name)
    }

    private func artist(_ name: String, in context: ManagedObjectContext) throws -> Artist {
        let request = FetchRequest<Artist>(try FetchPredicate(format: "name == %@", name))
        return try #require(try context.fetch(request).first)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child has a parent and its coordinator, at any depth (MC-06)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        var context = stack.context
        for _ in 0..<5 {
            let child = ManagedObjectContext(parent: context)
            #expect(child.parent === context && child.persistentStoreCoordinator === stack.coordinator)
            context = child
        }
        #expect(stack.context.parent == nil)

        Artist(context: context).name = "deep"
        var next: ManagedObjectContext? = context
        while let saving = next {
            #expect(try stack.stored(Artist.self).isEmpty)
            try saving.save()
            next = saving.parent
        }

        #expect(try stack.stored(Artist.self).map(\.name) == ["deep"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a child's save makes unsaved changes of its parent, and the store waits for the root (MC-43)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let renamed = try artist("Artist 0", in: child)
        renamed.name = "Artist 9"
        try child.delete(artist("Artist 1", in: child))
        let new = Artist(context: child)
        new.name = "Artist 5"
        #expect(!root.hasChanges)

        try child.save()

        #expect(!child.hasChanges && root.hasChanges)
        #expect(root.insertedObjects.map(\.objectID) == [new.objectID])
        #expect(root.updatedObjects.map(\.objectID) == [renamed.objectID])
        // The deletion has taken two albums with a track each.
        #expect(root.deletedObjects.count == 5)
        #expect(try names(root) == ["Artist 2", "Artist 5", "Artist 9"])
        #expect(try stack.stored(Artist.self).map(\.name).sorted() == ["Artist 0", "Artist 1", "Artist 2"])
        try root.saveAndCompare()
        #expect(try stack.stored(Artist.self).map(\.name).sorted() == ["Artist 2", "Artist 5", "Artist 9"])
    }

    @Test(arguments: StoreKind.allCases)
    func `fetches, counts, faults and relationships of a child see what its parent has not saved (MC-44)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 4, tracks: 2)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let zoe = Artist(context: root)
        (zoe.name, zoe.founded) = ("Zoe", 1951)
        let album = try artist("Artist 3", in: root).albums.first
        album?.artist = zoe
        try root.delete(artist("Artist 0", in: root))
        try artist("Artist 2", in: root).name = "Bea"

        #expect(try names(child) == ["Artist 1", "Artist 3", "Bea", "Zoe"])
        var request = FetchRequest<Artist>(
            try FetchPredicate(format: "founded >= 1951"), sortedBy: [SortKey("name", ascending: false)])
        #expect(try child.count(for: request) == 4)
        (request.fetchOffset, request.fetchLimit) = (1, 2)
        #expect(try child.fetch(request).map(\.name) == ["Bea", "Artist 3"])
        #expect(try child.count(for: request) == 2 && child.fetchIDs(request).count == 2)
        let albums = FetchRequest<Album>(try FetchPredicate(format: "artist.name == 'Zoe'"))
        #expect(try child.fetch(albums).map(\.objectID) == [album?.objectID])
        #expect(try child.count(for: FetchRequest<Track>()) == 18)
        let found = try artist("Zoe", in: child)
        #expect(found.albums.map(\.objectID) == [album?.objectID] && found.albums.first?.tracks.count == 2)
        #expect(try artist("Artist 3", in: child).albums.count == 3)
        #expect(found.albums.first?.artist === found && found.isInserted == false && !child.hasChanges)
        #expect(try child.explain(albums).last?.contains("parent context") == true)
        let analysis = try child.analyze(albums)
        #expect(analysis.action.hasPrefix("parent context") && !analysis.sources.isEmpty)
        #expect(analysis.foundCount == (try child.fetch(albums).count))
        var walked: [String] = []
        try child.enumerate(FetchRequest<Artist>(sortedBy: [SortKey("name")]), batchSize: 2) { walked.append($0.name) }
        #expect(walked == ["Artist 1", "Artist 3", "Bea", "Zoe"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a child follows its parent unless it is told to read one moment (MC-44)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let still = ManagedObjectContext(parent: root)
        still.automaticallyMergesChangesFromParent = false
        let (shown, kept) = (try artist("Artist 0", in: child), try artist("Artist 0", in: still))
        #expect(shown.albums.count == 1)

        try artist("Artist 0", in: root).name = "Bea"
        try root.delete(artist("Artist 1", in: root))
        child.processPendingChanges()

        #expect(shown.name == "Bea")
        #expect(try names(child) == ["Bea"])
        #expect(try names(still) == ["Artist 0", "Artist 1"])
        still.refreshAllObjects()
        #expect(try names(still) == ["Bea"] && kept.name == "Bea")
    }

    @Test(arguments: StoreKind.allCases)
    func `a child at any depth finds a new object of a parent by the ID that it has there (MC-25, MC-45)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let grandchild = ManagedObjectContext(parent: child)
        #expect(try grandchild.count(for: FetchRequest<Artist>()) == 0)
        for draft in [grandchild, child, ManagedObjectContext(parent: root)] {
            let (new, other) = (Artist(context: root), Artist(context: root))
            (new.name, other.name) = ("new", "other")
            let ref = Ref(new)
            #expect(ref.id.isTemporary)
            let seen = try draft.existingObject(with: ref)
            #expect(seen.name == "new" && seen.objectID == new.objectID)
            #expect(!new.objectID.isTemporary && new.isInserted)
            let late = Artist(context: root)
            late.name = "late"
            #expect(try draft.object(with: Ref(late)).name == "late")
            seen.name = "newer"
            try draft.save()
        }
        try child.save()
        #expect(root.insertedObjects.count { ($0 as? Artist)?.name == "newer" } == 3)
        try root.save()
        #expect(try stack.stored(Artist.self).count == 9)

        // No other context knows a temporary ID: neither a sibling, nor one without that parent.
        let (sibling, gone) = (ManagedObjectContext(parent: root), Artist(context: root))
        let unknown = [Artist(context: sibling).objectID, Artist(context: child).objectID, gone.objectID]
        try root.delete(gone)
        for (context, id) in zip([child, sibling, child], unknown) {
            #expect(contextError { _ = try context.existingObject(with: id) }?.code == 133000)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a temporary ID leads to its object until the save, also after a child has read that (MC-25, MC-45)`(
        _ kind: StoreKind
    ) throws {
        struct Refusal: Error {}
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let new = Artist(context: root)
        new.name = "new"
        let ref = Ref(new)
        #expect(try artist("new", in: child).objectID == new.objectID && !new.objectID.isTemporary)

        #expect(throws: Refusal.self) { try root.transaction { throw Refusal() } }

        #expect(try root[ref] === new && root.registeredObject(for: ref) === new)
        for context in [child, ManagedObjectContext(parent: child)] {
            #expect(try context[ref].objectID == new.objectID)
        }
        try root.save()
        for context in [root, child] { #expect(contextError { _ = try context[ref] }?.code == 133000) }
        #expect(root.registeredObject(for: ref) == nil)
        let other = Artist(context: root)
        let late = Ref(other)
        try root.obtainPermanentIDs(for: [other])
        #expect(try root[late] === other)
        root.rollback()
        #expect(contextError { _ = try root[late] }?.code == 133000)
    }

    @Test(arguments: StoreKind.allCases)
    func `IDs are permanent in a child before the root saves, and stay the same (MC-45)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let above = Artist(context: root)
        above.name = "above"
        let seen = try artist("above", in: child)
        #expect(!seen.objectID.isTemporary && seen.objectID == above.objectID)
        let (new, album) = (Artist(context: child), Album(context: child))
        (new.name, album.title, album.artist) = ("new", "first", new)
        #expect(new.objectID.isTemporary)

        try child.save()

        let id = new.objectID
        #expect(!id.isTemporary && root.registeredObject(for: id)?.isInserted == true)
        #expect(album.artist === new && !album.objectID.isTemporary)
        try root.save()
        #expect(new.objectID == id && seen.objectID == above.objectID)
        #expect(try child.existingObject(with: id) === new)
        #expect(try stack.newContext().existingObject(with: id).objectID == id)
        new.name = "newer"
        try child.save()
        try root.save()
        #expect(try stack.stored(Artist.self).map(\.name).sorted() == ["above", "newer"])
    }

    @Test(arguments: StoreKind.allCases)
    func `the second child that changes a property finds a conflict, and its policy decides (MC-46)`(
        _ kind: StoreKind
    ) throws {
        let policies: [(MergePolicy, String)] = [
            (.objectTrump, "second"), (.overwrite, "second"), (.storeTrump, "first"), (.rollback, "first"),
        ]
        for (policy, expected) in policies {
            for merges in [true, false] {
                let stack = try Stack(kind)
                try stack.makeMusic(artists: 1, tracks: 1)
                let (first, second) = (
                    ManagedObjectContext(parent: stack.context), ManagedObjectContext(parent: stack.context)
                )
                second.automaticallyMergesChangesFromParent = merges
                let (one, two) = (try artist("Artist 0", in: first), try artist("Artist 0", in: second))
                two.name = "second"
                one.name = "first"
                try first.save()

                let error = try #require(contextError { try second.save() })
                guard case .conflicts(let conflicts) = error, let property = conflicts[0].properties.first else {
                    Issue.record("\(error)")
                    return
                }
                #expect(conflicts.map(\.object) == [two.objectID] && property.name == "name")
                #expect(property.mine == .string("second") && property.stored == .string("first"))
                #expect(try names(stack.context) == ["first"] && two.name == "second" && second.hasChanges)
                second.mergePolicy = policy
                try second.save()

                #expect(try names(stack.context) == [expected] && two.name == expected)
                try stack.context.save()
                #expect(try stack.stored(Artist.self).map(\.name) == [expected])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `children that change different properties and members of one object are no conflict`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 3)
        let (first, second) = (ManagedObjectContext(parent: stack.context), ManagedObjectContext(parent: stack.context))
        let (one, two) = (try artist("Artist 0", in: first), try artist("Artist 0", in: second))
        one.name = "first"
        two.founded = 1999
        for (artist, context) in [(one, first), (two, second)] {
            let album = Album(context: context)
            (album.title, album.artist) = ("more", artist)
        }
        let album = try #require(one.albums.first { $0.title != "more" })
        album.tracks.append(album.tracks.removeFirst())

        try first.save()
        try second.save()

        try stack.context.saveAndCompare()
        let stored = try #require(try stack.stored(Artist.self).first)
        #expect(stored.name == "first" && stored.founded == 1999 && stored.albums.count == 3)
        #expect(stored.albums.first { $0.title != "more" }?.tracks.map(\.seconds) == [101, 102, 100])
        first.processPendingChanges()
        one.founded = 2000
        try first.save()
        #expect(two.founded == 1999)
        second.processPendingChanges()
        #expect(two.founded == 2000)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child goes on with what it has read when its parent saves it`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let root = stack.context
        try artist("Artist 0", in: root).name = "a"
        let (child, still) = (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
        still.automaticallyMergesChangesFromParent = false
        let (one, two) = (try artist("a", in: child), try artist("a", in: still))
        one.founded = 1
        two.founded = 2

        try root.save()

        try child.save()
        try root.save()
        #expect(try stack.stored(Artist.self).map(\.founded) == [1])
        guard case .conflicts? = contextError({ try still.save() }) else {
            Issue.record("the parent has another value now")
            return
        }
        still.rollback()
        still.refreshAllObjects()
        two.founded = 3
        try root.save()
        try still.save()
        try root.save()
        #expect(try stack.stored(Artist.self).map(\.founded) == [3])
    }

    @Test(arguments: StoreKind.allCases)
    func `releasing a child cancels its changes`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        var draft: ManagedObjectContext? = ManagedObjectContext(parent: stack.context)
        weak let ended = draft
        if let draft {
            try artist("Artist 0", in: draft).name = "draft"
            try draft.delete(artist("Artist 1", in: draft))
            _ = Artist(context: draft)
        }

        draft = nil

        #expect(ended == nil && !stack.context.hasChanges)
        #expect(try names(stack.context) == ["Artist 0", "Artist 1"])
    }

    @Test(arguments: StoreKind.allCases)
    func `delete rules run in a child on what its parent shows`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        // Only the parent knows that this artist has the albums of the other, and which playlist has their tracks.
        let (first, second) = (try artist("Artist 0", in: root), try artist("Artist 1", in: root))
        for album in second.albums { album.artist = first }
        let (listener, playlist) = (Listener(context: root), Playlist(context: root))
        (listener.name, playlist.name, playlist.owner) = ("Lea", "mine", listener)
        playlist.tracks = Set(try root.fetch(FetchRequest<Track>()))

        try child.delete(artist("Artist 0", in: child))
        try child.save()

        #expect(first.isDeleted && root.deletedObjects.count == 1 + 3 + 6 && playlist.tracks.isEmpty)
        #expect(try child.count(for: FetchRequest<Album>()) == 0)
        let lea = try #require(try child.fetch(FetchRequest<Listener>()).first)
        try child.delete(lea)
        let denied = violations { try child.save() }
        #expect(denied.map(\.property) == ["playlists"] && denied.map(\.code) == [1600])
        child.rollback()
        try root.saveAndCompare()
        #expect(try stack.stored(Track.self).isEmpty && stack.stored(Playlist.self)[0].tracks.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a parent that has deleted objects before shows a child all that goes with them`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        let listener = Listener(context: stack.context)
        listener.name = "Lea"
        let root = stack.newContext()
        listener.favourite = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")])).first
        try stack.context.save()
        try root.delete(artist("Artist 0", in: root))
        // The rules run here on the artist alone: no album is in memory.
        root.processPendingChanges()
        #expect(root.registeredObjects.count(where: \.isDeleted) == 1)

        let child = ManagedObjectContext(parent: root)

        #expect(try child.count(for: FetchRequest<Album>()) == 2 && child.count(for: FetchRequest<Track>()) == 4)
        #expect(try child.fetch(FetchRequest<Listener>()).map(\.favourite) == [nil])
        #expect(try child.count(for: FetchRequest<Listener>(try FetchPredicate(format: "favourite == nil"))) == 1)
        #expect(try root.fetch(FetchRequest<Listener>()).count == 1)
        try root.saveAndCompare()
        #expect(try stack.stored(Track.self).count == 4)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child's save is one step of its parent's undo manager`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        root.undoManager = UndoStack()
        try artist("Artist 1", in: root).founded = 7
        let one = try artist("Artist 0", in: child)
        one.name = "Bea"
        one.albums.first?.title = "title"
        let album = Album(context: child)
        (album.title, album.artist) = ("new", one)
        try child.delete(artist("Artist 1", in: child))
        try child.save()
        #expect(try names(root) == ["Bea"] && root.count(for: FetchRequest<Album>()) == 2)

        try root.undo()

        #expect(try names(root) == ["Artist 0", "Artist 1"] && root.count(for: FetchRequest<Album>()) == 3)
        #expect(try artist("Artist 1", in: root).founded == 7)
        #expect(try names(child) == ["Artist 0", "Artist 1"])
        try root.redo()
        #expect(try names(root) == ["Bea"] && names(child) == ["Bea"])
        #expect(try artist("Bea", in: child).albums.map(\.title).sorted() == ["new", "title"])
        try root.saveAndCompare()
        #expect(try stack.stored(Album.self).map(\.title).sorted() == ["new", "title"])
    }

    @Test(arguments: StoreKind.allCases)
    func `observers of a parent are told of a child's save as one event`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let (kept, gone) = (try artist("Artist 0", in: root), try artist("Artist 1", in: root))
        var events: [ManagedObjectContext.ObjectsDidChangeMessage] = []
        let token = root.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { events.append($0) }
        try artist("Artist 0", in: child).name = "Bea"
        try child.delete(artist("Artist 1", in: child))
        let new = Artist(context: child)
        new.name = "new"

        try child.save()

        #expect(events.count == 1 && events.first?.updated == [kept] && events.first?.deleted.contains(gone) == true)
        #expect(events.first?.inserted.map(\.objectID) == [new.objectID])
        withExtendedLifetime(token) {}
    }

    @Test(arguments: StoreKind.allCases)
    func `a constraint is checked when the root saves, and the child can correct the value (MD-14)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let listener = Listener(context: child)
        listener.name = "Lea"
        let lists = (0..<2).map { _ in Playlist(context: child) }
        for list in lists { (list.name, list.owner) = ("same", listener) }

        try child.save()

        guard case .constraints? = contextError({ try root.save() }) else {
            Issue.record("the root must find two lists of one name")
            return
        }
        lists[1].name = "other"
        try child.save()
        try root.save()
        #expect(try stack.stored(Playlist.self).map(\.name).sorted() == ["other", "same"])
    }

    @Test func `each object of a tree goes to the store of its entity`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let stores = (0..<2).map { _ in InMemoryStore(model: coordinator.managedObjectModel) }
        coordinator.add(stores[0], entityNames: ["Listener"])
        coordinator.add(stores[1], entityNames: ["Artist", "Album", "Track", "Playlist"])
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: ManagedObjectContext(parent: root))
        let (artist, listener) = (Artist(context: child), Listener(context: child))
        (artist.name, listener.name) = ("Ada", "Lea")

        try child.save()
        try child.parent?.save()
        #expect(try child.count(for: FetchRequest<Artist>()) == 1 && child.count(for: FetchRequest<Listener>()) == 1)
        try root.save()

        #expect(coordinator.persistentStore(for: artist.objectID) === stores[1])
        #expect(coordinator.persistentStore(for: listener.objectID) === stores[0])
        #expect(try ManagedObjectContext(coordinator).count(for: FetchRequest<Artist>()) == 1)
    }
}
