// Objects and stores that have ended: calls on them fail, and no change is lost without an error.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct EndedObjectTests {
    // MARK: Closed stores

    private func isNoStore(_ body: () throws -> Void) -> Bool {
        if case .noStore? = contextError(body) { true } else { false }
    }

    @Test(arguments: StoreKind.allCases)
    func `without an open store nothing is answered, and everything says why`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let context = stack.context
        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let id = artists[0].objectID
        for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }
        let request = FetchRequest<Artist>()

        #expect(isNoStore { _ = try context.fetch(request) })
        #expect(isNoStore { _ = try context.count(for: request) })
        #expect(isNoStore { _ = try context.fetchIDs(request) })
        #expect(isNoStore { _ = try context.explain(request) })
        #expect(isNoStore { try context.enumerate(request) { _ in } })
        #expect(isNoStore { _ = try stack.newContext().existingObject(with: id) })
        let new = Artist(context: context)
        new.name = "New"
        #expect(isNoStore { try context.obtainPermanentIDs(for: [new]) })
        #expect(isNoStore { _ = try context.fetch(request) })
        #expect(isNoStore { _ = try context.count(for: request) })
        #expect(isNoStore { try context.save() })
        #expect(new.isInserted && new.name == "New")
        let text = contextError { _ = try context.fetch(request) }.map { "\($0)" } ?? ""
        #expect(text.contains("add one to the coordinator first, or open the container again if it was closed"))
    }

    @Test(arguments: StoreKind.allCases)
    func `a fault that fires after its store was closed is reported by the next save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        #expect(artist.name == "Artist 0")
        let other = stack.newContext()
        let fault = try #require(try other.object(with: artist.objectID) as? Artist)
        for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }

        #expect(artist.name == "Artist 0")
        #expect(artist.albums.isEmpty)
        #expect(fault.name == "")

        for context in [stack.context, other] {
            let found = violations { try context.save() }
            #expect(found.count == 1 && "\(found)".contains("open the container again"), "\(found)")
        }
    }

    @Test @MainActor func `a closed container answers no fetch`() throws {
        let container = try PersistentContainer(
            model: ManagedObjectModel(for: musicClasses), stores: [.inMemory])
        let context = container.viewContext
        #expect(try context.count(for: FetchRequest<Artist>()) == 0)

        try container.close()

        #expect(isNoStore { _ = try context.count(for: FetchRequest<Artist>()) })
        #expect(isNoStore { _ = try context.fetch(FetchRequest<Artist>()) })
    }

    @Test func `a coordinator that never had a store answers no fetch`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let context = ManagedObjectContext(coordinator)

        #expect(isNoStore { _ = try context.fetch(FetchRequest<Artist>()) })
        #expect(isNoStore { _ = try context.count(for: FetchRequest<Artist>()) })
    }

    // MARK: Limits and patterns with unsaved objects

    @Test(arguments: StoreKind.allCases)
    func `any offset and limit is answered beside unsaved objects`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 0)
        for hasUnsaved in [false, true] {
            if hasUnsaved {
                Artist(context: stack.context).name = "Zz"
                try #require(try stack.context.fetch(FetchRequest<Artist>()).first).founded = 7
            }
            for sort in [[], [SortKey("name")]] {
                var request = FetchRequest<Artist>(sortedBy: sort)
                let all = try stack.context.fetch(request)
                for offset in [0, 1, -1, .min, .max, .max - 1] {
                    for limit in [0, 1, 2, -1, .min, .max, .max - 1] {
                        (request.fetchOffset, request.fetchLimit) = (offset, limit)
                        let expected = all.dropFirst(max(0, offset)).prefix(limit > 0 ? limit : .max)
                        #expect(try stack.context.fetch(request) == Array(expected), "\(offset) \(limit)")
                        #expect(try stack.context.count(for: request) == expected.count)
                        #expect(try stack.context.fetchIDs(request) == expected.map(\.objectID))
                        for size in [0, 1, -1, .max, .min] {
                            var count = 0
                            try stack.context.enumerate(request, batchSize: size) { _ in count += 1 }
                            #expect(count == expected.count, "\(offset) \(limit) \(size)")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a pattern that takes too many steps ends a fetch, of stored and of unsaved objects`(
        _ kind: StoreKind, _ isSaved: Bool
    ) throws {
        let stack = try Stack(kind)
        Artist(context: stack.context).name = String(repeating: "a", count: 40)
        if isSaved { try stack.context.save() }
        let slow = FetchRequest<Artist>(try FetchPredicate(format: "name MATCHES '(a+)+(b)\\\\2'"))

        let asks: [() throws -> Void] = [
            { _ = try stack.context.fetch(slow) }, { _ = try stack.context.count(for: slow) },
            { try stack.context.enumerate(slow) { _ in } },
        ]
        // Each takes 10,000,000 steps, so the kinds of stores share them.
        let place = (kind == .btree ? 0 : 2) + (isSaved ? 0 : 1)
        guard case .invalidPredicate(let error)? = contextError(asks[place % asks.count]) else {
            Issue.record("no error")
            return
        }
        #expect(error.reason == .patternTooSlow("(a+)+(b)\\2", stepCountMax: 10_000_000))
        let quick = FetchRequest<Artist>(try FetchPredicate(format: "name MATCHES '(a+)+b'"))
        #expect(try stack.context.fetch(quick).isEmpty)
    }

    // MARK: Ended objects

    @Test(arguments: StoreKind.allCases)
    func `writing to an object whose deletion is saved is reported by the next save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let album = try #require(artists[1].albums.first)
        try stack.context.delete(artists[0])
        try stack.context.save()

        artists[0].name = "After"
        artists[0].founded = 1
        artists[0].albums = [album]

        let found = violations { try stack.context.save() }
        #expect(found.map(\.property) == ["name", "founded", "albums"])
        #expect(found.allSatisfy { $0.object == artists[0].objectID && "\($0)".contains("fetch it again") })
        #expect(violations { try artists[0].setValue(.string("x"), forKey: "name") }.count == 1)
        #expect(violations { try artists[0].add([album], toRelationshipNamed: "albums") }.count == 1)
        #expect(artists[0].name == "Artist 0" && album.artist === artists[1])
        try stack.context.save()
    }

    @Test func `writing to an object of a context that was reset is reported by its next save`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let new = Playlist(context: stack.context)
        stack.context.reset()

        artist.name = "After"
        new.name = "After"

        let found = violations { try stack.context.save() }
        #expect(found.map(\.entityName) == ["Artist", "Playlist"] && found.allSatisfy { $0.property == "name" })
        #expect(violations { try artist.setValue(.string("x"), forKey: "name") }.count == 1)
        try stack.context.save()
        #expect(try stack.stored(Artist.self).map(\.name) == ["Artist 0"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a stored value that is no case of an enumeration is reported with object, property and value`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let track = Track(context: stack.context)
        track.name = "Odd"
        try track.setValue(.string("wax cylinder"), forKey: "medium")
        try stack.context.save()
        let other = stack.newContext()
        let odd = try #require(try other.fetch(FetchRequest<Track>()).first)

        for _ in 0..<100 { #expect(odd.medium == .file) }

        let found = violations { try other.save() }
        #expect(found.count == 1)
        let text = found.first.map { "\($0)" } ?? ""
        #expect(
            text.hasPrefix(
                "Track.medium of \(odd.objectID): the stored value \"wax cylinder\" is not a value of Medium"))
        try other.save()
    }

    // MARK: Words

    @Test func `adding to a to-one relationship says that it is one`() throws {
        let stack = try Stack(.inMemory)
        let (album, artist) = (Album(context: stack.context), Artist(context: stack.context))

        let found = violations { try album.add([artist], toRelationshipNamed: "artist") }

        #expect("\(found)".contains("found several objects, expected one object: set the to-one relationship instead"))
        let none = violations { try album.add([artist], toRelationshipNamed: "artists") }
        #expect("\(none)".contains("the property does not exist; the entity has tracks"))
    }

    private enum Inner {
        final class Artist: ManagedObject {
            override class var entityDescription: EntityDescription { EntityDescription("Artist", properties: []) }
        }
    }

    @Test func `two classes of one name are told apart by where they are declared`() throws {
        let error = #expect(throws: ModelError.self) {
            _ = try ManagedObjectModel(for: [Artist.self, Album.self, Track.self, Inner.Artist.self])
        }

        let text = "\(try #require(error))"
        #expect(text.contains("EspalierTests.Artist") && text.contains("EndedObjectTests"), "\(text)")
    }
}
