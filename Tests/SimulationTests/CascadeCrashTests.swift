// Power losses and failing calls at every write and sync of a save through a context. Its one deletion cascades to
// rows, index entries and links of several trees: afterwards the file has all of the save or nothing of it.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct CascadeCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_CASCADE_STEP", default: 5)
    private static let (albums, artists, tags) = (240, 6, 4)

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Label",
                relationships: [
                    RelationshipDescription("artists", to: "Artist", inverse: "label", .toMany, deleteRule: .cascade)
                ]),
            EntityDescription(
                "Artist",
                relationships: [
                    RelationshipDescription("label", to: "Label", inverse: "artists"),
                    RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered, deleteRule: .cascade),
                ]),
            EntityDescription(
                "Album", attributes: [AttributeDescription("title", .string, isIndexed: true)],
                relationships: [
                    RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                    RelationshipDescription("tags", to: "Tag", inverse: "albums", .toMany),
                ]),
            EntityDescription(
                "Tag",
                relationships: [
                    RelationshipDescription("albums", to: "Album", inverse: "tags", .toMany),
                    RelationshipDescription("best", to: "Album"),
                ]),
        ])
    }

    private static func open(_ system: SimulatedFileSystem) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(try Database.open(path, in: system, options: options), path: nil, model: try model())
    }

    /// A closed store with two labels; only the first has artists.
    private static func make(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try open(system)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        func make(_ name: String, _ count: Int) throws -> [ManagedObject] {
            try (0..<count).map { _ in try context.insertNewObject(forEntityName: name) }
        }
        let (labels, artists) = (try make("Label", 2), try make("Artist", Self.artists))
        let (albums, tags) = (try make("Album", Self.albums), try make("Tag", Self.tags))
        try labels[0].add(artists, toRelationshipNamed: "artists")
        for (number, album) in albums.enumerated() {
            try album.setValue(
                .string("Album \(number * 7919 % 307) of a title that needs some pages"), forKey: "title")
            try artists[number % artists.count].add([album], toRelationshipNamed: "albums")
            try tags[number % tags.count].add([album], toRelationshipNamed: "albums")
        }
        for tag in tags { try tag.setValue(.toOne(albums[7]), forKey: "best") }
        try context.save()
        try store.close()
        return system
    }

    /// Deletes the label that has the artists; the context holds no other object that the cascade reaches.
    private static func deleteLabel(_ system: SimulatedFileSystem) throws {
        let store = try open(system)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        let labels = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
        for label in labels where try !label.objectIDs(forRelationshipNamed: "artists").isEmpty {
            try context.delete(label)
        }
        try context.save()
        try store.close()
    }

    /// Whether the label and everything below it is deleted; `nil` if the store is neither in that state nor unchanged.
    private static func isDeleted(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image)
        let report = try store.check()
        defer { try? store.close() }
        guard report.isOK, report.dangling.isEmpty else { return nil }
        switch ["Label", "Artist", "Album", "Tag"].map({ report.rowCounts[$0] ?? 0 }) {
        case [2, artists, albums, tags]: return false
        case [1, 0, 0, tags]: return report.linkCount == 0 && report.indexEntryCount == 0 ? true : nil
        default: return nil
        }
    }

    private static var save: OldOrNew { OldOrNew(work: deleteLabel, isDone: isDeleted) }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_CASCADE_SEEDS", default: 2)))
    func `a power loss during a save with a cascade leaves all of it or nothing`(number: UInt64) throws {
        let seed = testSeed(default: 6100) + number
        let system = try Self.make(seed: seed)
        try Self.save.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails during a save with a cascade leaves all of it or nothing`() throws {
        let seed = testSeed(default: 6200)
        let original = try Self.make(seed: seed)
        try Self.save.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
