// Records of a context for its next save: once for each problem, and no more than a save tells.

import Espalier
import EspalierModel
import Testing

@Suite struct RecordedViolationsTests {
    /// A context with stored tracks whose medium is no case of the enumeration.
    private func oddTracks(_ count: Int, _ kind: StoreKind) throws -> (stack: Stack, tracks: [Track]) {
        let stack = try Stack(kind)
        let writer = stack.newContext()
        for number in 0..<count {
            let track = Track(context: writer)
            track.name = "\(number)"
            try track.setValue(.string("wax cylinder"), forKey: "medium")
        }
        try writer.save()
        return (stack, try stack.context.fetch(FetchRequest<Track>()))
    }

    @Test(arguments: StoreKind.allCases)
    func `1,000 objects that are read again and again are each reported once`(_ kind: StoreKind) throws {
        let (stack, tracks) = try oddTracks(1000, kind)

        for _ in 0..<3 {
            for track in tracks { #expect(track.medium == .file) }
            #expect(stack.context.recordedViolations.count == 1000)
        }

        #expect(Set(stack.context.recordedViolations.compactMap(\.object)) == Set(tracks.map(\.objectID)))
        let found = violations { try stack.context.save() }
        #expect(found.count == 1000 && found.allSatisfy { $0.property == "medium" })
        #expect(stack.context.recordedViolations.isEmpty)
        // A report ends what it has told: the next read is a new one.
        #expect(tracks[0].medium == .file && stack.context.recordedViolations.count == 1)
    }

    @Test func `objects whose store is closed are each reported once, however often they are shown`() throws {
        let stack = try Stack(.btree)
        let writer = stack.newContext()
        for number in 0..<200 { Artist(context: writer).name = "\(number)" }
        try writer.save()
        let ids = try stack.context.fetchIDs(FetchRequest<Artist>())
        let artists = try ids.compactMap { try stack.context.object(with: $0) as? Artist }
        for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }

        for _ in 0..<3 { for artist in artists { #expect(artist.name.isEmpty) } }

        #expect(artists.count == 200 && stack.context.recordedViolations.count == 200)
    }

    @Test
    func `a context keeps the first 1,000 problems of reads and refused changes, and counts further refusals`() throws {
        let (stack, tracks) = try oddTracks(1300, .inMemory)
        let context = stack.context
        for track in tracks { #expect(track.medium == .file) }
        #expect(context.recordedViolations.count == 1000)
        let gone = Artist(context: context)
        try context.delete(gone)
        context.processPendingChanges()

        for number in 0..<1500 { gone.founded = Int32(number) }

        #expect(context.recordedViolations.count == 2000)
        #expect(context.debugDescription.contains("2500 recorded violations"))
        let found = violations { try context.save() }
        guard case .more(let count)? = found.last?.reason else {
            Issue.record("\(found.count) violations, and none that counts the others")
            return
        }
        #expect(found.count == 1001 && count == 1500)
        try context.save()
    }

    @Test func `problems of two properties of one object are both reported, each once`() throws {
        let (stack, tracks) = try oddTracks(1, .btree)
        let (context, track) = (stack.context, try #require(tracks.first))
        #expect(track.medium == .file)
        for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }

        for _ in 0..<2 { #expect(track.playlists.isEmpty && track.medium == .file) }

        #expect(context.recordedViolations.map(\.property) == ["medium", "playlists"])
    }
}
