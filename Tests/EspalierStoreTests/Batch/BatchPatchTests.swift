// Updates that write over bytes of rows in place: after each of them the rows, versions, results and refusals are those
// of a store that knows no such way.
//
// `ESPALIER_PATCH_STEPS` makes the walk longer, and `ESPALIER_PATCH_MIB` the long value.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BatchPatchTests {
    private static let entityNames = ["Item", "Parcel", "Crate"]

    /// Items of three entities with numbers that no index has.
    private static func model(derivesDate: Bool = false) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription(
                        "number", .integer64, validationRules: [ValidationRule(.maximum(.integer(1_000_000_000)))]),
                    AttributeDescription("rank", .integer32, isOptional: false),
                    AttributeDescription("weight", .double), AttributeDescription("note", .string),
                ] + (derivesDate ? [AttributeDescription("changed", .date, derivation: .now)] : [])),
            EntityDescription("Parcel", superentity: "Item", attributes: [AttributeDescription("stamps", .integer16)]),
            EntityDescription("Crate", superentity: "Item", attributes: [AttributeDescription("height", .float)]),
        ])
    }

    /// Adds rows of the three entities, whose keys alternate between them in groups of `count`.
    private static func fill(_ store: any PersistentStore, _ count: Int) throws {
        for round in 0..<3 {
            for name in entityNames {
                let rows = try (0..<count).map { place in
                    try store.newRow(
                        name,
                        [
                            "number": .integer(Int64(round * count + place)), "rank": .integer(1),
                            "note": .string("note \(place)"),
                        ])
                }
                _ = try store.execute(try store.insertion(name, rows))
            }
        }
    }

    private static func versions(_ store: any PersistentStore) throws -> [ObjectID: UInt64] {
        let rows = try store.fetch(StoreFetch(entity: try store.entity("Item")))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.version) })
    }

    private static func count(_ format: String, _ store: any PersistentStore) throws -> Int {
        guard case .matching(let fetch) = try store.rows("Item", format) else { return -1 }
        return try store.count(fetch)
    }

    private static func names(_ ids: some Sequence<ObjectID>) -> [String] { ids.map { "\($0.entityName) \($0.key)" } }

    /// The result of a command in each store: `nil` if the store refuses it because of its rules.
    private static func outcome(_ command: StoreCommand, _ store: any PersistentStore) throws -> CommandResult? {
        do throws(StoreError) { return try store.execute(command) } catch {
            guard case .brokenRules = error else { throw error }
            return nil
        }
    }

    @Test func `updates in place give the rows, versions, results and refusals of updates row by row`() throws {
        let seed = testSeed(default: 121_100)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let tree = try CommandStoreKind.tree.make(Self.model())
        let memory = try CommandStoreKind.memory.make(Self.model())
        for store in [tree, memory] { try Self.fill(store, 4) }
        var (refusals, updates) = (0, 0)
        for step in 0..<campaignCount("ESPALIER_PATCH_STEPS", default: 60) {
            let name = random.pick(Self.entityNames)
            let condition: String? = random.pick([nil, "number > 5", "weight == nil", "rank == 2", "note ENDSWITH '1'"])
            let values = [
                // More bytes than a row may have for the number, and more than the rule allows.
                ("number", random.pick(["number + 1", "number * 300", "number - 70000", "rank"])),
                ("rank", random.pick(["rank + 1", "rank", "CAST(weight, 'integer')"])),
                ("weight", random.pick(["number / 2", "TERNARY(note LIKE '*2', 1, weight)", "weight + rank"])),
                ("note", random.pick(["uppercase(note)", "note"])),
            ].shuffled(using: &random).prefix(Int(random.next() % 2) + 1)
            let (validates, chunkCountMax) = (!random.oneIn(6), Int(random.next() % 9) + 1)
            func command(_ store: any PersistentStore) throws -> StoreCommand {
                let entity = try store.entity(name)
                let assignments = try values.map {
                    try ResolvedAssignment($0.0, try FetchExpression(format: $0.1), for: entity, in: store.model)
                }
                var command = StoreCommand(.update(try store.rows(name, condition), assignments))
                (command.returnsIDs, command.validates, command.chunkCountMax) = (true, validates, chunkCountMax)
                return command
            }
            let place = "seed \(seed), step \(step): \(name) \(condition ?? "all") \(Array(values))"
            let before = try Self.versions(tree)

            let found = try Self.outcome(try command(tree), tree)
            let expected = try Self.outcome(try command(memory), memory)

            #expect((found == nil) == (expected == nil), "\(place)")
            #expect(found?.count == expected?.count, "\(place)")
            #expect(Self.names(found?.ids ?? []) == Self.names(expected?.ids ?? []), "\(place)")
            #expect(Set(found.map { Array($0.updated) } ?? []) == Set(found?.ids ?? []), "\(place)")
            let changed = Set(found?.ids ?? [])
            for (id, version) in try Self.versions(tree) {
                #expect(version == (before[id] ?? 0) + (changed.contains(id) ? 1 : 0), "\(place): \(id)")
            }
            #expect(try tree.content(withVersions: false) == memory.content(withVersions: false), "\(place)")
            refusals += found == nil ? 1 : 0
            updates += changed.count
        }
        #expect(refusals > 0 && updates > 0, "seed \(seed): \(refusals) refusals, \(updates) updated rows")
        #expect(try tree.findings().isEmpty)
    }

    @Test func `a value with more bytes than its row has room for is stored, beside rows that have the room`() throws {
        let store = try CommandStoreKind.tree.make(Self.model())
        try Self.fill(store, 3)
        let widen = try store.assignments("Item", ["number": 1_000_000])
        _ = try store.execute(StoreCommand(.update(try store.rows("Item", "number < 4"), widen)))
        let sum = try store.assignments("Item", ["number": try FetchExpression(format: "number + 300")])
        var command = StoreCommand(.update(try store.rows("Item"), sum))
        (command.returnsIDs, command.chunkCountMax) = (true, 4)

        let result = try store.execute(command)

        #expect(result.count == 27 && result.ids.count == 27)
        let versions = try Self.versions(store).values
        #expect(versions.count { $0 == 2 } == 15 && versions.count { $0 == 3 } == 12)
        #expect(try Self.count("number == 1000300", store) == 12)
        #expect(try Self.count("number BETWEEN {304, 308}", store) == 15)
        #expect(try store.findings().isEmpty)
    }

    @Test func `a row with a value of several MB is updated beside short rows, and keeps the value`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Scan",
                attributes: [
                    AttributeDescription("number", .integer64), AttributeDescription("rank", .integer32),
                    AttributeDescription("image", .binary), AttributeDescription("note", .string),
                ])
        ])
        let image = Data(repeating: 0x5A, count: campaignCount("ESPALIER_PATCH_MIB", default: 3) << 20)
        try withStorePath { path in
            let store = try BTreeStore.open(path: path, model: model)
            let rows = try (0..<20).map { place in
                try store.newRow(
                    "Scan",
                    [
                        "number": .integer(Int64(place)), "rank": .integer(0), "note": .string("scan \(place)"),
                        "image": place == 7 ? .binary(image) : .null,
                    ])
            }
            _ = try store.execute(try store.insertion("Scan", rows))
            let sum = try store.assignments(
                "Scan",
                ["number": try FetchExpression(format: "number + 1"), "rank": try FetchExpression(format: "rank + 2")])
            // No row has the room for so long a number.
            let wide = try store.assignments("Scan", ["number": 1_099_511_627_776])
            for values in [sum, wide, sum] {
                #expect(try store.execute(StoreCommand(.update(try store.rows("Scan"), values))).count == 20)
            }
            try store.close()

            let reader = try BTreeStore.open(path: path, model: model)
            let scan = try reader.entity("Scan")
            let slots = ["number", "rank", "image"].compactMap { scan.attribute(named: $0)?.slot }
            for (place, row) in try reader.fetch(StoreFetch(entity: scan)).enumerated() {
                #expect(row.value(at: slots[0]) == .integer(1_099_511_627_777), "row \(place)")
                #expect(row.value(at: slots[1]) == .integer(4), "row \(place)")
                #expect(row.value(at: slots[2]) == (place == 7 ? .binary(image) : .null), "row \(place)")
                #expect(row.version == 4)
            }
            #expect(try reader.findings().isEmpty)
            try reader.close()
        }
    }

    @Test func `a rule that the last row breaks leaves the rows of all chunks before it as they were`() throws {
        let store = try CommandStoreKind.tree.make(Self.model())
        try Self.fill(store, 3)
        let before = try store.content()
        for (property, format) in [("number", "number * 125000001"), ("rank", "TERNARY(number == 8, nil, 7)")] {
            let value = try FetchExpression(format: format)
            var command = StoreCommand(
                .update(try store.rows("Crate"), try store.assignments("Crate", [property: value])))
            command.chunkCountMax = 2

            let error = #expect(throws: StoreError.self) { try store.execute(command) }

            guard case .brokenRules(let rules)? = error else {
                Issue.record("\(property): \(String(describing: error))")
                continue
            }
            #expect(rules.map(\.property) == [property] && rules.first?.row?.entityName == "Crate")
            #expect(try store.content() == before, "\(property)")
        }
    }

    @Test func `a derived date is that of the update, although no row of its kind is derived from the value`() throws {
        let store = try CommandStoreKind.tree.make(Self.model(derivesDate: true))
        try Self.fill(store, 1)
        let item = try store.entity("Item")
        let slot = try #require(item.attribute(named: "changed")?.slot)
        func dates() throws -> [Date] {
            try store.fetch(StoreFetch(entity: item)).compactMap {
                if case .date(let date) = $0.value(at: slot) { date } else { nil }
            }
        }
        let before = try dates()

        let update = try store.assignments("Item", ["weight": 2.5])
        _ = try store.execute(StoreCommand(.update(try store.rows("Item"), update)))

        #expect(before.count == 9)
        #expect(zip(before, try dates()).allSatisfy { $0 < $1 })
        #expect(try store.findings().isEmpty)
    }

    @Test func `a regular expression that takes too many steps ends the command, and no row gets a value`() throws {
        let store = try CommandStoreKind.tree.make(Self.model())
        let note = AttributeValue.string(String(repeating: "a", count: 40))
        _ = try store.execute(
            try store.insertion("Item", [try store.newRow("Item", ["rank": .integer(1), "note": note])]))
        let before = try store.content()
        let value = try FetchExpression(format: "TERNARY(note MATCHES '(a+)+(b)\\\\2', 2, 3)")
        let command = StoreCommand(
            .update(try store.rows("Item"), try store.assignments("Item", ["rank": value])))

        let error = #expect(throws: StoreError.self) { try store.execute(command) }

        if case .invalidPredicate(let problem)? = error {
            #expect(problem.reason == .patternTooSlow("(a+)+(b)\\2", stepCountMax: 10_000_000))
        } else {
            Issue.record("\(String(describing: error))")
        }
        #expect(try store.content() == before)
    }
}
