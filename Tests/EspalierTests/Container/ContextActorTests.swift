// Actors of an application with a context of their own (SD-27).

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

private actor Importer: ContextActor {
    let isolatedContext: IsolatedContext

    init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext(name: "import") }

    func add(_ names: [String]) throws -> [ObjectID] {
        let artists = names.map { name in
            let artist = Artist(context: context)
            artist.name = name
            return artist
        }
        try context.save()
        return artists.map(\.objectID)
    }

    func name(of id: ObjectID) -> String? { self[id, as: Artist.self]?.name }

    func isAlbum(_ id: ObjectID) -> Bool { self[id, as: Album.self] != nil }
}

@Suite struct ContextActorTests {
    @Test func `the methods of an actor use objects of its context, and only values leave it`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let importer = Importer(container)
        let ids = try await importer.add(["Miles", "Ünal"])

        #expect(await importer.name(of: ids[1]) == "Ünal")
        #expect(await !importer.isAlbum(ids[0]))
        #expect(try await container.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 2)
    }

    @Test func `actors that are called by many tasks lose nothing, wherever they were made`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let importers = await MainActor.run { [Importer(container), Importer(container)] }
        let saved = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                group.addTask { try await importers[number % 2].add(["A\(number)", "B\(number)"]).count }
            }
            return try await group.reduce(0, +)
        }

        #expect(saved == 80)
        #expect(try await container.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 80)
    }
}
