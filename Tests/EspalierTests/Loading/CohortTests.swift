// The memory that a context keeps for objects that were fetched together.

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct CohortTests {
    /// The bytes of this process that are in memory.
    private static func residentByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first) * 1024
    }

    /// Refreshes and reads the same objects repeatedly, with a to-one and a to-many relationship of each; returns the
    /// growth of memory after the first tenth of the rounds, in bytes.
    private static func refreshOften(_ roundCount: Int) throws -> Int {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        let writer = ManagedObjectContext(coordinator)
        for number in 0..<500 {
            let (album, track) = (Album(context: writer), Track(context: writer))
            (album.title, track.name, track.album) = ("\(number)", "\(number)", album)
        }
        try writer.saveAndCompare()
        let context = ManagedObjectContext(coordinator)
        let albums = try context.fetch(FetchRequest<Album>())
        var before = 0
        for round in 0..<roundCount {
            if round == roundCount / 10 { before = try residentByteCount() }
            for album in albums { context.refresh(album, mergesChanges: false) }
            for album in albums { _ = (album.title, album.tracks.count) }
        }
        withExtendedLifetime(albums) {}
        return try residentByteCount() - before
    }

    // 500 rounds of 500 objects load half a million rows and lists: 7 MB or more, if the context kept each trip.
    @Test func `a context that refreshes its objects for years keeps its memory`() async throws {
        guard FileManager.default.fileExists(atPath: "/proc/self/status") else { return }
        await #expect(processExitsWith: .success) {
            let growth = try CohortTests.refreshOften(500)
            #expect(growth < 3 << 20, "\(growth) bytes")
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
