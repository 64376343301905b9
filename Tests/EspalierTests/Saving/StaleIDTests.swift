// IDs that the application has made up, or has kept from elsewhere, in the way of new objects that get them: no call
// ends the process, and no relationship leads to another object than the application has meant.

import Espalier
import EspalierModel
import EspalierStore
import FoundationEssentials
import Testing

@Suite struct StaleIDTests {
    /// How a fault under such an ID stays in its context.
    enum Keeping: CaseIterable {
        case kept, read, retained
    }

    /// A stack with an artist and a track, and the IDs that the next ones get.
    private func scene(_ kind: StoreKind) throws -> (stack: Stack, artist: ObjectID, track: ObjectID) {
        let stack = try Stack(kind)
        let writer = stack.newContext()
        let (artist, track) = (Artist(context: writer), Track(context: writer))
        (artist.name, track.name) = ("first", "first")
        try writer.save()
        func next(_ object: ManagedObject) throws -> ObjectID {
            let (id, store) = (object.objectID, try #require(stack.coordinator.persistentStores.first))
            return try stack.coordinator.managedObjectID(
                forURIRepresentation: "x-espalier://\(store.identifier.uuidString)/\(id.entityName)/p\(id.key + 1)")
        }
        return (stack, try next(artist), try next(track))
    }

    private func newArtist(_ name: String, in context: ManagedObjectContext) -> Artist {
        let artist = Artist(context: context)
        artist.name = name
        return artist
    }

    private func newAlbum(of artist: Artist?, in context: ManagedObjectContext) -> Album {
        let album = Album(context: context)
        (album.title, album.artist) = ("new", artist)
        return album
    }

    private func fault(_ id: ObjectID, in context: ManagedObjectContext) throws -> Artist {
        try #require(try context.object(with: id) as? Artist)
    }

    /// The destinations of the relationships for which `body` is refused.
    private func missing(_ body: () throws -> Void) -> [ObjectID] {
        guard case .references(let conflicts)? = contextError(body) else { return [] }
        #expect(conflicts.allSatisfy { $0.kind == .missing })
        return conflicts.flatMap(\.destinations)
    }

    // MARK: Faults without changes

    @Test(arguments: StoreKind.allCases, Keeping.allCases)
    func `a new object takes the place of a fault that has its ID already`(_ kind: StoreKind, _ keeping: Keeping)
        throws
    {
        let (stack, id, _) = try scene(kind)
        let context = stack.newContext()
        var ghost: Artist?
        if keeping == .retained {
            context.retainsRegisteredObjects = true
            #expect(throws: ContextError.self) { try context.existingObject(with: id) }
        } else {
            ghost = try fault(id, in: context)
            if keeping == .read { #expect(ghost?.albums.isEmpty == true && ghost?.name.isEmpty == true) }
        }
        let artist = newArtist("new", in: context)
        let album = newAlbum(of: artist, in: context)

        try context.saveAndCompare()

        #expect(artist.objectID == id && context.registeredObject(for: id) === artist)
        #expect(artist.albums == [album] && artist.name == "new")
        #expect(ghost?.managedObjectContext == nil && context.registeredObjects == [artist, album])
        #expect(try stack.stored(Artist.self).map(\.name).sorted() == ["first", "new"])
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `an ID that is given before a save moves a fault out of the way, too`(_ kind: StoreKind, _ assigns: Bool)
        throws
    {
        let (stack, id, _) = try scene(kind)
        let context = stack.newContext()
        let ghost = try fault(id, in: context)
        let artist = newArtist("new", in: context)

        if assigns {
            try context.assign(artist, to: try #require(stack.coordinator.persistentStores.first))
        } else {
            try context.obtainPermanentIDs(for: [artist])
        }

        #expect(artist.objectID == id && artist.isInserted && context.registeredObject(for: id) === artist)
        #expect(ghost.managedObjectContext == nil)
        // It says where the object with its ID is.
        let refused = violations { try ghost.setValue(.string("late"), forKey: "name") }
        guard case .objectIsMerged(into: id)? = refused.first?.reason else {
            Issue.record("\(refused)")
            return
        }
        try context.saveAndCompare()
        #expect(try stack.stored(Artist.self).count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `an object of a child takes the place of faults in the child and in its parent`(_ kind: StoreKind) throws {
        for (isAbove, isBelow) in [(true, false), (false, true), (true, true)] {
            let (stack, id, _) = try scene(kind)
            let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
            let above = isAbove ? try fault(id, in: root) : nil
            let below = isBelow ? try fault(id, in: child) : nil
            let artist = newArtist("new", in: child)
            let album = newAlbum(of: artist, in: child)

            try child.save()

            #expect(artist.objectID == id && child.registeredObject(for: id) === artist && artist.albums == [album])
            #expect(root.registeredObject(for: id)?.isInserted == true)
            #expect(above?.managedObjectContext == nil && below?.managedObjectContext == nil)
            try root.saveAndCompare()
            #expect(try stack.stored(Artist.self).first { $0.objectID == id }?.albums.count == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a child reads a new object of its parent under an ID for which the parent has a fault`(_ kind: StoreKind)
        throws
    {
        let (stack, id, _) = try scene(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let ghost = try fault(id, in: root)
        let artist = newArtist("new", in: root)

        let seen = try child.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")])).map(\.objectID)

        #expect(seen.last == id && artist.objectID == id && ghost.managedObjectContext == nil)
        try root.saveAndCompare()
    }

    // MARK: Relationships to such faults

    @Test(arguments: StoreKind.allCases)
    func `a relationship to a row that does not exist never leads to the new row that gets its ID`(_ kind: StoreKind)
        throws
    {
        let (stack, id, trackID) = try scene(kind)
        let context = stack.newContext()
        let album = newAlbum(of: try fault(id, in: context), in: context)
        let artist = newArtist("new", in: context)
        #expect(missing { try context.save() } == [id])
        #expect(artist.objectID.isTemporary && context.insertedObjects == [album, artist])

        album.artist = artist
        // The relationship has no other end, and the track no changes.
        let (listener, track) = (Listener(context: context), Track(context: context))
        (listener.name, track.name) = ("Lea", "new")
        listener.favourite = try context.object(with: trackID) as? Track
        #expect(missing { try context.save() } == [trackID])
        listener.favourite = track
        try context.saveAndCompare()

        // The store has given nothing out when it refused.
        #expect(artist.objectID == id && track.objectID == trackID)
        #expect(artist.albums == [album] && listener.favourite === track)
        #expect(try stack.stored(Album.self).map(\.artist?.objectID) == [id])
    }

    @Test(arguments: StoreKind.allCases)
    func `a merge policy drops a relationship to a row that does not exist, and the new row gets the ID`(
        _ kind: StoreKind
    ) throws {
        let (stack, id, _) = try scene(kind)
        let context = stack.newContext()
        context.mergePolicy = .objectTrump
        let ghost = try fault(id, in: context)
        let album = newAlbum(of: ghost, in: context)
        let artist = newArtist("new", in: context)

        try context.saveAndCompare()

        #expect(album.artist == nil && artist.objectID == id && artist.albums.isEmpty)
        #expect(ghost.managedObjectContext == nil && !context.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `no ID is given before a save that a changed fault has, and the next one is`(_ kind: StoreKind) throws {
        let (stack, id, _) = try scene(kind)
        let context = stack.newContext()
        let ghost = try fault(id, in: context)
        let album = newAlbum(of: ghost, in: context)
        let artist = newArtist("new", in: context)

        guard case .objectNotFound(id)? = contextError({ try context.obtainPermanentIDs(for: [album, artist]) }) else {
            Issue.record("the artist must not get the ID of another object")
            return
        }

        #expect(artist.objectID.isTemporary && album.objectID.isTemporary && album.artist === ghost)
        try context.obtainPermanentIDs(for: [artist])
        #expect(artist.objectID.key == id.key + 1)
        album.artist = artist
        try context.saveAndCompare()
        #expect(try stack.stored(Artist.self).count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child's save is refused if its parent has changed a fault under the ID, and the next one works`(
        _ kind: StoreKind
    ) throws {
        let (stack, id, _) = try scene(kind)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let album = newAlbum(of: try fault(id, in: root), in: root)
        let artist = newArtist("new", in: child)

        let found = contextError { try child.save() }?.conflicts

        #expect(found?.map(\.object) == [id] && artist.objectID.isTemporary && child.insertedObjects == [artist])
        #expect(root.insertedObjects == [album])
        try child.save()
        #expect(artist.objectID.key > id.key)
        album.artist = try root.existingObject(with: artist.objectID) as? Artist
        try root.saveAndCompare()
        #expect(try stack.stored(Album.self).map(\.artist?.name) == ["new"])
    }
}
