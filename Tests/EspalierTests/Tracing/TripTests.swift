// Assertions about the reads that faults cause: what they count, and what they say.

import Espalier
import EspalierModel
import Testing

@Suite struct TripTests {
    /// The trips for which an assertion fails; `nil` if it holds.
    private func unexpected(_ body: () throws -> Void) -> UnexpectedTrips? {
        do {
            try body()
            return nil
        } catch {
            return error as? UnexpectedTrips
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a walk with more trips than a test allows fails, and names what it read (F-2)`(
        _ kind: StoreKind, isChild: Bool
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 2)
        let context = isChild ? ManagedObjectContext(parent: stack.newContext()) : stack.newContext()
        let albums = try context.fetch(Album.fetchRequest(sortedBy: [SortKey("title")]))
        let first = albums[0]

        let names = try context.assertNoFaults { albums.map(\.title) }
        #expect(names.count == 6)
        let found = unexpected { try context.assertNoFaults { _ = albums.map { $0.artist?.name } } }
        #expect(found?.count == 1 && found?.limit == 0)
        #expect(found?.trips.first?.kind == .rows && found?.trips.first?.objectCount == 3)
        #expect(try #require(found).description.contains("\(try #require(first.artist).objectID)"))

        let lists = unexpected { try context.assertTrips(atMost: 0) { for album in albums { _ = album.tracks.count } } }
        #expect(lists?.trips.map(\.kind) == [.destinations(relationship: "tracks")])
        #expect(lists?.trips.first?.object == first.objectID && lists?.trips.first?.objectCount == 6)
        try context.assertTrips(atMost: 1) { for album in albums { for track in album.tracks { _ = track.name } } }
        try context.assertNoFaults { for album in albums { for track in album.tracks { _ = track.name } } }
        #expect(context.faultTrips == 3)
    }

    @Test func `counts and questions about members are trips, too (F-2)`() throws {
        let stack = try Stack(.btree, classes: teamClasses)
        let boss = Member(context: stack.context)
        for _ in 0..<3 { Member(context: stack.context).boss = boss }
        let skill = Skill(context: stack.context)
        try stack.context.save()
        let context = stack.newContext()
        let (found, other) = (try context[boss.ref], try context[skill.ref])

        let error = unexpected {
            try context.assertTrips(atMost: 2) {
                _ = found.reports.isEmpty
                _ = found.reports.count
                _ = found.skills.contains(other)
            }
        }

        #expect(
            error?.trips.map(\.kind) == [
                .count(relationship: "reports"), .count(relationship: "reports"), .membership(relationship: "skills"),
            ])
        #expect(error?.description.contains("at most 2") == true)
    }

    @Test func `assertions are nested, end with their blocks, and pass on other errors (F-2)`() throws {
        struct Other: Error {}
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 1)
        let context = stack.newContext()
        let albums = try context.fetch(Album.fetchRequest())

        let outer = unexpected {
            try context.assertTrips(atMost: 0) {
                try context.assertTrips(atMost: 1) { _ = albums.map { $0.artist?.name } }
            }
        }
        #expect(outer?.count == 1)
        #expect(throws: Other.self) { try context.assertNoFaults { throw Other() } }
        context.refreshAllObjects()
        #expect(albums.compactMap { $0.artist?.name }.count == 3)
        #expect(try context.assertTrips(atMost: 0) { 7 } == 7)
    }

    @Test func `an assertion around asynchronous calls counts what is read before and after they wait (F-2)`()
        async throws
    {
        struct Other: Error {}
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 1)
        let context = stack.newContext()
        let albums = try context.fetch(Album.fetchRequest())

        var found: UnexpectedTrips?
        do {
            try await context.assertTrips(atMost: 1) {
                for album in albums { _ = album.artist?.name }
                await Task.yield()
                try context.assertTrips(atMost: 1) { _ = albums[0].tracks.count }
            }
        } catch let error as UnexpectedTrips { found = error }

        #expect(found?.count == 2 && found?.limit == 1)
        #expect(found?.trips.map(\.kind) == [.rows, .destinations(relationship: "tracks")])
        do {
            try await context.assertNoFaults {
                await Task.yield()
                throw Other()
            }
            Issue.record("the error of the block is lost")
        } catch is Other {}
        let again = try await context.assertNoFaults {
            try await context.fetch(Album.fetchRequest(), progress: FetchProgress())
        }
        #expect(Set(again) == Set(albums) && albums.count == 3)
    }

    @Test func `of many trips the first hundred are named, and all are counted (F-2)`() throws {
        let stack = try Stack(.inMemory)
        for _ in 0..<130 { Artist(context: stack.context).name = "x" }
        try stack.context.save()
        let ids = try stack.context.fetchIDs(Artist.fetchRequest())
        let context = stack.newContext()

        let error = unexpected {
            try context.assertNoFaults { for id in ids { _ = try context.object(with: id, as: Artist.self).name } }
        }

        #expect(error?.count == 130 && error?.trips.count == 100)
        #expect(error?.description.contains("and 30 more") == true)
    }
}
