// Power losses and failing calls at every write and sync of batch requests: an upsert, an update that exchanges unique
// values, and a deletion with a cascade, each in chunks of a few rows. Afterwards the file has all of the request or
// nothing of it.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct BatchCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_BATCH_STEP", default: 7)
    private static let count = 120

    enum Request: CaseIterable {
        case upsert, update, deletion
    }

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Box",
                relationships: [
                    RelationshipDescription("coins", to: "Coin", inverse: "box", .ordered, deleteRule: .cascade)
                ]),
            EntityDescription(
                "Coin",
                attributes: [
                    AttributeDescription("number", .integer64), AttributeDescription("note", .string, isIndexed: true),
                ],
                relationships: [RelationshipDescription("box", to: "Box", inverse: "coins")],
                uniquenessConstraints: [["number"]]),
        ])
    }

    private static func open(_ system: SimulatedFileSystem) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(try Database.open(path, in: system, options: options), path: nil, model: try model())
    }

    /// Opens the store, executes a command in chunks of seven rows, and closes it.
    private static func execute(
        _ system: SimulatedFileSystem, _ make: (BTreeStore, Entity, Entity) throws -> StoreCommand
    ) throws -> CommandResult {
        let store = try open(system)
        let (box, coin) = (
            try #require(store.model.entity(named: "Box")), try #require(store.model.entity(named: "Coin"))
        )
        var command = try make(store, box, coin)
        (command.chunkCountMax, command.returnsIDs) = (7, true)
        let result = try store.execute(command)
        try store.close()
        return result
    }

    private static func insert(_ numbers: Range<Int>, _ note: String, into box: ObjectID?) -> (Entity) -> StoreCommand {
        { coin in
            var rest = numbers.makeIterator()
            var command = StoreCommand(
                .insert(coin) {
                    rest.next().map { number in
                        .init(
                            values: [
                                .integer(Int64(number)), .string("\(note) of a coin that needs some pages \(number)"),
                            ],
                            destinations: [box])
                    }
                })
            command.constraintActions = [ConstraintName("Coin", ["number"]): .merge]
            return command
        }
    }

    /// A closed store with a box of coins.
    private static func make(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let box = try execute(system) { _, box, _ in
            var isDone = false
            return StoreCommand(
                .insert(box) {
                    defer { isDone = true }
                    return isDone ? nil : .init(values: [], destinations: [nil])
                })
        }
        _ = try execute(system) { _, _, coin in insert(0..<count, "old", into: box.ids.first)(coin) }
        return system
    }

    private static func carryOut(_ request: Request, _ system: SimulatedFileSystem) throws {
        let result = try execute(system) { store, box, coin in
            switch request {
            case .upsert: return insert(count / 2..<3 * count / 2, "new", into: nil)(coin)
            case .update:
                let exchange = try FetchExpression(format: "\(count - 1) - number")
                return StoreCommand(
                    .update(
                        .matching(StoreFetch(entity: coin)),
                        [
                            try ResolvedAssignment("number", exchange, for: coin, in: store.model),
                            try ResolvedAssignment("note", .value(.string("new")), for: coin, in: store.model),
                        ]))
            case .deletion: return StoreCommand(.delete(.matching(StoreFetch(entity: box))))
            }
        }
        #expect(result.count == (request == .deletion ? 1 : count))
    }

    /// Whether the request is done; `nil` if the store is neither in that state nor unchanged.
    private static func isDone(_ request: Request, _ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image)
        defer { try? store.close() }
        let report = try store.check()
        guard report.isOK, report.dangling.isEmpty, let coin = store.model.entity(named: "Coin") else { return nil }
        let rows = try store.fetch(StoreFetch(entity: coin))
        let new = rows.count { row in
            if case .string(let note) = row.value(at: 1) { note.hasPrefix("new") } else { false }
        }
        let boxes = report.rowCounts["Box"] ?? 0
        let versions = Set(rows.map(\.version))
        if rows.count == count, new == 0, boxes == 1, versions == [1] { return false }
        switch request {
        case .upsert:
            return rows.count == 3 * count / 2 && new == count && boxes == 1 && versions == [1, 2] ? true : nil
        case .update: return rows.count == count && new == count && versions == [2] ? true : nil
        case .deletion: return rows.isEmpty && boxes == 0 && report.linkCount == 0 ? true : nil
        }
    }

    @Test(arguments: Request.allCases)
    func `a power loss during a batch request leaves all of it or nothing`(_ request: Request) throws {
        let seed = testSeed(default: 6500)
        let system = try Self.make(seed: seed)
        let change = OldOrNew(
            work: { try Self.carryOut(request, $0) }, isDone: { try Self.isDone(request, $0) })
        try change.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test(arguments: Request.allCases)
    func `a call that fails during a batch request leaves all of it or nothing`(_ request: Request) throws {
        let seed = testSeed(default: 6600)
        let original = try Self.make(seed: seed)
        let change = OldOrNew(
            work: { try Self.carryOut(request, $0) }, isDone: { try Self.isDone(request, $0) })
        try change.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
