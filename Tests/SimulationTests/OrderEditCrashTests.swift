// Power losses and failing calls at every write and sync of a save that writes the edits of long orders: afterwards
// each list has its former order or its new one, in every relationship alike.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct OrderEditCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call.
    private static let step = campaignCount("ESPALIER_ORDER_STEP", default: 5)
    private static let count = 400

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album", attributes: [AttributeDescription("saves", .integer64)],
                relationships: [
                    RelationshipDescription("songs", to: "Song", inverse: "album", .ordered),
                    RelationshipDescription("favourites", to: "Song", .ordered),
                ]),
            EntityDescription(
                "Song", attributes: [AttributeDescription("number", .integer64)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: "songs")]),
        ])
    }

    private static func withStore<R>(
        in system: SimulatedFileSystem, _ body: (BTreeStore, _ album: Entity, _ song: Entity) throws -> R
    ) throws -> R {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        let store = try BTreeStore.open(
            try Database.open(path, in: system, options: options), path: nil, model: try model())
        let (album, song) = (store.model.entity(named: "Album"), store.model.entity(named: "Song"))
        let result = try body(store, try #require(album), try #require(song))
        try store.close()
        return result
    }

    /// A closed store with an album that has two long lists.
    private static func make(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        try withStore(in: system) { store, album, _ in
            var request = SaveRequest()
            let id = ObjectID(temporaryFor: "Album")
            request.insertions = [.init(id: id, values: [.integer(0)], destinations: [nil, nil])]
            for number in 0..<count {
                let song = ObjectID(temporaryFor: "Song")
                request.insertions.append(.init(id: song, values: [.integer(Int64(number))], destinations: [id]))
            }
            request.links = [.init(owner: id, slot: 1, order: request.insertions.dropFirst().map(\.id))]
            _ = try store.save(request)
        }
        return system
    }

    /// Inserts a song, moves two and removes one, in both lists.
    private static func edit(_ system: SimulatedFileSystem) throws {
        try withStore(in: system) { store, album, song in
            let id = try #require(try store.fetchIDs(StoreFetch(entity: album)).first)
            let new = ObjectID(temporaryFor: "Song")
            var request = SaveRequest()
            request.insertions = [.init(id: new, values: [.integer(Int64(count))], destinations: [id])]
            request.updates = [.init(id: id, expectedVersion: 1, values: [(0, .integer(1))])]
            for slot in 0..<2 {
                let read = try store.destinations(of: album.relationships[slot], for: [id])[0]
                var list = OrderedIDs(read)
                edit(insert: { list.insert(new, at: $0) }, move: { list.move(from: $0, to: $1) }) {
                    list.remove(list[$0])
                }
                let edits = try #require(OrderEdits(list))
                request.links.append(.init(owner: id, slot: slot, edits: edits, orderBase: slot == 0 ? nil : read))
                guard slot == 0 else { continue }
                for removed in edits.removed {
                    request.updates.append(.init(id: removed, expectedVersion: 1, destinations: [(0, nil)]))
                }
            }
            _ = try store.save(request)
        }
    }

    private static func edit(insert: (Int) -> Void, move: (Int, Int) -> Void, remove: (Int) -> Void) {
        insert(200)
        move(0, count)
        move(300, 10)
        remove(100)
    }

    /// The numbers of the songs in their new order.
    private static var newOrder: [Int64] {
        var numbers = Array(0..<Int64(count))
        edit(
            insert: { numbers.insert(Int64(count), at: $0) },
            move: { numbers.insert(numbers.remove(at: $0), at: $1) }, remove: { numbers.remove(at: $0) })
        return numbers
    }

    /// Whether the lists have their new order; `nil` if the store is neither in that state nor unchanged.
    private static func isEdited(_ image: SimulatedFileSystem) throws -> Bool? {
        try withStore(in: image) { store, album, _ in
            let report = try store.check()
            guard report.isOK, report.dangling.isEmpty else { return nil }
            let id = try #require(try store.fetchIDs(StoreFetch(entity: album)).first)
            let orders = try (0..<2).map { slot in
                let ids = try store.destinations(of: album.relationships[slot], for: [id])[0]
                return try store.snapshots(of: ids).map { $0?.value(at: 0) }
            }
            if orders.allSatisfy({ $0 == newOrder.map(AttributeValue.integer) }) { return true }
            return orders.allSatisfy { $0 == (0..<Int64(count)).map(AttributeValue.integer) } ? false : nil
        }
    }

    private static var save: OldOrNew { OldOrNew(work: edit, isDone: isEdited) }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_ORDER_SEEDS", default: 2)))
    func `a power loss during a save of edits leaves all of them or none`(number: UInt64) throws {
        let seed = testSeed(default: 6300) + number
        let system = try Self.make(seed: seed)
        try Self.save.expectWholeAfterPowerLoss(on: system, seed: seed)
    }

    @Test func `a call that fails during a save of edits leaves all of them or none`() throws {
        let seed = testSeed(default: 6400)
        let original = try Self.make(seed: seed)
        try Self.save.expectWholeAfterFailures(on: original, step: Self.step)
    }
}
