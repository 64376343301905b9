// The memory that a context keeps for objects that were fetched together.

import EspalierModel
import Foundation
import Testing

@testable import Espalier

@Suite struct CohortTests {
    /// The bytes of this process that are in memory.
    private static func residentByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first) * 1024
    }

    /// A context that has fetched 50 albums, each with a track, an artist and a playlist of the track.
    private static func albums(_ stack: Stack) throws -> [Album] {
        let writer = stack.newContext()
        let listener = Listener(context: writer)
        listener.name = "all"
        for number in 0..<50 {
            let (album, track, artist) = (Album(context: writer), Track(context: writer), Artist(context: writer))
            (album.title, track.name, artist.name) = ("\(number)", "\(number)", "\(number)")
            (track.album, album.artist) = (album, artist)
            let playlist = Playlist(context: writer)
            (playlist.name, playlist.owner, playlist.tracks) = ("\(number)", listener, [track])
        }
        try writer.saveAndCompare()
        return try stack.context.fetch(FetchRequest<Album>())
    }

    @Test(arguments: [false, true])
    func `a context that refreshes its objects for years keeps its memory`(isOneByOne: Bool) throws {
        let stack = try Stack(.inMemory)
        let albums = try Self.albums(stack)
        let cohort = try #require(albums[0].cohort)
        /// Refreshes and reads all albums, with rows and lists across relationships of every kind.
        func refreshAndRead() {
            func read(_ album: Album) {
                _ = (album.title, album.artist?.name, album.artist?.albums.count)
                for track in album.tracks { _ = (track.name, track.playlists.map(\.name), track.album?.title) }
            }
            for album in albums {
                stack.context.refresh(album, mergesChanges: false)
                if isOneByOne { read(album) }
            }
            if !isOneByOne { albums.forEach(read) }
        }
        // Lists of members are reduced when they exceed twice the members.
        for _ in 0..<4 { refreshAndRead() }
        let most = 3 * cohort.keptCount

        for round in 0..<100 {
            refreshAndRead()

            guard cohort.keptCount <= most, albums.allSatisfy({ $0.cohort === cohort }) else {
                Issue.record("after \(round) rounds, \(cohort.keptCount) are kept, more than \(most)")
                return
            }
        }
    }

    /// Saves `count` invalid objects, which the context refuses; returns the growth of memory in bytes, the error
    /// included.
    private static func refuse(_ count: Int) throws -> Int {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let albums = (0..<count).map { _ in Album(context: context) }
        let before = try residentByteCount()
        var after = before
        do {
            try context.save()
        } catch {
            after = try residentByteCount()
            guard case .violations(let violations) = error else { throw error }
            #expect(violations.count == 1001)
            #expect("\(error)".split(separator: "\n").count < 100 && "\(error)".hasSuffix("and \(count - 50) more"))
        }
        withExtendedLifetime(albums) {}
        return after - before
    }

    // At 1,800 bytes for each of the 20,000 objects the growth would be 34 MiB.
    @Test func `a save that is refused for many objects takes little for each, and its message shows a few`()
        async throws
    {
        guard FileManager.default.fileExists(atPath: "/proc/self/status") else { return }
        await #expect(processExitsWith: .success) {
            let growth = try CohortTests.refuse(20_000)
            #expect(growth > 0 && growth < 16 << 20, "\(growth) bytes")
        }
    }
}
