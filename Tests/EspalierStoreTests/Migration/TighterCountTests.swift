// Tighter limits to the numbers of destinations, and the rows that do not meet them.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct TighterCountTests {
    private typealias Limits = (minimum: Int, maximum: Int)

    private static func model(
        _ cardinality: RelationshipDescription.Cardinality, _ limits: Limits, hasInverse: Bool, isRenamed: Bool
    ) throws -> ManagedObjectModel {
        let (owner, name) = isRenamed ? ("Team", "players") : ("Owner", "members")
        return try ManagedObjectModel(entities: [
            EntityDescription(
                owner, attributes: [AttributeDescription("serialO", .integer64)],
                relationships: [
                    RelationshipDescription(
                        name, to: "Member", inverse: hasInverse ? "owners" : nil, cardinality,
                        minCount: limits.minimum, maxCount: limits.maximum,
                        renamingIdentifier: isRenamed ? "members" : nil)
                ], renamingIdentifier: isRenamed ? "Owner" : nil),
            EntityDescription(
                "Member", attributes: [AttributeDescription("serialM", .integer64)],
                relationships: hasInverse
                    ? [RelationshipDescription("owners", to: owner, inverse: name, .toMany)] : []),
        ])
    }

    private static func limits(_ random: inout SeededGenerator) -> Limits {
        let maximum = random.oneIn(6) ? Int.max : Int.random(in: 0...4, using: &random)
        return (Int.random(in: 0...(maximum == 0 ? 4 : min(maximum, 4)), using: &random), maximum)
    }

    /// The numbers of the rows, beginning with 1, that break each limit which is tighter than it was.
    private static func broken(_ sizes: [Int], _ old: Limits, _ new: Limits) -> [MigrationFailure.Reason: [UInt64]] {
        func keys(where isBroken: (Int) -> Bool) -> [UInt64] {
            sizes.indices.filter { isBroken(sizes[$0]) }.map { UInt64($0 + 1) }
        }
        var found: [MigrationFailure.Reason: [UInt64]] = [:]
        if new.minimum > old.minimum {
            found[.tooFewDestinations(minimum: new.minimum)] = keys { $0 > 0 && $0 < new.minimum }
        }
        if new.maximum > 0, old.maximum == 0 || new.maximum < old.maximum {
            found[.tooManyDestinations(maximum: new.maximum)] = keys { $0 > new.maximum }
        }
        return found.filter { !$0.value.isEmpty }
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_COUNT_RUNS", default: 40)))
    func `tighter counts are refused with exactly the rows that break them, and others open the store`(
        number: UInt64
    ) throws {
        let seed = testSeed(default: 23_000) + number
        var random = SeededGenerator(seed: seed)
        let cardinality: RelationshipDescription.Cardinality = random.oneIn(2) ? .ordered : .toMany
        let (hasInverse, isRenamed) = (random.oneIn(2), random.oneIn(2))
        let (old, new) = (Self.limits(&random), Self.limits(&random))
        let sizes = (0..<[0, 1, 2, 9][Int(number % 4)]).map { _ in Int.random(in: 0...5, using: &random) }
        let trace = "seed \(seed): \(sizes) from \(old) to \(new)"
        try withStorePath { path in
            let former = try Self.model(cardinality, old, hasInverse: hasInverse, isRenamed: false)
            let store = try BTreeStore.open(path: path, model: former)
            var graph = GraphInsertion(former)
            for serial in 1...5 as ClosedRange<Int64> { try graph.add(serial, "Member") }
            for (index, size) in sizes.enumerated() {
                let serial = Int64(11 + index)
                try graph.add(serial, "Owner")
                try graph.link(serial, "members", Array([1, 2, 3, 4, 5].shuffled(using: &random).prefix(size)))
            }
            try graph.save(in: store)
            let before = try GraphDump(store)
            try store.close()
            let model = try Self.model(cardinality, new, hasInverse: hasInverse, isRenamed: isRenamed)
            let expected = Self.broken(sizes, old, new)

            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)

            let failures = plan.refusal?.failures ?? []
            let found = failures.map { ($0.reason, $0.objects.map(\.key)) }
            #expect(Dictionary(uniqueKeysWithValues: found) == expected, "\(trace)")
            #expect(failures.allSatisfy { $0.rowCount == $0.objects.count && $0.objects[0].entityName == "Owner" })
            let cost = plan.difference.changes.first { $0.kind == .countsChanged }?.cost
            if !expected.isEmpty { #expect(cost == .check, "\(trace)") }
            #expect(failures.allSatisfy { $0.subject == (isRenamed ? "Team.players" : "Owner.members") })
            let opened = Result { () throws(StoreError) in try BTreeStore.open(path: path, model: model) }
            switch opened {
            case .success(let store):
                #expect(expected.isEmpty, "\(trace)")
                #expect(store.model.descriptions == model.descriptions)
                let after = try GraphDump(store)
                for (serial, row) in before.rows where row.entity == "Owner" {
                    let list = after.list(serial, isRenamed ? "players" : "members")
                    #expect(list == before.list(serial, "members"), "\(trace)")
                }
                #expect(try store.check().isOK && store.check().dangling.isEmpty)
                try store.close()
            case .failure(let error):
                #expect(!expected.isEmpty, "\(trace): \(error)")
                for (reason, keys) in expected {
                    #expect(Self.names(error.description, reason, keys), "\(trace): \(error)")
                }
                let store = try BTreeStore.openWithStoredModel(path: path)
                #expect(try store.model.descriptions == former.descriptions && GraphDump(store) == before)
                try store.close()
            }
        }
    }

    /// Whether a message has the limit, the number of rows that break it, and the first of them.
    private static func names(_ text: String, _ reason: MigrationFailure.Reason, _ keys: [UInt64]) -> Bool {
        let rows = keys.count == 1 ? "1 row" : "\(keys.count) rows"
        let limit =
            switch reason {
            case .tooFewDestinations(let minimum): "at least \(minimum) objects, if to any, but \(rows)"
            case .tooManyDestinations(let maximum): "at most \(maximum) object\(maximum == 1 ? "" : "s"), but \(rows)"
            default: "no limit"
            }
        return text.contains(limit) && text.contains("Owner/\(keys[0])")
    }

    @Test func `a file that is read only is refused with the first row that breaks a tighter count`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model { $0[0].relationships[0].maxCount = 3 }

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: model, isReadOnly: true)
            }

            guard case .incompatibleModel(_, let reason)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(
                reason
                    == "entity Artist: albums may now lead to at most 3 objects, but 3 rows lead to more (first: "
                    + "Artist/1); remove objects with the file's model first, or keep the larger maximum")
        }
    }

    @Test func `a list that loses objects with their entity, and then has too few, is refused`() throws {
        try withStorePath { path in
            let entities = [
                EntityDescription(
                    "Owner", attributes: [AttributeDescription("serialO", .integer64)],
                    relationships: [RelationshipDescription("pets", to: "Pet", .toMany, minCount: 2)]),
                EntityDescription(
                    "Pet", isAbstract: true, attributes: [AttributeDescription("serialP", .integer64)]),
                EntityDescription("Cat", superentity: "Pet"), EntityDescription("Dog", superentity: "Pet"),
            ]
            let old = try ManagedObjectModel(entities: entities)
            let store = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            for (serial, name) in [(1, "Cat"), (2, "Cat"), (3, "Dog"), (4, "Dog")] as [(Int64, String)] {
                try graph.add(serial, name)
            }
            for (serial, pets) in [(11, [1, 2]), (12, [1, 3]), (13, [3, 4]), (14, [])] as [(Int64, [Int64])] {
                try graph.add(serial, "Owner")
                try graph.link(serial, "pets", pets)
            }
            try graph.save(in: store)
            try store.close()
            let model = try ManagedObjectModel(entities: Array(entities.dropLast()))

            let plan = try BTreeStore.migrationPlan(
                at: path, to: model, migration: MigrationOptions(allowing: [.removal(of: "Dog")]), checkingRows: true)

            let failure = try #require(plan.refusal?.failures.first)
            #expect(failure.reason == .tooFewDestinations(minimum: 2) && failure.objects.map(\.key) == [2])
            #expect(
                failure.description
                    == "Owner.pets must now lead to at least 2 objects, if to any, but 1 row (Owner/2) leads to fewer: "
                    + "add objects with the file's model first, or keep the smaller minimum")
        }
    }

    @Test func `limits to the lists of a new inverse, and to lists that were references, hold for the rows`() throws {
        let inverse = try MigrationLibrary.refusal { entities in
            entities[0].relationships[1].inverse = "artists"
            entities[3].relationships = [
                RelationshipDescription("artists", to: "Artist", inverse: "notes", .toMany, maxCount: 1)
            ]
        }
        let failure = try #require(inverse?.failures.first)
        #expect(failure.reason == .tooManyDestinations(maximum: 1) && failure.objects.map(\.key) == [2])
        #expect(failure.description.contains("Note.artists may now lead to at most 1 object, but 1 row (Note/2)"))
        let list = try MigrationLibrary.refusal { entities in
            entities[1].relationships[0].cardinality = .toMany
            (entities[1].relationships[0].minCount, entities[1].relationships[0].maxCount) = (2, 0)
            entities[1].indexes = []
        }
        #expect(list?.failures.map(\.reason) == [.tooFewDestinations(minimum: 2)])
        #expect(list?.failures.first?.rowCount == 12)
    }
}
