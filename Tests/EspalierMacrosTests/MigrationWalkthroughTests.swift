// The example of the article on migration: an application's second version opens a store that its first one has saved.

import Espalier
import Foundation
import TestSupport
import Testing

/// The classes of the first version.
private enum First {
    @Entity final class Album: ManagedObject {
        var title: String = ""
        @Relationship(inverse: \Track.album) var tracks: OrderedToMany<Track>
    }

    @Entity final class Track: ManagedObject {
        var name: String = ""
        var seconds: Int32 = 0
        var mood: String?
        var album: Album?
    }
}

/// The classes of the second version: `Track` is renamed to `Song` and its `name` to `title`, lengths are texts, every
/// song has a rating, and albums have an index.
private enum Second {
    @Entity final class Album: ManagedObject {
        @Attribute(.indexed) var title: String = ""
        @Relationship(inverse: \Song.album) var tracks: OrderedToMany<Song>
    }

    @Entity(originalName: "Track") final class Song: ManagedObject {
        @Attribute(originalName: "name") var title: String = ""
        var seconds: Int64 = 0
        var rating: Int16 = 3
        var album: Album?
    }
}

/// The classes of another second version, which splits tracks too: those below six minutes are interludes.
private enum Split {
    @Entity final class Album: ManagedObject {
        var title: String = ""
        @Relationship(inverse: \Song.album) var tracks: OrderedToMany<Song>
        @Relationship(inverse: \Interlude.album) var interludes: ToMany<Interlude>
    }

    @Entity(originalName: "Track") final class Song: ManagedObject {
        @Attribute(originalName: "name") var title: String = ""
        var seconds: Int64 = 0
        var rating: Int16 = 3
        var album: Album?
    }

    @Entity final class Interlude: ManagedObject {
        var title: String = ""
        var seconds: Int64 = 0
        var album: Album?
    }
}

@Suite struct MigrationWalkthroughTests {
    private static let first: [ManagedObject.Type] = [First.Album.self, First.Track.self]
    private static let second: [ManagedObject.Type] = [Second.Album.self, Second.Song.self]

    /// Makes a store of the first version: an album with three tracks in order.
    private func makeStore(at path: String) throws {
        let container = try PersistentContainer(for: Self.first, at: path)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let album = First.Album(context: context)
        album.title = "Kind of Blue"
        for (name, seconds) in [("So What", 562), ("Freddie Freeloader", 586), ("Blue in Green", 337)] {
            let track = First.Track(context: context)
            (track.name, track.seconds, track.mood) = (name, Int32(seconds), "calm")
            album.tracks.append(track)
        }
        try context.save()
        try container.close()
    }

    @Test func `the second version of an application opens what the first one has saved`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)

            // 1. The plan: every step with the number of its rows, and every loss.
            let coordinator = PersistentStoreCoordinator(
                managedObjectModel: try ManagedObjectModel(for: Self.second))
            let plan = try coordinator.migrationPlan(for: PersistentStoreDescription(path: path), checkingRows: true)
            #expect(plan.refusal?.losses == [.removal(of: "Track.mood")])
            #expect(plan.outcome?.rowsWritten == 3)
            #expect(plan.steps.first { $0.change.subject == "Song" }?.change.kind == .entityRenamed(from: "Track"))
            #expect(plan.steps.first { $0.change.subject == "Song.seconds" }?.rowCount == 3)
            #expect(plan.steps.first { $0.change.subject == "Song.rating" }?.change.cost == .constant)

            // 2. No value is lost unless the options allow the loss by its name.
            #expect(throws: ContextError.self) { try PersistentContainer(for: Self.second, at: path) }
            try PersistentContainer(for: Self.first, at: path).close()

            // 3. One transaction migrates the store, after a backup of the old file.
            let migration = MigrationOptions(
                allowing: [.removal(of: "Track.mood")], backupPath: path + ".backup")
            let container = try PersistentContainer(for: Self.second, at: path, migration: migration)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let album = try #require(try context.fetch(FetchRequest<Second.Album>()).first)
            #expect(album.tracks.map(\.title) == ["So What", "Freddie Freeloader", "Blue in Green"])
            #expect(album.tracks.map(\.seconds) == [562, 586, 337] && album.tracks.allSatisfy { $0.rating == 3 })
            album.tracks[0].rating = 5
            try context.save()
            try container.close()
            try PersistentContainer(for: Self.first, at: path + ".backup").close()
        }
    }

    @Test func `a plan of versions brings a store of any of them to the last, with work of the application between`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)
            let (first, second) = (
                try ManagedObjectModel(for: Self.first), try ManagedObjectModel(for: Self.second)
            )
            let plan = SchemaMigrationPlan(from: first).then(
                .custom(
                    allowing: [.removal(of: "Track.mood")],
                    willMigrate: { context in
                        for track in try context.fetch(FetchRequest<First.Track>()) {
                            track.name += track.mood.map { " (\($0))" } ?? ""
                        }
                    },
                    didMigrate: { context in
                        for song in try context.fetch(FetchRequest<Second.Song>()) where song.seconds > 570 {
                            song.rating = 4
                        }
                    }), to: second)

            #expect(try plan.migrate(storeAt: path).count == 1)
            #expect(try plan.migrate(storeAt: path).isEmpty)

            let container = try PersistentContainer(for: Self.second, at: path)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let album = try #require(try context.fetch(FetchRequest<Second.Album>()).first)
            #expect(album.tracks.map(\.title).first == "So What (calm)")
            #expect(album.tracks.map(\.rating) == [3, 4, 3])
            try container.close()
        }
    }

    @Test func `a version renames, requires a new property and splits an entity, for any first store or none`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)
            let classes: [ManagedObject.Type] = [Split.Album.self, Split.Song.self, Split.Interlude.self]
            let mappings = MappingModel([
                EntityMapping("Track", to: "Song", where: try FetchPredicate(format: "seconds >= 360")),
                EntityMapping(
                    "Track", to: "Interlude", where: try FetchPredicate(format: "seconds < 360"),
                    [.copy("title", from: "name")]),
            ])
            let plan = SchemaMigrationPlan(from: try ManagedObjectModel(for: Self.first)).then(
                .mapped(by: mappings, allowing: [.removal(of: "Track.mood")]),
                to: try ManagedObjectModel(for: classes))

            let done = try plan.migrate(storeAt: path)

            #expect(done.first?.mappings.map(\.createdCount) == [2, 1])
            for (place, count) in [(path, 2), (folder.appending(path: "new.espalier").path, 0)] {
                let container = try PersistentContainer(plan, at: place)
                let context = ManagedObjectContext(container.persistentStoreCoordinator)
                let album = try context.fetch(FetchRequest<Split.Album>()).first
                #expect(album?.tracks.map(\.title) ?? [] == Array(["So What", "Freddie Freeloader"].prefix(count)))
                #expect(album?.tracks.map(\.rating) ?? [] == Array(repeating: 3, count: count))
                #expect(album?.interludes.map(\.title) ?? [] == Array(["Blue in Green"].prefix(count)))
                #expect(try context.count(for: FetchRequest<Split.Interlude>()) == min(count, 1))
                try container.close()
            }
        }
    }

    @Test func `a step that the library makes alone loses what it may, and no more`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)
            let (first, second) = (
                try ManagedObjectModel(for: Self.first), try ManagedObjectModel(for: Self.second)
            )
            let start = SchemaMigrationPlan(from: first)

            #expect(throws: SchemaMigrationError.self) {
                try start.then(.lightweight(), to: second).migrate(storeAt: path)
            }
            let allowed = MigrationStage.lightweight(allowing: [.removal(of: "Track.mood")])
            #expect(try start.then(allowed, to: second).migrate(storeAt: path).first?.outcome?.rowsWritten == 3)
        }
    }

    @Test func `a plan without a path from the store's version, and work that throws, say where the store is`() throws {
        struct Stop: Error {}
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)
            let (first, second) = (
                try ManagedObjectModel(for: Self.first), try ManagedObjectModel(for: Self.second)
            )

            let unknown = #expect(throws: SchemaMigrationError.self) {
                try SchemaMigrationPlan(from: second).migrate(storeAt: path)
            }
            guard case .unknownVersion(path, let found, let known)? = unknown else {
                Issue.record("\(String(describing: unknown))")
                return
            }
            #expect(found == first.versionChecksum && known == [second.versionChecksum])
            #expect(unknown?.description.contains("add the version with which the store was made") == true)
            #expect(unknown?.description.contains(path) == true)

            for isBefore in [true, false] {
                let stop: MigrationStage.Work = { _ in throw Stop() }
                let stage = MigrationStage.custom(
                    allowing: [.removal(of: "Track.mood")], willMigrate: isBefore ? stop : nil,
                    didMigrate: isBefore ? nil : stop)
                let error = #expect(throws: SchemaMigrationError.self) {
                    try SchemaMigrationPlan(from: first).then(stage, to: second).migrate(storeAt: path)
                }
                guard case .stage(path, from: 0, reached: 0, let underlying)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(underlying is Stop && error?.description.contains(path) == true)
            }
            try PersistentContainer(for: Self.first, at: path, migration: .off).close()
        }
    }

    /// The names of the tracks in a store of the first version.
    private func trackNames(at path: String) throws -> [String] {
        let container = try PersistentContainer(for: Self.first, at: path, migration: .off)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let names = try context.fetch(FetchRequest<First.Track>()).map(\.name)
        try container.close()
        return names
    }

    @Test func `a step that fails leaves the store as it was, and in the next run each work changes it once`() throws {
        struct Stop: Error {}
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            try makeStore(at: path)
            let (first, second) = (
                try ManagedObjectModel(for: Self.first), try ManagedObjectModel(for: Self.second)
            )
            let names = try trackNames(at: path)
            let loss = MigrationLoss.removal(of: "Track.mood")
            func plan(allowing: Set<MigrationLoss>, stopsBefore: Bool, stopsAfter: Bool) -> SchemaMigrationPlan {
                SchemaMigrationPlan(from: first).then(
                    .custom(
                        allowing: allowing,
                        willMigrate: { context in
                            for track in try context.fetch(FetchRequest<First.Track>()) { track.name += "!" }
                            try context.save()
                            if stopsBefore { throw Stop() }
                        },
                        didMigrate: { context in
                            for song in try context.fetch(FetchRequest<Second.Song>()) { song.rating += 1 }
                            try context.save()
                            if stopsAfter { throw Stop() }
                        }), to: second)
            }

            for failing in [
                plan(allowing: [loss], stopsBefore: true, stopsAfter: false),
                plan(allowing: [], stopsBefore: false, stopsAfter: false),
                plan(allowing: [loss], stopsBefore: false, stopsAfter: true),
            ] {
                #expect(throws: SchemaMigrationError.self) { try failing.migrate(storeAt: path) }
                #expect(try trackNames(at: path) == names)
            }
            let plan = plan(allowing: [loss], stopsBefore: false, stopsAfter: false)
            #expect(try plan.migrate(storeAt: path).count == 1)
            #expect(try plan.migrate(storeAt: path).isEmpty)

            let container = try PersistentContainer(for: Self.second, at: path, migration: .off)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let songs = try context.fetch(FetchRequest<Second.Song>())
            #expect(songs.map(\.title) == names.map { $0 + "!" } && songs.map(\.rating) == [4, 4, 4])
            try container.close()
        }
    }
}
