// Power losses and failing calls at every write and sync of a migration: the file has the old model with all of its
// rows, or the new model with all of its rows; never some of each.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MigrationCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_MIGRATION_STEP", default: 15)
    private static let albumCount = 300

    /// The old or the new model; the new one renames and retypes properties, unites two hierarchies, turns a to-one
    /// relationship into a to-many one, and drops an attribute.
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        guard isNew else {
            return try ManagedObjectModel(entities: [
                EntityDescription(
                    "Album",
                    attributes: [
                        AttributeDescription("title", .string, isIndexed: true),
                        AttributeDescription("number", .integer32), AttributeDescription("mood", .string),
                    ], relationships: [RelationshipDescription("artist", to: "Artist", inverse: "albums")]),
                EntityDescription(
                    "Artist", attributes: [AttributeDescription("name", .string)],
                    relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered)]),
            ])
        }
        return try ManagedObjectModel(entities: [
            EntityDescription("Thing", isAbstract: true, attributes: [AttributeDescription("note", .string)]),
            EntityDescription(
                "Record", superentity: "Thing",
                attributes: [
                    AttributeDescription("heading", .string, isIndexed: true, renamingIdentifier: "title"),
                    AttributeDescription("number", .string, isIndexed: true),
                ],
                relationships: [RelationshipDescription("artist", to: "Artist", inverse: "albums", .toMany)],
                renamingIdentifier: "Album"),
            EntityDescription(
                "Artist", superentity: "Thing", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("albums", to: "Record", inverse: "artist", .ordered)]),
        ])
    }

    private static let migration = MigrationOptions(allowing: [.removal(of: "Album.mood")])
    private static let backedUp = MigrationOptions(allowing: [.removal(of: "Album.mood")], backupPath: "backup")

    /// A closed store of the old model that is larger than its cache.
    private func makeStore(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try open(system, isNew: false)
        let artists = (0..<5).map { _ in ObjectID(temporaryFor: "Artist") }
        var request = SaveRequest()
        for id in artists { request.insertions.append(.init(id: id, values: [.string("a")], destinations: [nil])) }
        for number in 0..<Self.albumCount {
            let title = "Album \(number * 7919 % 307) of a title that is long enough to need some pages"
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "Album"),
                    values: [.string(title), .integer(Int64(number)), .string("calm")],
                    destinations: [artists[number % 5]]))
        }
        _ = try store.save(request)
        try store.close()
        return system
    }

    private func open(
        _ system: SimulatedFileSystem, isNew: Bool?, _ migration: MigrationOptions = Self.migration,
        at path: String = Self.path
    ) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(
            try Database.open(path, in: system, options: options), path: nil,
            model: try isNew.map { try Self.model(isNew: $0) }, migration: migration)
    }

    /// Whether the file has the new model; `nil` if it has neither model with all of its rows.
    private func isNew(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image, isNew: nil)
        defer { try? store.close() }
        let (pages, report) = (try store.database.check(), try store.check())
        guard pages.isOK, report.isOK, report.dangling.isEmpty, report.rowCounts["Artist"] == 5 else { return nil }
        let names = Set(try store.database.beginRead().trees().map(\.tree.name))
        guard !names.contains(where: { $0.hasPrefix("migration:") }) else { return nil }
        let isNew = store.model.entity(named: "Thing") != nil
        let entity = try #require(store.model.entity(named: isNew ? "Record" : "Album"))
        let ids = try store.fetchIDs(StoreFetch(entity: entity))
        let number = try #require(entity.attribute(named: "number")).slot
        let values = try store.snapshots(of: ids).map { $0?.value(at: number) }
        let expected = (0..<Self.albumCount).map { isNew ? AttributeValue.string("\($0)") : .integer(Int64($0)) }
        let artist = try #require(store.model.entity(named: "Artist"))
        let albums = try #require(artist.relationship(named: "albums"))
        let lists = try store.destinations(of: albums, for: try store.fetchIDs(StoreFetch(entity: artist)))
        guard values == expected, lists.map(\.count) == Array(repeating: Self.albumCount / 5, count: 5) else {
            return nil
        }
        return isNew
    }

    /// The change under test: a store of the old model is opened with the new one.
    private var change: OldOrNew {
        OldOrNew(work: { try open($0, isNew: true).close() }, isDone: isNew)
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MIGRATION_SEEDS", default: 2)))
    func `a power loss at any write of a migration leaves the old model or the new one, whole`(seed: UInt64) throws {
        let system = try makeStore(seed: testSeed(default: 5100) + seed)
        try change.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `after a power loss at any write of a migration with a backup, the next one makes or finds it`() throws {
        let seed = testSeed(default: 5700)
        print("ESPALIER_SEED=\(seed)")
        var number = 0
        let change = OldOrNew(
            work: { try open($0, isNew: true, Self.backedUp).close() },
            isDone: { image in
                let outcome = try isNew(image)
                number += 1
                // Each migration takes a while: one in so many losses of power.
                guard outcome == false, number % Self.step == 0 else { return outcome }
                try open(image, isNew: true, Self.backedUp).close()
                guard try isNew(image) == true else { return nil }
                let backup = try open(image, isNew: nil, at: "backup")
                defer { try? backup.close() }
                let report = try backup.check()
                let isWhole = report.isOK && report.rowCounts["Album"] == Self.albumCount
                return isWhole && backup.model.entity(named: "Thing") == nil ? false : nil
            })

        try change.expectWholeAfterPowerLoss(on: try makeStore(seed: seed), seed: seed)
    }

    @Test func `a call that fails during a migration costs the work and nothing else`() throws {
        let original = try makeStore(seed: testSeed(default: 5200))
        try change.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
