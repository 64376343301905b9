// The moment between the commit of a save and its message: a context that merges by itself has moved on already, and
// does not know yet what the save has deleted.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

/// A store that calls a closure after each save, before the context that saves has its answer.
private final class CommittedStore: PersistentStore {
    private let base: any PersistentStore
    // SAFETY: the closure is set and called on the one thread of its test.
    /// Called between the commit and the message.
    nonisolated(unsafe) var afterCommit: (() -> Void)?

    init(_ base: any PersistentStore) { self.base = base }

    var identifier: UUID { base.identifier }
    var type: StoreType { base.type }
    var path: String? { base.path }
    var isReadOnly: Bool { base.isReadOnly }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { try base.snapshot() }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        let result = try base.save(request)
        // SAFETY: the closure is set and called on the one thread of its test.
        unsafe afterCommit?()
        return result
    }
    func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        let result = try base.execute(command)
        // SAFETY: the closure is set and called on the one thread of its test.
        unsafe afterCommit?()
        return result
    }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

@Suite struct LeftGenerationTests {
    /// A reader that merges by itself and has faults, and a writer.
    private final class Scene {
        let store: CommittedStore
        let reader: ManagedObjectContext
        let writer: ManagedObjectContext
        let artist: Artist

        init(_ kind: StoreKind) throws {
            let model = try ManagedObjectModel(for: musicClasses)
            store = CommittedStore(
                kind == .inMemory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model))
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(store)
            (reader, writer) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
            artist = Artist(context: writer)
            artist.name = "Nina"
            for number in 0..<3 {
                let album = Album(context: writer)
                (album.title, album.artist) = ("Album \(number)", artist)
                let track = Track(context: writer)
                (track.name, track.seconds, track.album) = ("Track \(number)", 100, album)
            }
            try writer.save()
            reader.automaticallyMergesChangesFromParent = true
        }

        // SAFETY: the closure is set and called on the one thread of its test.
        deinit { unsafe store.afterCommit = nil }

        /// Calls `body` after the next commit, before its message.
        func onNextCommit(_ body: @escaping () -> Void) {
            unsafe store.afterCommit = { [unowned store] in
                unsafe store.afterCommit = nil
                body()
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a fault whose row was deleted a moment ago is fulfilled until the context is told (C-03)`(
        _ kind: StoreKind, _ isBatch: Bool
    ) throws {
        let scene = try Scene(kind)
        let artist = try #require(try scene.reader.fetch(FetchRequest<Artist>()).first)
        let album = try #require(
            try scene.reader.object(
                with: try scene.writer.fetchIDs(FetchRequest<Album>())[0]) as? Album)
        var seen: [String] = []
        scene.onNextCommit {
            // Moves to the generation without the rows.
            scene.reader.processPendingChanges()
            #expect((try? scene.reader.count(for: FetchRequest<Album>())) == 0)
            #expect(album.isFault && !album.isDeleted)
            seen.append("\(album.title) by \(album.artist?.name ?? "nobody") with \(album.tracks.map(\.name))")
            #expect(album.tracks.count == 1 && album.tracks[0].album === album)
            seen.append("\(artist.name), \(artist.isDeleted)")
        }
        if isBatch {
            try scene.writer.execute(BatchDeleteRequest(FetchRequest<Artist>()))
        } else {
            try scene.writer.delete(scene.artist)
            try scene.writer.save()
        }

        #expect(seen.count == 2 && seen[0].contains("by Nina with [\"Track"))
        #expect(!album.isDeleted)
        scene.reader.processPendingChanges()
        #expect(album.isDeleted && artist.isDeleted && album.title.hasPrefix("Album"))
        #expect(try scene.reader.fetch(FetchRequest<Album>()).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a save of the context's own in that moment keeps its faults readable, too`(_ kind: StoreKind) throws {
        let scene = try Scene(kind)
        let ids = try scene.writer.fetchIDs(FetchRequest<Album>())
        let albums = try ids.map { try scene.reader.object(with: $0) as? Album }
        _ = try scene.reader.count(for: FetchRequest<Album>())
        scene.onNextCommit {
            let own = Artist(context: scene.reader)
            own.name = "own"
            #expect(contextError { try scene.reader.save() } == nil)
            #expect(albums.map { $0?.title.isEmpty } == [false, false, false])
        }
        try scene.writer.delete(scene.artist)
        try scene.writer.save()
        scene.reader.processPendingChanges()
        #expect(albums.allSatisfy { $0?.isDeleted == true })
        #expect(try scene.reader.fetch(FetchRequest<Artist>()).map(\.name) == ["own"])
    }

    @Test func `a row that is deleted when the context was told long ago reads as deleted`() throws {
        let scene = try Scene(.inMemory)
        let id = try scene.writer.fetchIDs(FetchRequest<Album>())[0]
        try scene.writer.delete(scene.artist)
        try scene.writer.save()
        scene.reader.processPendingChanges()
        let album = try #require(try scene.reader.object(with: id) as? Album)
        #expect(album.title.isEmpty && album.isDeleted)
    }

    // MARK: Messages in another order than that of the commits

    @Test(arguments: StoreKind.allCases, [false, true])
    func `an object whose deletion is told after its second insertion shows the row that exists`(
        _ kind: StoreKind, _ isChild: Bool
    ) throws {
        let scene = try Scene(kind)
        let reader = isChild ? ManagedObjectContext(parent: scene.reader) : scene.reader
        reader.automaticallyMergesChangesFromParent = true
        let shown = try #require(try reader.existingObject(with: scene.artist.objectID) as? Artist)
        #expect(shown.name == "Nina")
        let other = ManagedObjectContext(scene.writer.persistentStoreCoordinator)
        other.mergePolicy = .objectTrump
        try #require(try other.existingObject(with: shown.objectID) as? Artist).name = "again"
        scene.onNextCommit {
            // Finds the deletion, inserts the row again, and tells so before the deletion is told.
            #expect(contextError { try other.save() } == nil)
        }
        try scene.writer.delete(scene.artist)
        try scene.writer.save()

        scene.reader.processPendingChanges()
        reader.processPendingChanges()

        #expect(!shown.isDeleted && shown.name == "again")
        #expect(try reader.fetch(FetchRequest<Artist>()).map(\.objectID) == [shown.objectID])
        shown.founded = 7
        try reader.save()
        if isChild { try scene.reader.save() }
        other.refreshAllObjects()
        #expect(try other.fetch(FetchRequest<Artist>()).map(\.founded) == [7])
        #expect(reader.recordedViolations.isEmpty)
    }
}
