// Two contexts on one store: what one deletes, the other relates to; what one adds, the other deletes the owner of. The
// store judges it when saving, so nothing dangles and no rule is left out.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct ReferenceTests {
    /// Each way to relate to an object that somebody else has deleted.
    enum Relation: CaseIterable {
        case toOne, setFromOwner, orderedFromOwner, manyToMany, manyToManyBack, oneToOne, withoutInverse

        /// Whether the destination's own row names the owner: then it is that row that is in conflict.
        var changesRowOfDestination: Bool { [.setFromOwner, .orderedFromOwner, .oneToOne].contains(self) }
    }

    @Test(arguments: Relation.allCases, StoreKind.allCases)
    func `relating to an object that another context has deleted is a conflict, and nothing dangles`(
        _ relation: Relation, _ kind: StoreKind
    ) throws {
        for policy in [MergePolicy.error, .storeTrump, .objectTrump, .overwrite, .rollback] {
            let stack = try Stack(kind)
            let (owner, gone) = try stack.related(by: relation)
            stack.context.mergePolicy = policy
            let other = stack.newContext()
            try other.delete(other.existingObject(with: gone.objectID))
            try other.saveAndCompare()

            let error = contextError { try stack.context.save() }

            if policy == .error {
                switch error {
                case .references(let conflicts)?:
                    #expect(conflicts.contains { $0.kind == .missing && $0.destinations == [gone.objectID] })
                    #expect(error?.code == 133000)
                case .conflicts(let conflicts)? where relation.changesRowOfDestination:
                    #expect(conflicts.map(\.object) == [gone.objectID])
                default:
                    Issue.record("\(policy), \(relation): \(error.map { "\($0)" } ?? "no error")")
                }
                #expect(stack.context.hasChanges)
            } else {
                #expect(error == nil, "\(policy), \(relation)")
                #expect(!stack.context.hasChanges && !owner.isDeleted)
                stack.context.compareWithFreshContext()
            }
            try stack.expectWhole("\(policy), \(relation)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `cascade takes what another context has added, and what nobody has in memory`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 2)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        _ = artist.albums.count
        let other = stack.newContext()
        let album = Album(context: other)
        (album.title, album.artist) = ("Added", try other.fetch(FetchRequest<Artist>()).first)
        let track = Track(context: other)
        (track.name, track.album) = ("Added", album)
        try other.saveAndCompare()

        try stack.context.delete(artist)
        try stack.context.saveAndCompare()

        #expect(try stack.stored(Artist.self).isEmpty && stack.stored(Album.self).isEmpty)
        #expect(try stack.stored(Track.self).isEmpty)
        try stack.expectWhole("")
    }

    @Test(arguments: StoreKind.allCases)
    func `what another context has related without an inverse is empty after the deletion`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let track = Track(context: stack.context)
        track.name = "C"
        try stack.context.saveAndCompare()
        let other = stack.newContext()
        let fan = Listener(context: other)
        (fan.name, fan.favourite) = ("Ann", try other.fetch(FetchRequest<Track>()).first)
        try other.saveAndCompare()

        try stack.context.delete(track)
        try stack.context.saveAndCompare()

        #expect(try stack.stored(Listener.self).map(\.favourite) == [nil])
        try stack.expectWhole("")
    }

    @Test(arguments: StoreKind.allCases)
    func `deny is enforced against a destination that another context has added`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let listener = Listener(context: stack.context)
        listener.name = "Ann"
        try stack.context.saveAndCompare()
        #expect(listener.playlists.isEmpty)
        let other = stack.newContext()
        let playlist = Playlist(context: other)
        (playlist.name, playlist.owner) = ("Late", try other.fetch(FetchRequest<Listener>()).first)
        try other.saveAndCompare()

        try stack.context.delete(listener)
        let found = violations { try stack.context.save() }

        #expect(found.map(\.code) == [1600] && found.first?.property == "playlists")
        #expect(found.first?.object == listener.objectID && listener.isDeleted)
        try stack.expectWhole("")
    }

    @Test(arguments: StoreKind.allCases)
    func `objects that the store takes along leave the context, and other contexts are told`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 2)
        let follower = stack.newContext()
        follower.automaticallyMergesChangesFromParent = true
        let tracks = try follower.fetch(FetchRequest<Track>())
        _ = tracks.map(\.name)
        let held = try stack.context.fetch(FetchRequest<Track>())
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)

        try stack.context.delete(artist)
        #expect(held.allSatisfy { !$0.isDeleted })
        try stack.context.saveAndCompare()
        follower.processPendingChanges()

        #expect(held.allSatisfy { $0.managedObjectContext == nil })
        #expect(tracks.allSatisfy { $0.isDeleted })
        #expect(try follower.count(for: FetchRequest<Track>()) == 0)
    }
}

extension Stack {
    /// An object whose unsaved change relates it to another one, both saved.
    fileprivate func related(by relation: ReferenceTests.Relation) throws -> (ManagedObject, ManagedObject) {
        let (artist, album, track) = (Artist(context: context), Album(context: context), Track(context: context))
        (artist.name, album.title, track.name) = ("A", "B", "C")
        let (ann, bob, list) = (Listener(context: context), Listener(context: context), Playlist(context: context))
        (ann.name, bob.name, list.name, list.owner) = ("Ann", "Bob", "List", ann)
        try context.saveAndCompare()
        switch relation {
        case .toOne:
            album.artist = artist
            return (album, artist)
        case .setFromOwner:
            artist.albums.insert(album)
            return (artist, album)
        case .orderedFromOwner:
            album.tracks.append(track)
            return (album, track)
        case .manyToMany:
            track.playlists.insert(list)
            return (track, list)
        case .manyToManyBack:
            list.tracks.insert(track)
            return (list, track)
        case .oneToOne:
            ann.partner = bob
            return (ann, bob)
        case .withoutInverse:
            ann.favourite = track
            return (ann, track)
        }
    }

    /// Requires the store to have no reference that leads nowhere, and lists that fit their rows.
    func expectWhole(_ comment: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        for case let store as BTreeStore in coordinator.persistentStores {
            let report = try store.check()
            #expect(
                report.isOK && report.dangling.isEmpty, "\(comment): \(report.findings) \(report.dangling)",
                sourceLocation: sourceLocation)
        }
    }
}
