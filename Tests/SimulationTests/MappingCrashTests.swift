// Power losses and failing calls at every write and sync of a migration by mappings: the file has the old model with
// all of its objects, or the new model with all of theirs.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MappingCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_MAPPING_STEP", default: 20)
    private static let personCount = 200

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        let club = EntityDescription(
            "Club", attributes: [AttributeDescription("fee", isNew ? .string : .integer32)],
            relationships: [
                RelationshipDescription("members", to: isNew ? "Human" : "Person", inverse: "club", .toMany)
            ])
        let attributes = [
            AttributeDescription("number", .integer32, isIndexed: true), AttributeDescription("name", .string),
        ]
        let relationships = [RelationshipDescription("club", to: "Club", inverse: "members")]
        guard isNew else {
            return try ManagedObjectModel(entities: [
                EntityDescription("Person", attributes: attributes, relationships: relationships), club,
            ])
        }
        return try ManagedObjectModel(entities: [
            EntityDescription("Human", isAbstract: true, attributes: attributes, relationships: relationships),
            EntityDescription("Staff", superentity: "Human"), EntityDescription("Guest", superentity: "Human"), club,
        ])
    }

    private static func mappings() throws -> MappingModel {
        MappingModel([
            EntityMapping("Person", to: "Staff", where: try FetchPredicate(format: "number < 50")),
            EntityMapping("Person", to: "Guest", where: try FetchPredicate(format: "number >= 50")),
        ])
    }

    private func database(_ system: SimulatedFileSystem) throws -> Database {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try Database.open(Self.path, in: system, options: options)
    }

    /// A closed store of the old model that is larger than its cache.
    private func makeStore(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try BTreeStore.open(try database(system), path: nil, model: try Self.model(isNew: false))
        let clubs = (0..<3).map { _ in ObjectID(temporaryFor: "Club") }
        var request = SaveRequest()
        for id in clubs { request.insertions.append(.init(id: id, values: [.integer(7)], destinations: [nil])) }
        for number in 0..<Self.personCount {
            let name = "Person \(number * 7919 % 307) with a name that is long enough to need some pages"
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "Person"), values: [.integer(Int64(number)), .string(name)],
                    destinations: [clubs[number % 3]]))
        }
        _ = try store.save(request)
        try store.close()
        return system
    }

    private func migrate(_ system: SimulatedFileSystem) throws {
        let (former, newer, mappings) = (
            try Self.model(isNew: false), try Self.model(isNew: true), try Self.mappings()
        )
        let open = try MappedMigration.begin(
            in: try database(system), nil, from: former, to: newer, try mappings.mapped(from: former, to: newer),
            .automatic, isTrial: false)
        _ = try mappings.run(open, former, newer, .automatic)
    }

    /// Whether the file has the new model; `nil` if it has neither model with all of its objects.
    private func isNew(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try BTreeStore.open(try database(image), path: nil, model: nil)
        defer { try? store.close() }
        let (pages, report) = (try store.database.check(), try store.check())
        guard pages.isOK, report.isOK, report.dangling.isEmpty, report.rowCounts["Club"] == 3 else { return nil }
        let isNew = store.model.entity(named: "Human") != nil
        let entity = try #require(store.model.entity(named: isNew ? "Human" : "Person"))
        let number = try #require(entity.attribute(named: "number")).slot
        let ids = try store.fetchIDs(StoreFetch(entity: entity))
        var found: [Int64] = []
        for case .integer(let value)? in try store.snapshots(of: ids).map({ $0?.value(at: number) }) {
            found.append(value)
        }
        let club = try #require(store.model.entity(named: "Club"))
        let members = try #require(club.relationship(named: "members"))
        let lists = try store.destinations(of: members, for: try store.fetchIDs(StoreFetch(entity: club)))
        guard found.sorted() == (0..<Int64(Self.personCount)).map(\.self),
            lists.map(\.count).reduce(0, +) == Self.personCount,
            !isNew || report.rowCounts["Staff"] == 50
        else { return nil }
        return isNew
    }

    private var change: OldOrNew { OldOrNew(work: { try migrate($0) }, isDone: isNew) }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MAPPING_SEEDS", default: 2)))
    func `a power loss at any write of a migration by mappings leaves the old model or the new one, whole`(
        seed: UInt64
    ) throws {
        let system = try makeStore(seed: testSeed(default: 5300) + seed)
        try change.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails during a migration by mappings costs the work and nothing else`() throws {
        let original = try makeStore(seed: testSeed(default: 5400))
        try change.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
