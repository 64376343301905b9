// Contexts on many threads that change, delete, read and merge the same objects, some of them through children; run it
// under the thread sanitizer (Tests/README.md).

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ContextStressTests {
    private static let rounds = campaignCount("ESPALIER_STRESS_ROUNDS", default: 25)

    @Test(arguments: StoreKind.allCases)
    func `contexts on many threads lose no save, fulfil every fault and leave the store whole`(
        _ kind: StoreKind
    ) async throws {
        let seed = testSeed(default: 19)
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 4, tracks: 1)
        let coordinator = stack.coordinator
        let savedCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<4 {
                group.addTask {
                    let background = BackgroundContext(coordinator, name: "worker \(number)")
                    var saved = 0
                    for round in 0..<Self.rounds {
                        let seed = seed &+ UInt64(number * 1000 + round)
                        saved += try await background.perform { context in
                            context.mergePolicy = .objectTrump
                            return try Self.work(in: context, seed: seed, number, round)
                        }
                    }
                    return saved
                }
            }
            return try await group.reduce(0, +)
        }

        let fresh = stack.newContext()
        let own = try fresh.fetch(FetchRequest<Artist>(try FetchPredicate(format: "name BEGINSWITH 'own'")))
        #expect(own.count == savedCount, "\(savedCount) saves have inserted an artist, seed \(seed)")
        for album in try fresh.fetch(FetchRequest<Album>()) {
            #expect(album.artist.map { $0.albums.contains(album) } != false)
        }
        let report = try (coordinator.persistentStores[0] as? BTreeStore)?.check()
        #expect(report?.isOK != false, "\(String(describing: report))")
    }

    /// Changes objects and saves them, through a child or not; returns whether the save went well.
    private static func work(
        in context: ManagedObjectContext, seed: UInt64, _ number: Int, _ round: Int
    ) throws -> Int {
        var random = SeededGenerator(seed: seed)
        let child = round % 3 == 0 ? ManagedObjectContext(parent: context) : nil
        child?.mergePolicy = .objectTrump
        let worker = child ?? context
        // Faults of rows that others delete meanwhile.
        for album in try worker.fetch(FetchRequest<Album>()) {
            #expect(!album.title.isEmpty || album.isDeleted)
            if let artist = album.artist { #expect(!artist.name.isEmpty || artist.isDeleted) }
        }
        // Nobody deletes or renames those that count the saves.
        let shared = try worker.fetch(FetchRequest<Artist>(try FetchPredicate(format: "name BEGINSWITH 'Artist'")))
        if let artist = shared.randomElement(using: &random) {
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where shared.count > 2: try worker.delete(artist)
            case 1, 2:
                let album = Album(context: worker)
                (album.title, album.artist) = ("Album \(number).\(round)", artist)
            default: artist.founded = Int32.random(in: 1900..<2000, using: &random)
            }
        }
        Artist(context: worker).name = "own \(number).\(round)"
        let error = contextError {
            if let child { try child.save() }
            try context.save()
        }
        // An object that others have deleted refuses changes.
        guard let error else { return 1 }
        guard case .violations = error else { throw error }
        context.rollback()
        return 0
    }
}
