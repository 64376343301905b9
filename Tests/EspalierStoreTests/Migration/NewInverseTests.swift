// Relationships that become inverses of one another, against the union of their pairs.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct NewInverseTests {
    /// Owners, and what belongs to them; each side says so without an inverse.
    private static func entities(
        _ owned: RelationshipDescription.Cardinality, _ owners: RelationshipDescription.Cardinality, inverses: Bool
    ) -> [EntityDescription] {
        [
            EntityDescription(
                "Owner", attributes: [AttributeDescription("serial", .integer64)],
                relationships: [
                    RelationshipDescription("things", to: "Thing", inverse: inverses ? "owners" : nil, owned),
                    RelationshipDescription("peers", to: "Owner", inverse: inverses ? "peers" : nil, .toMany),
                ]),
            EntityDescription(
                "Thing", attributes: [AttributeDescription("serial", .integer64)],
                relationships: [
                    RelationshipDescription("owners", to: "Owner", inverse: inverses ? "things" : nil, owners)
                ]),
        ]
    }

    private typealias Pairs = Set<[Int64]>

    /// Makes a store, and migrates it; returns what was refused, and the pairs afterwards.
    private static func migrate(
        _ owned: RelationshipDescription.Cardinality, _ owners: RelationshipDescription.Cardinality, things: Pairs,
        owning: Pairs, peers: Pairs
    ) throws -> (refusal: MigrationRefusal?, after: GraphDump) {
        try withStorePath { path in
            let older = try ManagedObjectModel(entities: entities(owned, owners, inverses: false))
            let newer = try ManagedObjectModel(entities: entities(owned, owners, inverses: true))
            let store = try BTreeStore.open(path: path, model: older)
            var graph = GraphInsertion(older)
            func lists(_ pairs: Pairs, _ owner: Int64) -> [Int64] { order(pairs, owner) }
            for serial in Int64(1)...4 { graph.announce(serial, "Owner") }
            for serial in Int64(11)...15 { graph.announce(serial, "Thing") }
            for serial in Int64(1)...4 {
                let found = lists(things, serial)
                let one: [String: Int64] = owned == .toOne ? found.first.map { ["things": $0] } ?? [:] : [:]
                try graph.add(serial, "Owner", to: one)
                if owned != .toOne { try graph.link(serial, "things", found) }
                try graph.link(serial, "peers", lists(peers, serial))
            }
            for serial in Int64(11)...15 {
                let found = lists(owning, serial)
                let one: [String: Int64] = owners == .toOne ? found.first.map { ["owners": $0] } ?? [:] : [:]
                try graph.add(serial, "Thing", to: one)
                if owners != .toOne { try graph.link(serial, "owners", found) }
            }
            try graph.save(in: store)
            try store.close()
            let plan = try BTreeStore.migrationPlan(at: path, to: newer, checkingRows: true)
            if let refusal = plan.refusal {
                let store = try BTreeStore.openWithStoredModel(path: path)
                defer { try? store.close() }
                #expect(try store.check().isOK && store.model.descriptions == older.descriptions)
                return (refusal, try GraphDump(store))
            }
            #expect(try BTreeStore.migrate(at: path, to: newer).outcome == plan.outcome)
            let migrated = try BTreeStore.open(path: path, model: newer)
            defer { try? migrated.close() }
            let report = try migrated.check()
            #expect(report.findings.map(\.description) == [] && report.dangling.isEmpty)
            return (nil, try GraphDump(migrated))
        }
    }

    /// The destinations of an owner in the order of its list, which is not that of the keys.
    private static func order(_ pairs: Pairs, _ owner: Int64) -> [Int64] {
        pairs.filter { $0[0] == owner }.map { $0[1] }.sorted { ($0 * 7 % 5, $0) < ($1 * 7 % 5, $1) }
    }

    private static func targets(_ dump: GraphDump, _ serial: Int64, _ name: String, _ isToOne: Bool) -> [Int64] {
        isToOne ? dump.reference(serial, name).map { [$0] } ?? [] : dump.list(serial, name).sorted()
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_INVERSE_WALKS", default: 36)))
    func `relationships without inverses become inverses with the pairs of both, or rows are named`(number: UInt64)
        throws
    {
        let seed = testSeed(default: 33_000) + number
        var random = SeededGenerator(seed: seed)
        let kinds: [RelationshipDescription.Cardinality] = [.toMany, .toOne, .ordered]
        let (owned, owners) = (kinds[Int(number % 3)], kinds[Int(number / 3 % 3)])
        func pairs(_ from: ClosedRange<Int64>, _ to: ClosedRange<Int64>, _ isToOne: Bool) -> Pairs {
            var pairs: Pairs = []
            for owner in from {
                for _ in 0..<Int.random(in: 0...(isToOne ? 1 : 2), using: &random) {
                    pairs.insert([owner, Int64.random(in: to, using: &random)])
                }
            }
            return pairs
        }
        let things = pairs(1...4, 11...15, owned == .toOne)
        // Often the sides agree, so that two to-one sides can be united.
        let agreeing = Bool.random(using: &random) ? things.filter { _ in Bool.random(using: &random) } : []
        var owning = Pairs(agreeing.map { [$0[1], $0[0]] })
        if agreeing.isEmpty { owning = pairs(11...15, 1...4, owners == .toOne) }
        if owners == .toOne {
            var seen: Set<Int64> = []
            owning = owning.filter { seen.insert($0[0]).inserted }
        }
        let peers = pairs(1...4, 1...4, false)

        let (refusal, after) = try Self.migrate(owned, owners, things: things, owning: owning, peers: peers)

        let union = things.union(owning.map { [$0[1], $0[0]] })
        func several(_ position: Int) -> Set<Int64> {
            let sides = Dictionary(grouping: union) { $0[position] }
            return Set(sides.filter { $0.value.count > 1 }.keys)
        }
        let forbidden = (owned == .toOne ? several(0).count : 0, owners == .toOne ? several(1).count : 0)
        if forbidden != (0, 0) {
            let counts = Dictionary(
                uniqueKeysWithValues: (refusal?.failures ?? []).map { ($0.subject, $0.rowCount) })
            #expect(counts["Owner.things", default: 0] == forbidden.0, "seed \(seed)")
            #expect(counts["Thing.owners", default: 0] == forbidden.1, "seed \(seed)")
            #expect(refusal?.failures.allSatisfy { $0.reason == .severalDestinations } == true, "seed \(seed)")
            return
        }
        #expect(refusal == nil, "seed \(seed)")
        for owner in Int64(1)...4 {
            let expected = union.filter { $0[0] == owner }.map { $0[1] }.sorted()
            #expect(Self.targets(after, owner, "things", owned == .toOne) == expected, "seed \(seed)")
            if owned == .ordered {
                // The list keeps its order; what only the other side has follows in the order of the keys.
                let own = Self.order(things, owner)
                #expect(after.list(owner, "things") == own + expected.filter { !own.contains($0) }, "seed \(seed)")
            }
            let both = peers.filter { $0[0] == owner }.map { $0[1] } + peers.filter { $0[1] == owner }.map { $0[0] }
            #expect(after.list(owner, "peers").sorted() == Set(both).sorted(), "seed \(seed)")
        }
        for thing in Int64(11)...15 {
            let expected = union.filter { $0[1] == thing }.map { $0[0] }.sorted()
            #expect(Self.targets(after, thing, "owners", owners == .toOne) == expected, "seed \(seed)")
            if owners == .ordered {
                let own = Self.order(owning, thing)
                #expect(after.list(thing, "owners") == own + expected.filter { !own.contains($0) }, "seed \(seed)")
            }
        }
    }

    @Test func `a side that had another inverse is refused with what to do instead`() throws {
        func paired(_ first: String, _ second: String) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription(
                    "Owner",
                    relationships: [
                        RelationshipDescription("things", to: "Thing", inverse: first, .toMany),
                        RelationshipDescription("best", to: "Thing", inverse: second, .toMany),
                    ]),
                EntityDescription(
                    "Thing",
                    relationships: [
                        RelationshipDescription(first, to: "Owner", inverse: "things", .toMany),
                        RelationshipDescription(second, to: "Owner", inverse: "best", .toMany),
                    ]),
            ])
        }
        try withStorePath { path in
            try BTreeStore.open(path: path, model: paired("owners", "fans")).close()
            let refusal = try BTreeStore.migrationPlan(at: path, to: paired("fans", "owners")).refusal
            #expect(refusal?.obstacles.count == 4)
            #expect(
                refusal?.obstacles.first
                    == "Owner.things and Thing.fans were not inverses of each other, and one of them had another "
                    + "inverse; remove one of the two in an intermediate version of the model first")
        }
    }

    @Test func `a required relationship that is new is refused with the rows and the way out`() throws {
        let refused = try MigrationLibrary.refusal { entities in
            entities[3].relationships = [
                RelationshipDescription("artist", to: "Artist", isOptional: false)
            ]
        }

        #expect(refused?.failures.map(\.subject) == ["Note.artist"] && refused?.failures.first?.rowCount == 4)
        #expect(refused?.description.contains("make it optional in an intermediate version") == true)
    }
}
