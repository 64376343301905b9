// Power losses and failing calls at every write and sync of a save through a context whose new objects merge into
// stored rows, with their relationships: afterwards the file has all of the save or nothing of it.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MergedInsertionCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_MERGE_STEP", default: 4)
    private static let count = 120

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Place",
                attributes: [AttributeDescription("name", .string), AttributeDescription("visits", .integer64)],
                relationships: [
                    RelationshipDescription("tags", to: "Tag", inverse: "places", .toMany),
                    RelationshipDescription("notes", to: "Note", inverse: "place", .ordered),
                ],
                uniquenessConstraints: [["name"]]),
            EntityDescription(
                "Tag", relationships: [RelationshipDescription("places", to: "Place", inverse: "tags", .toMany)]),
            EntityDescription(
                "Note", relationships: [RelationshipDescription("place", to: "Place", inverse: "notes")]),
        ])
    }

    private static func open(_ system: SimulatedFileSystem) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(try Database.open(path, in: system, options: options), path: nil, model: try model())
    }

    /// Saves places, each with its own note and one common tag; a place whose name is stored merges into its row.
    private static func save(_ numbers: Range<Int>, _ visits: Int64, _ system: SimulatedFileSystem) throws {
        let store = try open(system)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        context.constraintActions = [ConstraintName("Place", ["name"]): .merge]
        let tag = try context.insertNewObject(forEntityName: "Tag")
        for number in numbers {
            let place = try context.insertNewObject(forEntityName: "Place")
            try place.setValue(.string("Place \(number * 7919 % 307) that needs some pages"), forKey: "name")
            try place.setValue(.integer(visits), forKey: "visits")
            try place.add([tag], toRelationshipNamed: "tags")
            try place.add([context.insertNewObject(forEntityName: "Note")], toRelationshipNamed: "notes")
        }
        try context.save()
        try store.close()
    }

    /// A closed store with the first half of the places.
    private static func make(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        try save(0..<count / 2, 1, system)
        return system
    }

    /// Merges that half and inserts the other.
    private static func merge(_ system: SimulatedFileSystem) throws { try save(0..<count, 2, system) }

    /// Whether all places were saved again; `nil` if the store is neither in that state nor unchanged.
    private static func isMerged(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image)
        defer { try? store.close() }
        let report = try store.check()
        guard report.isOK, report.dangling.isEmpty, let entity = store.model.entity(named: "Place"),
            let visits = entity.attribute(named: "visits")?.slot
        else { return nil }
        let found = try store.fetch(StoreFetch(entity: entity, predicate: nil, sort: []))
        let values = Set(found.map { "\($0.version) \($0.value(at: visits))" })
        switch ["Place", "Note", "Tag"].map({ report.rowCounts[$0] ?? 0 }) {
        case [count / 2, count / 2, 1]: return values == ["1 integer(1)"] ? false : nil
        case [count, count * 3 / 2, 2]: return values == ["1 integer(2)", "2 integer(2)"] ? true : nil
        default: return nil
        }
    }

    private static var save: OldOrNew { OldOrNew(work: merge, isDone: isMerged) }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MERGE_SEEDS", default: 2)))
    func `a power loss during a save that merges leaves all of it or nothing`(number: UInt64) throws {
        let seed = testSeed(default: 6300) + number
        let system = try Self.make(seed: seed)
        try Self.save.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails during a save that merges leaves all of it or nothing`() throws {
        let seed = testSeed(default: 6400)
        let original = try Self.make(seed: seed)
        try Self.save.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
