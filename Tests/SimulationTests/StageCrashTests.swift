// Power losses and failing calls at every write and sync of a step with work before and after its migration: the file
// has the older model without a change of the work, or the newer model with all of them.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct StageCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_MIGRATION_STEP", default: 15)
    private static let trackCount = 200

    /// Tracks, which have their length as a text in the newer version, and a rating.
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        var attributes = [
            AttributeDescription("title", .string, isIndexed: true),
            AttributeDescription("length", isNew ? .string : .integer32),
        ]
        if isNew { attributes.append(AttributeDescription("rating", .integer16, isIndexed: true)) }
        return try ManagedObjectModel(entities: [EntityDescription("Track", attributes: attributes)])
    }

    private static func title(_ number: Int) -> String {
        "Track \(number * 7919 % 307) of a title that is long enough to need some pages"
    }

    private func database(_ system: SimulatedFileSystem) throws -> Database {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try Database.open(Self.path, in: system, options: options)
    }

    /// A closed store of the older model that is larger than its cache.
    private func makeStore(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try BTreeStore.open(try database(system), path: nil, model: try Self.model(isNew: false))
        var request = SaveRequest()
        for number in 0..<Self.trackCount {
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "Track"),
                    values: [.string(Self.title(number)), .integer(Int64(number))], destinations: []))
        }
        _ = try store.save(request)
        try store.close()
        return system
    }

    /// Adds 1 to every length before, and gives every track a rating after, each in two saves.
    private static let stage = MigrationStage.custom(
        willMigrate: { context in
            for (number, track) in try tracks(context).enumerated() {
                guard case .attribute(.integer(let length)) = try track.value(forKey: "length") else { continue }
                try track.setValue(.integer(length + 1), forKey: "length")
                if number == trackCount / 2 { try context.save() }
            }
        },
        didMigrate: { context in
            for (number, track) in try tracks(context).enumerated() {
                try track.setValue(.integer(4), forKey: "rating")
                if number == trackCount / 2 { try context.save() }
            }
        })

    private static func tracks(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
    }

    private func migrate(_ system: SimulatedFileSystem) throws {
        let open = try StagedMigration.begin(
            in: try database(system), nil, from: try Self.model(isNew: false), to: try Self.model(isNew: true),
            .automatic)
        _ = try Self.stage.migrate(open)
    }

    /// Whether the file has the newer model and all changes of the work; `nil` if it has only some of them.
    private func isNew(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try BTreeStore.open(try database(image), path: nil, model: nil)
        defer { try? store.close() }
        guard try store.database.check().isOK, try store.check().isOK else { return nil }
        let entity = try #require(store.model.entity(named: "Track"))
        let rating = entity.attribute(named: "rating")?.slot
        let length = try #require(entity.attribute(named: "length")).slot
        let rows = try store.snapshots(of: try store.fetchIDs(StoreFetch(entity: entity)))
        let lengths = rows.map { $0?.value(at: length) }
        let expected = (0..<Self.trackCount).map { number in
            rating == nil ? AttributeValue.integer(Int64(number)) : .string("\(number + 1)")
        }
        guard lengths == expected else { return nil }
        guard let rating else { return false }
        return rows.allSatisfy { $0?.value(at: rating) == .integer(4) } ? true : nil
    }

    private var change: OldOrNew { OldOrNew(work: { try migrate($0) }, isDone: isNew) }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MIGRATION_SEEDS", default: 2)))
    func `a power loss at any write of a step with work leaves the older version or the newer one, whole`(
        seed: UInt64
    ) throws {
        let system = try makeStore(seed: testSeed(default: 5500) + seed)
        try change.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails during a step with work costs the step and nothing else`() throws {
        let original = try makeStore(seed: testSeed(default: 5600))
        try change.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
