// Migrations that write most rows of a hierarchy anew: rows that change, stay and go beside one another, on more pages
// than the cache has, with indexes and constraints over what changes.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct RewrittenRowTests {
    /// A change of the model.
    private enum Change: String, CaseIterable, CustomTestStringConvertible {
        /// Integers that become texts, in all rows; they are unique, and indexed.
        case numbers
        /// Texts that become integers, in all rows.
        case codes
        /// Integers that become texts in the rows of one entity, which are most; the others stay.
        case legs
        /// Rows of one entity are removed, and integers become texts in all others.
        case withoutLamps
        /// A reference leads to a subentity now, to which all references lead.
        case narrowSeats

        var testDescription: String { rawValue }
    }

    private static let rowCount = 250

    private static func model(_ change: Change?) throws -> ManagedObjectModel {
        let hasTexts = change == .numbers || change == .withoutLamps
        var thing = EntityDescription(
            "Thing",
            attributes: [
                AttributeDescription("serial", .integer64),
                AttributeDescription("number", hasTexts ? .string : .integer64, isIndexed: true),
                AttributeDescription("code", change == .codes ? .integer32 : .string, isIndexed: true),
                AttributeDescription("note", .string),
            ])
        thing.uniquenessConstraints = [["number"]]
        var entities = [
            thing,
            EntityDescription(
                "Chair", superentity: "Thing",
                attributes: [AttributeDescription("legs", change == .legs ? .string : .integer16)]),
            EntityDescription("Stool", superentity: "Chair"),
            EntityDescription(
                "Table", superentity: "Thing", attributes: [AttributeDescription("width", .double)],
                relationships: [
                    RelationshipDescription("seat", to: change == .narrowSeats ? "Stool" : "Chair"),
                    RelationshipDescription("thing", to: "Thing"),
                ]),
        ]
        if change != .withoutLamps { entities.append(EntityDescription("Lamp", superentity: "Thing")) }
        return try ManagedObjectModel(entities: entities)
    }

    /// A closed store of the former model; returns its content.
    private func fill(_ path: String, _ random: inout SeededGenerator) throws -> GraphDump {
        let model = try Self.model(nil)
        let store = try BTreeStore.open(path: path, model: model, options: .small)
        var graph = GraphInsertion(model)
        var stools: [Int64] = []
        for serial in 1...Int64(Self.rowCount) {
            let entity = random.pick(["Chair", "Stool", "Stool", "Table", "Thing", "Lamp", "Chair"])
            let number = Int64(truncatingIfNeeded: random.next()) >> Int64(random.next() % 50)
            // Different in all rows, and of every width.
            var values: [String: AttributeValue] = ["number": .integer(number / 1000 * 1000 + serial)]
            if random.oneIn(9) { values["number"] = .null }
            if !random.oneIn(5) { values["code"] = .string("\(Int32(truncatingIfNeeded: random.next()) >> 9)") }
            values["note"] = .string(String(repeating: "ö", count: random.pick([0, 5, 100, 200, 300, 3000])))
            if random.oneIn(6) { values["note"] = .null }
            var seat: [String: Int64] = [:]
            switch entity {
            case "Chair", "Stool":
                if !random.oneIn(4) { values["legs"] = .integer(Int64(random.pick([Int16.min, -1, 0, 3, 300, .max]))) }
            case "Table":
                values["width"] = .double(Double(serial) / 4)
                if let stool = stools.last, !random.oneIn(4) { seat = ["seat": stool, "thing": serial - 1] }
            default: break
            }
            if entity == "Stool" { stools.append(serial) }
            try graph.add(serial, entity, values, to: seat)
        }
        try graph.save(in: store)
        let dump = try GraphDump(store)
        try store.close()
        return dump
    }

    /// The content after the change, computed from plain values.
    private func changed(_ former: GraphDump, _ change: Change) -> GraphDump {
        func text(_ value: AttributeValue?) -> AttributeValue {
            if case .integer(let number)? = value { .string("\(number)") } else { .null }
        }
        var dump = former
        for (serial, row) in former.rows {
            switch change {
            case .numbers: dump.rows[serial]?.values["number"] = text(row.values["number"])
            case .codes:
                guard case .string(let code)? = row.values["code"], let number = Int64(code) else { continue }
                dump.rows[serial]?.values["code"] = .integer(number)
            case .legs: if let legs = row.values["legs"] { dump.rows[serial]?.values["legs"] = text(legs) }
            case .withoutLamps:
                dump.rows[serial]?.values["number"] = text(row.values["number"])
                if row.entity == "Lamp" { dump.rows[serial] = nil }
                guard let thing = row.references["thing"] ?? nil, former.rows[thing]?.entity == "Lamp" else { continue }
                dump.rows[serial]?.references["thing"] = .some(nil)
            case .narrowSeats: break
            }
        }
        return dump
    }

    @Test(arguments: Change.allCases)
    private func `rows that change, stay and go are those that a change of plain values gives`(
        _ change: Change
    ) throws {
        for run in 0..<UInt64(campaignCount("ESPALIER_REWRITTEN_STORES", default: 1)) {
            let seed = testSeed(default: 20_261_127) + run
            var random = SeededGenerator(seed: seed)
            try withStorePath { path in
                let former = try fill(path, &random)
                let expected = changed(former, change)
                let model = try Self.model(change)
                let losses: Set<MigrationLoss> = change == .withoutLamps ? [.removal(of: "Lamp")] : []
                let migration = MigrationOptions(allowing: losses)

                let plan = try BTreeStore.migrate(at: path, to: model, migration: migration, options: .small)

                let rows = former.rows.values
                let written =
                    switch change {
                    case .numbers, .codes: rows.count
                    case .legs: rows.count { $0.values["legs"] != nil }
                    case .withoutLamps: rows.count { $0.entity != "Lamp" }
                    case .narrowSeats: rows.count { $0.entity == "Table" }
                    }
                #expect(plan.outcome?.rowsWritten == written, "seed \(seed)")
                #expect(plan.outcome?.rowsRemoved == rows.count - expected.rows.count && plan.outcome?.rowsMoved == 0)
                let store = try BTreeStore.open(path: path, model: model, options: .small)
                let dump = try GraphDump(store)
                if dump != expected {
                    Issue.record("seed \(seed)\n\(dump.differences(from: expected).joined(separator: "\n"))")
                }
                #expect(try store.check().findings.map(\.description) == [] && store.check().dangling.isEmpty)
                #expect(try store.database.check().findings == [])
                try store.close()
            }
        }
    }

    @Test(arguments: ["12a", "007", "+7", "-0", "3000000000", "", " 1"])
    func `a text in the middle that is no number leaves the store as it was`(text: String) throws {
        try withStorePath { path in
            var random = SeededGenerator(seed: testSeed(default: 20_261_131))
            _ = try fill(path, &random)
            let old = try BTreeStore.open(path: path, model: Self.model(nil), options: .small)
            let thing = try #require(old.model.entity(named: "Thing"))
            let id = try old.fetchIDs(StoreFetch(entity: thing))[Self.rowCount / 2]
            let slot = try #require(thing.attribute(named: "code")).slot
            var request = SaveRequest()
            request.updates = [.init(id: id, expectedVersion: 1, values: [(slot, .string(text))])]
            _ = try old.save(request)
            let former = try GraphDump(old)
            try old.close()

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.migrate(at: path, to: Self.model(.codes), options: .small)
            }

            guard case .migrationRefused(_, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let failure = try #require(refusal.failures.first)
            #expect(refusal.failures.count == 1 && failure.subject == "Thing.code")
            #expect(failure.reason == .inexact(.integer32))
            #expect(failure.rowCount == 1 && failure.objects.map(\.key) == [id.key])
            let store = try BTreeStore.open(path: path, model: Self.model(nil), options: .small)
            #expect(try GraphDump(store) == former && store.check().isOK && store.database.check().isOK)
            try store.close()
        }
    }

    @Test func `rows that share a value that becomes unique leave the store as it was`() throws {
        func model(isNew: Bool) throws -> ManagedObjectModel {
            var thing = EntityDescription(
                "Thing",
                attributes: [
                    AttributeDescription("serial", .integer64),
                    AttributeDescription("number", isNew ? .string : .double),
                ])
            if isNew { thing.uniquenessConstraints = [["number"]] }
            return try ManagedObjectModel(entities: [thing])
        }
        try withStorePath { path in
            let old = try model(isNew: false)
            let store = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            for serial in 0..<300 as Range<Int64> {
                try graph.add(serial, "Thing", ["number": .double(serial == 200 ? 7 : Double(serial))])
            }
            try graph.save(in: store)
            let before = try GraphDump(store)
            try store.close()

            let plan = try BTreeStore.migrationPlan(at: path, to: model(isNew: true), checkingRows: true)

            #expect(plan.refusal?.failures.map(\.reason) == [.notUnique(["number"])])
            #expect(throws: StoreError.self) { try BTreeStore.migrate(at: path, to: model(isNew: true)) }
            let after = try BTreeStore.open(path: path, model: old)
            #expect(try GraphDump(after) == before && after.check().isOK)
            try after.close()
        }
    }

    @Test func `a store whose rows are written anew does not grow if they are no longer than before`() throws {
        func model(_ type: AttributeType) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription(
                    "Thing",
                    attributes: [
                        AttributeDescription("serial", .integer64), AttributeDescription("number", type),
                        AttributeDescription("note", .string),
                    ])
            ])
        }
        try withStorePath { path in
            let old = try model(.integer32)
            let store = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            for serial in 1...3_000 as ClosedRange<Int64> {
                let note = String(repeating: "n", count: Int(serial % 90))
                try graph.add(serial, "Thing", ["number": .integer(serial % 1000), "note": .string(note)])
            }
            try graph.save(in: store)
            try store.close()
            let before = try BTreeStore.openWithStoredModel(path: path)
            let pageCount = before.database.statistics.pageCount
            try before.close()

            try BTreeStore.open(path: path, model: model(.string), options: .small).close()

            let after = try BTreeStore.openWithStoredModel(path: path)
            let statistics = after.database.statistics
            // Records and the end of the tree may need a page or two more.
            #expect(statistics.pageCount <= pageCount + 4, "\(pageCount) pages, then \(statistics.pageCount)")
            #expect(try after.check().isOK && after.database.check().isOK)
            try after.close()
        }
    }

    @Test func `a row without a sound structure is refused, whatever rows were before it`() throws {
        try withStorePath { path in
            var random = SeededGenerator(seed: testSeed(default: 20_261_132))
            _ = try fill(path, &random)
            let key = UInt64(Self.rowCount / 2)
            let store = try BTreeStore.open(path: path, model: Self.model(nil))
            let tree = try #require(try store.database.beginRead().tree(named: "rows:Thing", keys: UInt64.self))
            let row = try #require(try store.database.beginRead().get(key, from: tree))
            try store.close()
            for bytes in [[], [row[0]], Array(row[..<2]), Array(row.dropLast()), row + [0]] as [[UInt8]] {
                let damaged = try BTreeStore.open(path: path, model: Self.model(nil))
                var write = try damaged.database.beginWrite()
                try write.put(bytes, for: key, in: tree)
                try write.commit()
                try damaged.close()

                let error = #expect(throws: StoreError.self) {
                    try BTreeStore.migrate(at: path, to: Self.model(.numbers), options: .small)
                }

                guard case .damagedContent(_, "Thing", key, _)? = error else {
                    Issue.record("\(bytes.count) of \(row.count) bytes: \(String(describing: error))")
                    continue
                }
            }
        }
    }

    @Test func `rows that came from another hierarchy stay while the others are written anew`() throws {
        func model(isNew: Bool) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription(
                    "Ant", superentity: isNew ? "Zebra" : nil,
                    attributes: isNew ? [] : [AttributeDescription("serial", .integer64)]),
                EntityDescription(
                    "Zebra",
                    attributes: [
                        AttributeDescription("serial", .integer64),
                        AttributeDescription("stripes", isNew ? .string : .integer32),
                    ]),
            ])
        }
        try withStorePath { path in
            let old = try model(isNew: false)
            let store = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            for serial in 0..<40 as Range<Int64> { try graph.add(serial, "Ant") }
            for serial in 40..<300 as Range<Int64> { try graph.add(serial, "Zebra", ["stripes": .integer(-serial)]) }
            try graph.save(in: store)
            try store.close()

            let plan = try BTreeStore.migrate(at: path, to: model(isNew: true))

            #expect(plan.outcome?.rowsMoved == 40 && plan.outcome?.rowsWritten == 260)
            let after = try BTreeStore.open(path: path, model: model(isNew: true))
            let dump = try GraphDump(after)
            #expect(dump.rows.count == 300 && dump.rows(of: "Ant").keys.sorted() == Array(0..<40))
            for serial in 40..<300 as Range<Int64> { #expect(dump.value(serial, "stripes") == .string("-\(serial)")) }
            #expect(try after.check().isOK && after.database.check().isOK)
            try after.close()
        }
    }
}
