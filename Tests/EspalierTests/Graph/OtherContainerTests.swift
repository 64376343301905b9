// Objects, IDs, generations and stores of another container: each call that gets one refuses it, or finds nothing, and
// the context goes on.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct OtherContainerTests {
    private struct Scene {
        let (here, there): (Stack, Stack)
        let (mine, theirs): (Artist, Artist)

        init(_ kind: StoreKind) throws {
            (here, there) = (try Stack(kind), try Stack(kind))
            (mine, theirs) = (Artist(context: here.context), Artist(context: there.context))
            (mine.name, theirs.name) = ("mine", "theirs")
            try here.context.save()
            try there.context.save()
        }

        /// Requires that both containers work, and have what they had.
        func finish() throws {
            here.context.rollback()
            mine.name = "still mine"
            try here.context.save()
            #expect(try here.stored(Artist.self).map(\.name) == ["still mine"])
            #expect(try there.stored(Artist.self).map(\.name) == ["theirs"] && !theirs.hasChanges)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an object of another container is no destination, and cannot be inserted, deleted, locked or assigned`(
        _ kind: StoreKind
    ) throws {
        let scene = try Scene(kind)
        let (context, theirs) = (scene.here.context, scene.theirs)
        let album = Album(context: context)
        album.title = "album"
        #expect(throws: ContextError.self) { try album.setValue(.toOne(theirs), forKey: "artist") }
        album.artist = theirs
        #expect(album.artist == nil && context.recordedViolations.count == 1)
        for call in [
            { try context.insert(theirs) }, { try context.delete(theirs) },
            { try context.detectConflicts(for: theirs) },
            { try context.assign(theirs, to: scene.here.coordinator.persistentStores[0]) },
            { try context.assign(album, to: scene.there.coordinator.persistentStores[0]) },
        ] {
            #expect(throws: ContextError.self) { try call() }
        }
        context.refresh(theirs, mergesChanges: false)
        #expect(theirs.name == "theirs")
        try scene.finish()
    }

    @Test(arguments: StoreKind.allCases)
    func `an ID of another container leads to nothing, in fetches, look-ups, merges and batch requests`(
        _ kind: StoreKind
    ) throws {
        let scene = try Scene(kind)
        let (context, id) = (scene.here.context, scene.theirs.objectID)
        guard case .noStore? = contextError({ _ = try context.existingObject(with: id) }) else {
            Issue.record("an object of another store")
            return
        }
        let predicate = try FetchPredicate(format: "SELF == %@", scene.theirs)
        #expect(try context.count(for: FetchRequest<Artist>(predicate)) == 0)
        let albums = try FetchPredicate(format: "artist == %@", scene.theirs)
        #expect(try context.count(for: FetchRequest<Album>(albums)) == 0)
        context.mergeChanges(from: SavedChanges(inserted: [id], updated: [id], deleted: [id]))
        #expect(throws: ContextError.self) { try context.execute(BatchDeleteRequest(objectIDs: [id])) }
        let token = try scene.there.context.queryGenerationToken
        guard case .queryGenerationOfOtherStores? = contextError({ try context.setQueryGeneration(from: token) }) else {
            Issue.record("a generation of another container")
            return
        }
        try scene.finish()
    }

    @Test(arguments: StoreKind.allCases)
    func `a merge policy that answers with an object of another container is refused`(_ kind: StoreKind) throws {
        let scene = try Scene(kind)
        let (context, other) = (scene.here.context, scene.here.newContext())
        let album = Album(context: context)
        album.title = "album"
        try context.save()
        let copy = try #require(try other.existingObject(with: album.objectID) as? Album)
        copy.title = "copy"
        try other.save()
        album.title = "mine"
        let foreign = scene.theirs.objectID
        context.mergePolicy = MergePolicy { _, _ in
            MergeResolution(
                .objectTrump, choices: ["artist": .value(.objectID(foreign)), "tracks": .destinations([foreign])])
        }
        guard case .refusedResolutions(let violations)? = contextError({ try context.save() }) else {
            Issue.record("an answer with a foreign object")
            return
        }
        #expect(Set(violations.compactMap(\.property)) == ["artist", "tracks"] && album.title == "mine")
        context.mergePolicy = .objectTrump
        try context.save()
        try context.delete(album)
        try context.save()
        try scene.finish()
    }
}
