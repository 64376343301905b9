// Power losses and failing calls while a file that is not migrated adopts a model with other indexes and constraints:
// the file has the old model with all of its trees, or the new model with all of its trees; never some of each.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ModelAdoptionCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_ADOPTION_STEP", default: 15)

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string, isOptional: !isNew, isIndexed: isNew),
                    AttributeDescription("number", .integer32, isIndexed: !isNew),
                ], uniquenessConstraints: isNew ? [["number"]] : [],
                indexes: [.init("both", on: [.init("number", isAscending: isNew), .init("title")])])
        ])
    }

    /// A closed store of the old model whose index entries do not fit into its cache.
    private func makeStore(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try open(system, isNew: false)
        var request = SaveRequest()
        for number in 0..<400 {
            let title = "Album \(number * 7919 % 401) of a title that is long enough to need some pages"
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "Album"), values: [.string(title), .integer(Int64(number))],
                    destinations: []))
        }
        _ = try store.save(request)
        try store.close()
        return system
    }

    private func open(_ system: SimulatedFileSystem, isNew: Bool?) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(
            try Database.open(Self.path, in: system, options: options), path: nil,
            model: try isNew.map { try Self.model(isNew: $0) }, migration: .off)
    }

    /// Whether the file has the new model; `nil` if it has neither model with all of its trees.
    private func isNew(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image, isNew: nil)
        let (pages, report) = (try store.database.check(), try store.check())
        let names = Set(try store.database.beginRead().trees().map(\.tree.name))
        let isNew = store.model.descriptions == (try Self.model(isNew: true).descriptions)
        try store.close()
        guard pages.isOK, report.isOK, report.rowCounts["Album"] == 400 else { return nil }
        let own: Set = ["index:Album.both", isNew ? "unique:Album.number" : "index:Album.number"]
        guard names.isSuperset(of: own), names.contains("index:Album.title") == isNew else { return nil }
        return isNew
    }

    /// The change under test: a store of the old model is opened with the new one.
    private var change: OldOrNew {
        OldOrNew(work: { try open($0, isNew: true).close() }, isDone: isNew)
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_ADOPTION_SEEDS", default: 2)))
    func `a power loss while indexes are built leaves the old model or the new one, whole`(seed: UInt64) throws {
        let system = try makeStore(seed: testSeed(default: 4100) + seed)
        try change.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails while indexes are built costs the work and nothing else`() throws {
        let original = try makeStore(seed: testSeed(default: 4200))
        try change.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
