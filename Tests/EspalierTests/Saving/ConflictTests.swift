// Two contexts change one row: the result under each merge policy.

import Dispatch
import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct ConflictTests {
    /// A stack, and an artist that both contexts have read and in which the other context has saved name "Theirs" and
    /// founded 2000.
    private func makeConflict(_ kind: StoreKind, _ policy: MergePolicy) throws -> (Stack, mine: Artist) {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        stack.context.mergePolicy = policy
        let mine = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        _ = mine.name
        let other = stack.newContext()
        let theirs = try #require(try other.fetch(FetchRequest<Artist>()).first)
        (theirs.name, theirs.founded) = ("Theirs", 2000)
        try other.saveAndCompare()
        return (stack, mine)
    }

    private func storedValues(_ stack: Stack) throws -> [String?] {
        try stack.stored(Artist.self).flatMap { [$0.name, $0.founded.map { "\($0)" }] }
    }

    @Test(arguments: StoreKind.allCases)
    func `by default the save fails with both values, and can be repeated after a refresh`(_ kind: StoreKind) throws {
        let (stack, mine) = try makeConflict(kind, .error)
        mine.name = "Mine"

        guard case .conflicts(let conflicts)? = contextError({ try stack.context.saveAndCompare() }) else {
            Issue.record("no conflict")
            return
        }
        #expect(conflicts.map(\.object) == [mine.objectID])
        let name = try #require(conflicts[0].properties.first { $0.name == "name" })
        #expect(name.base == .string("Artist 0") && name.mine == .string("Mine") && name.stored == .string("Theirs"))
        #expect(mine.isUpdated && mine.name == "Mine" && mine.founded == 1950)

        stack.context.refresh(mine, mergesChanges: true)
        try stack.context.saveAndCompare()
        #expect(try storedValues(stack) == ["Mine", "2000"])
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            (MergePolicy.objectTrump, ["Mine", "2000"]), (.storeTrump, ["Theirs", "2000"]),
            (.overwrite, ["Mine", "1950"]), (.rollback, ["Theirs", "2000"]),
        ])
    func `each policy decides per property`(_ kind: StoreKind, _ expected: (MergePolicy, [String])) throws {
        let (stack, mine) = try makeConflict(kind, expected.0)
        mine.name = "Mine"

        try stack.context.saveAndCompare()

        #expect(try storedValues(stack) == expected.1)
        #expect([mine.name, "\(mine.founded ?? 0)"] == expected.1 && !mine.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `changing what somebody else has deleted is a conflict, deleting it is none`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 0)
        let mine = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        // The object is in use: it keeps its values when the context advances with its save.
        #expect(mine[1].name == "Artist 1")
        let other = stack.newContext()
        for object in try other.fetch(FetchRequest<Artist>()) { try other.delete(object) }
        try other.saveAndCompare()

        try stack.context.delete(mine[0])
        try stack.context.save()
        mine[1].name = "Mine"
        guard case .conflicts(let conflicts)? = contextError({ try stack.context.saveAndCompare() }) else {
            Issue.record("no conflict")
            return
        }
        #expect(conflicts.first?.newVersion == nil && conflicts.first?.object == mine[1].objectID)

        stack.context.mergePolicy = .overwrite
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Artist.self).map(\.name) == ["Mine"])
    }

    @Test(arguments: StoreKind.allCases)
    func `two contexts may add to one set`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        for context in [stack.context, stack.newContext()] {
            let artist = try #require(try context.fetch(FetchRequest<Artist>()).first)
            let album = Album(context: context)
            (album.title, album.artist) = ("New", artist)
            try context.saveAndCompare()
        }
        #expect(try stack.stored(Artist.self).first?.albums.count == 3)
    }

    @Test func `a merge under unsaved changes keeps both sides of relationships equal`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 1)
        stack.context.automaticallyMergesChangesFromParent = true
        let order = [SortKey("name")]
        let mine = try stack.context.fetch(FetchRequest<Artist>(sortedBy: order))
        let album = try #require(mine[0].albums.first)
        let playlist = Playlist(context: stack.context)
        let owner = Listener(context: stack.context)
        (playlist.name, playlist.owner, owner.name) = ("Evening", owner, "Ann")
        try stack.context.saveAndCompare()
        let track = try #require(album.tracks.first)
        album.artist = mine[1]
        playlist.tracks.insert(track)
        let other = stack.newContext()
        let theirs = try other.fetch(FetchRequest<Artist>(sortedBy: order))
        (try other.existingObject(with: album.objectID) as? Album)?.artist = theirs[2]
        let sameTrack = try #require(try other.existingObject(with: track.objectID) as? Track)
        (try other.existingObject(with: playlist.objectID) as? Playlist)?.tracks.insert(sameTrack)
        try other.saveAndCompare()

        stack.context.processPendingChanges()

        #expect(album.artist === mine[1] && mine.map { $0.albums.contains(album) } == [false, true, false])
        #expect(try playlist.objectIDs(forRelationshipNamed: "tracks") == [track.objectID])
        // Both contexts have moved the album to another artist: the policy decides.
        stack.context.mergePolicy = .objectTrump
        try stack.context.saveAndCompare()
        #expect(mine.map { $0.albums.contains(album) } == [false, true, false])
        #expect(try stack.stored(Artist.self).map(\.albums.count).sorted() == [0, 3, 3])
    }

    @Test func `an unchanged object can be held to its version`() throws {
        let (stack, mine) = try makeConflict(.inMemory, .error)
        let album = Album(context: stack.context)
        album.title = "New"
        try stack.context.detectConflicts(for: mine)

        #expect(throws: ContextError.self) { try stack.context.saveAndCompare() }
        stack.context.refresh(mine, mergesChanges: false)
        try stack.context.detectConflicts(for: mine)
        try stack.context.saveAndCompare()
    }

    @Test func `a save of another context arrives at the next event`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 0)
        stack.context.automaticallyMergesChangesFromParent = true
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let albums = artists.map { $0.albums.count }
        artists[1].founded = 1
        let other = stack.newContext()
        let theirs = try other.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        try other.delete(theirs[0])
        theirs[1].name = "Theirs"
        let album = Album(context: other)
        (album.title, album.artist) = ("New", theirs[1])
        try other.saveAndCompare()

        #expect(artists[1].name == "Artist 1")
        stack.context.processPendingChanges()

        #expect(artists[1].name == "Theirs" && artists[1].founded == 1)
        #expect(artists[1].albums.count == albums[1] + 1)
        #expect(artists[0].isDeleted && artists[0].name == "Artist 0")
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Artist.self).map(\.founded) == [1])
    }

    @Test func `a conflict with a save whose sync still runs is resolved by the row that it saves`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Note", attributes: [AttributeDescription("a", .integer64), AttributeDescription("b", .integer64)])
        ])
        let system = SimulatedFileSystem(seed: 1)
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        let store = try BTreeStore.open(
            try Database.open("notes", in: system, options: options), path: nil, model: model)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let first = ManagedObjectContext(coordinator)
        let note = try first.insertNewObject(forEntityName: "Note")
        try first.save()
        let id = note.objectID
        try note.setValue(.integer(1), forKey: "a")
        // The sync of the first save lasts until the second one has been answered, or for a while.
        let questionCount = Mutex(0)
        let hasSynced = Mutex(false)
        let (isRead, isSyncing, isSaved) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let failure = Mutex<String?>(nil)
        let thread = Thread {
            defer { isSaved.signal() }
            do {
                let second = ManagedObjectContext(coordinator)
                second.mergePolicy = MergePolicy { conflict, _ in
                    questionCount.withLock { $0 += 1 }
                    return MergeResolution(.objectTrump)
                }
                let same = try second.existingObject(with: id)
                try same.setValue(.integer(2), forKey: "b")
                isRead.signal()
                isSyncing.wait()
                try second.save()
                guard same[attribute: "a"] == .integer(1) else { throw ContextError.objectNotFound(id) }
            } catch {
                failure.withLock { $0 = "\(error)" }
                isRead.signal()
            }
        }
        thread.start()
        isRead.wait()
        system.beforeEachCall { operation, role in
            guard operation == .sync, role == .log else { return }
            let isFirst = hasSynced.withLock { hasSynced in
                defer { hasSynced = true }
                return !hasSynced
            }
            guard isFirst else { return }
            isSyncing.signal()
            _ = isSaved.wait(timeout: .now() + .milliseconds(200))
        }

        try first.save()

        isSyncing.signal()
        isSaved.wait()
        system.beforeEachCall(nil)
        #expect(failure.withLock { $0 } == nil)
        #expect(hasSynced.withLock { $0 } && questionCount.withLock { $0 } == 1)
    }
}
