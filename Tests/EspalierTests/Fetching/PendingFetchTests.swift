// Fetching with unsaved changes: the result is what it would be after saving (F-3).

import Espalier
import EspalierModel
import Testing

@Suite struct PendingFetchTests {
    /// The objects of case 10: alpha 22, bravo 25, charlie 10 saved; then alpha 5, charlie 21, bravo deleted, delta 30
    /// and echo 40 inserted.
    private func makeFixture(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind)
        func track(_ name: String, _ seconds: Int16) -> Track {
            let track = Track(context: stack.context)
            (track.name, track.seconds) = (name, seconds)
            return track
        }
        let saved = [track("alpha", 22), track("bravo", 25), track("charlie", 10)]
        try stack.context.saveAndCompare()
        saved[0].seconds = 5
        saved[2].seconds = 21
        try stack.context.delete(saved[1])
        _ = [track("delta", 30), track("echo", 40)]
        return stack
    }

    private func request(offset: Int = 0, limit: Int = 0, pending: Bool = true) throws -> FetchRequest<Track> {
        var request = FetchRequest<Track>(
            try FetchPredicate(format: "seconds > 20"), sortedBy: [SortKey("seconds", ascending: false)])
        (request.fetchOffset, request.fetchLimit, request.includesPendingChanges) = (offset, limit, pending)
        return request
    }

    @Test(arguments: StoreKind.allCases)
    func `changed objects are tested again, new ones appear, deleted ones vanish`(_ kind: StoreKind) throws {
        let stack = try makeFixture(kind)

        #expect(try stack.context.fetch(request()).map(\.name) == ["echo", "delta", "charlie"])
        #expect(try stack.context.count(for: request()) == 3)
        let ids = try stack.context.fetchIDs(request())
        #expect(ids.map(\.isTemporary) == [true, true, false])
        #expect(try Set(stack.newContext().fetch(request()).map(\.objectID)).count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `without pending changes only the store's matches come`(_ kind: StoreKind) throws {
        let stack = try makeFixture(kind)

        let found = try stack.context.fetch(request(pending: false))

        #expect(Set(found.map(\.name)) == ["alpha", "bravo"])
    }

    @Test(arguments: StoreKind.allCases)
    func `an unchanged object with older values is where its row is, beside unsaved ones (F-3)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let context = stack.context
        for number in 0..<4 {
            let track = Track(context: context)
            (track.name, track.bytes) = ("track", number)
        }
        try context.save()
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        let kept = try context.fetch(request)
        #expect(kept.map(\.bytes) == [0, 1, 2, 3])
        let other = stack.newContext()
        try #require(try other.fetch(request).first).bytes = 5
        try other.save()
        try context.setQueryGeneration(from: nil)
        let new = Track(context: context)
        (new.name, new.bytes) = ("new", 4)

        let expected = Array(kept[1...]) + [new, kept[0]]
        #expect(try context.fetch(request) == expected && kept[0].bytes == 0)
        var visited: [Track] = []
        try context.enumerate(request, batchSize: 2) { visited.append($0) }
        #expect(visited == expected)
        request.fetchLimit = 2
        #expect(try context.fetch(request) == Array(kept[1...2]))
        request.fetchLimit = 0
        try context.save()
        #expect(try context.fetch(request) == expected)
    }

    // Case 10: there, rows of values never have unsaved changes, and the order leaves out unsaved IDs.
    @Test(arguments: StoreKind.allCases)
    func `rows of values have the unsaved changes that objects have, unless they are left out (FR-02, FR-09)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeFixture(kind)
        func names(pending: Bool) throws -> [[AttributeValue]] {
            try stack.context.rows(
                "Track", ["name"], where: "seconds > 20", sort: [SortKey("seconds", ascending: false)],
                pending: pending)
        }

        #expect(try names(pending: true) == [[.string("echo")], [.string("delta")], [.string("charlie")]])
        #expect(try names(pending: false) == [[.string("bravo")], [.string("alpha")]])
    }

    @Test(arguments: StoreKind.allCases)
    func `offset and limit count stored and unsaved objects alike`(_ kind: StoreKind) throws {
        let stack = try makeFixture(kind)
        let windows = [(0, 1), (1, 1), (1, 2), (2, 5), (3, 1), (0, 3)]

        let before = try windows.map { window in
            try stack.context.fetch(request(offset: window.0, limit: window.1)).map(\.name)
        }
        let countsBefore = try windows.map { try stack.context.count(for: request(offset: $0.0, limit: $0.1)) }
        try stack.context.saveAndCompare()
        let after = try windows.map { window in
            try stack.newContext().fetch(request(offset: window.0, limit: window.1))
                .map { $0[attribute: "name"] }
        }

        #expect(before.map { $0.map { .string($0) } } == after)
        #expect(countsBefore == after.map(\.count))
    }

    @Test(arguments: StoreKind.allCases)
    func `a count on another thread makes no objects beside unsaved changes (FR-22)`(_ kind: StoreKind) async throws {
        let stack = try makeFixture(kind)
        for window in [(0, 0), (0, 1), (1, 1), (1, 2), (2, 5), (3, 1)] {
            let request = try request(offset: window.0, limit: window.1)
            let before = stack.context.rowsFetched
            let count = try await stack.context.count(for: request, progress: FetchProgress())
            #expect(stack.context.rowsFetched == before)
            #expect(try stack.context.count(for: request) == count, "offset \(window.0), limit \(window.1)")
        }

        let music = try Stack(kind)
        try music.makeMusic(artists: 3, tracks: 1)
        let artists = try music.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        artists[2].name = "AAA"
        let named = FetchRequest<Track>(try FetchPredicate(format: "album.artist.name == 'AAA'"))
        let former = FetchRequest<Track>(try FetchPredicate(format: "album.artist.name == 'Artist 2'"))
        let counts = [
            try await music.context.count(for: named, progress: FetchProgress()),
            try await music.context.count(for: former, progress: FetchProgress()),
        ]
        #expect(counts == [3, 0])
    }

    @Test(arguments: StoreKind.allCases)
    func `a change of a related object changes what matches and how it is sorted`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 1)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        artists[2].name = "AAA"
        let request = FetchRequest<Track>(
            try FetchPredicate(format: "album.artist.name BEGINSWITH 'A'"),
            sortedBy: [SortKey("album.artist.name"), SortKey("name")])
        let named = FetchRequest<Track>(try FetchPredicate(format: "album.artist.name == 'AAA'"))

        #expect(try stack.context.count(for: named) == 3)
        let before = try stack.context.fetch(request).map(\.name)
        #expect(before.prefix(3) == ["Track 2.0.0", "Track 2.1.0", "Track 2.2.0"])
        try stack.context.saveAndCompare()
        #expect(try stack.context.fetch(request).map(\.name) == before)
    }

    @Test(arguments: StoreKind.allCases)
    func `subentities are found with their superentity, or left out`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let live = LiveTrack(context: stack.context)
        live.name = "Live"
        let studio = Track(context: stack.context)
        studio.name = "Studio"
        var request = FetchRequest<Track>(sortedBy: [SortKey("name")])

        for _ in 0..<2 {
            request.includesSubentities = true
            #expect(try stack.context.fetch(request) == [live, studio])
            request.includesSubentities = false
            #expect(try stack.context.fetch(request) == [studio])
            #expect(try stack.context.fetch(FetchRequest<LiveTrack>()) == [live])
            try stack.context.saveAndCompare()
        }
    }

    @Test func `a request that does not fit the model is refused with what would fit`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let wrongs: [FetchRequest<ManagedObject>] = [
            FetchRequest(entityName: "Song"),
            FetchRequest(entityName: "Artist", predicate: try FetchPredicate(format: "nmae == 'x'")),
            FetchRequest(entityName: "Artist", predicate: try FetchPredicate(format: "founded == 'x'")),
            FetchRequest(entityName: "Artist", sortKeys: [SortKey("albums")]),
        ]
        for wrong in wrongs {
            #expect(throws: ContextError.self) { try stack.context.fetch(wrong) }
            #expect(throws: ContextError.self) { try stack.context.count(for: wrong) }
        }
        guard case .unknownEntity("Song", let known)? = contextError({ _ = try stack.context.fetch(wrongs[0]) }) else {
            Issue.record("an unknown entity was accepted")
            return
        }
        #expect(known.contains("Artist"))
        guard
            case .wrongResultType? = contextError({
                _ = try stack.context.fetch(FetchRequest<Album>(entityName: "Artist"))
            })
        else {
            Issue.record("artists came as albums")
            return
        }
    }
}
