// The audit above the pages: it finds nothing in sound object stores, and objects to each single contradiction.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct ObjectAuditTests {
    private static func audit(_ files: ForgedFiles) throws -> AuditReport {
        try StoreAudit.run(store: files.store, log: files.log)
    }

    private static func runs(_ fallback: Int) -> Int { campaignCount("ESPALIER_OBJECT_AUDITS", default: fallback) }

    @Test func `object stores that random saves have made are in order, closed and open, with pages of any size`()
        throws
    {
        let seed = testSeed(default: 301)
        for run in 0..<UInt64(Self.runs(3)) {
            let pageSize = [4096, 8192, 16_384, 32_768, 65_536][Int(run % 5)]
            let files = try ObjectSampleRun.files(
                seed: seed &+ run, saves: 50, pageSize: pageSize, closes: run % 3 > 0)

            let report = try Self.audit(files)

            #expect(report.findings.list == [], "seed \(seed &+ run)")
            #expect(report.objects?.uncompared == [], "seed \(seed &+ run)")
            #expect((report.objects?.rowCounts ?? []).allSatisfy { $0.count > 5 }, "seed \(seed &+ run)")
            #expect(report.objects?.format == 2)
        }
    }

    @Test func `rows, entries and links are counted as the store's own check counts them`() throws {
        let files = try ObjectSampleRun.files(seed: testSeed(default: 311), saves: 60)
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: files.store)
        let options = SampleStores.options
        let store = try BTreeStore.open(
            Database.open("store", in: system, options: options), path: "store", model: ObjectSampleModel.make())

        let theirs = try store.check()
        let ours = try #require(try Self.audit(files).objects)

        #expect(theirs.isOK, "\(theirs.findings)")
        #expect(Dictionary(uniqueKeysWithValues: ours.rowCounts.map { ($0.entity, Int($0.count)) }) == theirs.rowCounts)
        #expect(Int(ours.entryCount) == theirs.indexEntryCount)
        #expect(Int(ours.linkCount) == theirs.linkCount)
    }

    @Test func `stores are in order when a model has taken indexes and constraints away, and brought them back`() throws
    {
        let seed = testSeed(default: 361)
        for run in 0..<UInt64(Self.runs(2)) {
            let system = SimulatedFileSystem(seed: 1)
            system.replaceContents(of: "store", with: try ObjectSampleRun.files(seed: seed &+ run, saves: 40).store)
            let whole = try ObjectSampleModel.make()
            var entities = whole.descriptions
            for index in entities.indices {
                (entities[index].indexes, entities[index].uniquenessConstraints) = ([], [])
                for slot in entities[index].attributes.indices {
                    entities[index].attributes[slot].isIndexed.toggle()
                    if !entities[index].attributes[slot].type.hasKeyOrder
                        || entities[index].attributes[slot].isTransient
                    {
                        entities[index].attributes[slot].isIndexed = false
                    }
                }
            }

            for model in [try ManagedObjectModel(entities: entities), whole] {
                let store = try BTreeStore.open(
                    Database.open("store", in: system, options: SampleStores.options), path: "store", model: model)
                let theirs = try store.check()
                try store.close()
                let report = try Self.audit(ForgedFiles(system))

                #expect(report.findings.list == [] && theirs.isOK, "seed \(seed &+ run)")
                #expect(report.objects.map { Int($0.entryCount) } == theirs.indexEntryCount)
            }
        }
    }

    @Test func `a store with an index of an expression is in order, and its entries have the form of entries (FR-25)`()
        throws
    {
        let index = EntityDescription.Index("i", on: [.init(expression: "n * n"), .init("n", isAscending: false)])
        let model = try ManagedObjectModel(entities: [
            EntityDescription("A", attributes: [AttributeDescription("n", .integer64)], indexes: [index])
        ])
        let system = SimulatedFileSystem(seed: 1)
        var options = SampleStores.options
        options.applicationID = BTreeStore.applicationID
        let store = try BTreeStore.open(
            Database.open("store", in: system, options: options), path: "store", model: model)
        var request = SaveRequest()
        for number in [0, -3, .max, 7] as [Int64] {
            request.insertions.append(
                .init(id: ObjectID(temporaryFor: "A"), values: [.integer(number)], destinations: []))
        }
        _ = try store.save(request)
        #expect(try store.check().isOK)
        try store.close()

        let report = try Self.audit(ForgedFiles(system))

        #expect(report.findings.list == [])
        #expect(report.objects.map { Int($0.entryCount) } == 4)
    }

    @Test func `layouts with default rows are in order, and a default row that is not possible is objected to`() throws
    {
        let seed = testSeed(default: 371)
        for run in 0..<UInt64(Self.runs(2)) {
            let system = SimulatedFileSystem(seed: 1)
            system.replaceContents(of: "store", with: try ObjectSampleRun.files(seed: seed &+ run, saves: 40).store)
            var entities = try ObjectSampleModel.make().descriptions
            for index in entities.indices {
                entities[index].attributes += [
                    AttributeDescription(
                        "added\(index)", .string, defaultValue: .string("größer 🎻"), isIndexed: run % 2 == 0),
                    AttributeDescription("counted\(index)", .integer64, defaultValue: .integer(-70_000)),
                ]
                entities[index].indexes.append(
                    .init("both\(index)", on: [.init("counted\(index)", isAscending: false), .init("added\(index)")]))
            }
            let store = try BTreeStore.open(
                Database.open("store", in: system, options: SampleStores.options), path: "store",
                model: try ManagedObjectModel(entities: entities))
            let theirs = try store.check()
            try store.close()
            let files = ForgedFiles(system)

            let report = try Self.audit(files)

            #expect(report.findings.list == [] && theirs.isOK, "seed \(seed &+ run): \(theirs.findings)")
            #expect(report.objects.map { Int($0.entryCount) } == theirs.indexEntryCount)
            let damage = ObjectDamage("a default row that ends too late", [104]) { transaction throws(StorageError) in
                guard let tree = try transaction.write.tree(named: "schema", keys: [UInt8].self),
                    let record = try transaction.write.get([UInt8]("layout:1".utf8), from: tree)
                else { return false }
                try transaction.write.put(record + [0], for: [UInt8]("layout:1".utf8), in: tree)
                return true
            }
            let damaged = try #require(try damage.applied(to: files, seed: seed))
            #expect(try Self.audit(damaged).findings.list.contains { $0.rule == 104 }, "seed \(seed &+ run)")
        }
    }

    @Test func `stores of earlier formats of rows are in order, and say their format`() throws {
        let folder = Checkout.root.appending(path: "Tests/EspalierTests/Golden")
        for format in [UInt16(1), 2] {
            let bytes = try [UInt8](Data(contentsOf: folder.appending(path: "rows-\(format).espalier")))
            let report = try StoreAudit.run(store: bytes, log: nil)

            #expect(report.findings.list == [], "format \(format)")
            #expect(report.objects?.format == format)
            #expect(report.objects?.rowCounts.map(\.count).reduce(0, +) == 40)
        }
    }

    /// Damages one sample after another, and requires that the audit names one of the rules that the damage breaks.
    private static func expectObjections(to damage: ObjectDamage) throws {
        let seed = testSeed(default: 321)
        var damagedCount = 0
        // Some kinds of damage need two similar entries, which not every random choice finds.
        for run in 0..<UInt64(20 * Self.runs(2)) where damagedCount < Self.runs(2) {
            let files = try Self.sample(Int(run % 2))
            guard let damaged = try damage.applied(to: files, seed: seed &+ run) else { continue }
            damagedCount += 1

            let report = try Self.audit(damaged)

            let rules = Set(report.findings.list.map(\.rule))
            #expect(!rules.isDisjoint(with: damage.rules), "seed \(seed &+ run): \(report.findings.list)")
            #expect(rules.allSatisfy { $0 > 100 }, "seed \(seed &+ run): \(report.findings.list)")
        }
        #expect(damagedCount > 0, "the samples have nothing of the kind")
    }

    @Test(arguments: ObjectDamage.ofEntries)
    func `an entry that is not its row's is objected to by rule, tree and key`(damage: ObjectDamage) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofLinks)
    func `a link that is not its row's, or goes one way, is objected to by rule, tree and key`(
        damage: ObjectDamage
    ) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofLists)
    func `an ordered list with two members in one place, or one in two, is objected to by rule, tree and key`(
        damage: ObjectDamage
    ) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofCounters)
    func `a counter that counts wrong is objected to by rule, tree and key`(damage: ObjectDamage) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofRows)
    func `a row that cannot be is objected to by rule, tree and key`(damage: ObjectDamage) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofValues)
    func `a value that cannot be, or leads nowhere, is objected to by rule, tree and key`(
        damage: ObjectDamage
    ) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: ObjectDamage.ofSchema)
    func `a record or a tree that cannot be is objected to by rule, tree and key`(damage: ObjectDamage) throws {
        try Self.expectObjections(to: damage)
    }

    @Test(arguments: [false, true]) func `values that two rows share are found, cut or not`(isCut: Bool) throws {
        let damage = ObjectDamage("a copy of a row", [122]) { transaction throws(StorageError) in
            let entry = try transaction.entry("unique:Note.text") { key, value in
                key.count > 12 && (value.u8(2) == 1) == isCut
            }
            guard let entry, let rows = try transaction.write.tree(named: "rows:Work", keys: UInt64.self) else {
                return false
            }
            let (old, new) = (entry.key.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }, UInt64(90_000))
            guard let row = try transaction.write.get(old, from: rows) else { return false }
            try transaction.write.put(row, for: new, in: rows)
            try transaction.put(entry.value, for: entry.key.ending(with: new), in: entry.tree)
            try transaction.count(1, 1 << 32 | UInt64(entry.value.u16(0)))
            return true
        }
        let damaged = try #require(try damage.applied(to: Self.sample(0), seed: 1))

        let findings = try Self.audit(damaged).findings.list

        let text = isCut ? "share long values that must be unique" : "share values that must be unique"
        #expect(findings.contains { $0.rule == 122 && $0.text.contains(text) }, "\(findings)")
    }

    @Test func `a part that is damaged is not compared, and the report says so`() throws {
        var files = try Self.sample(0)
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: files.store)
        let database = try Database.open("store", in: system, options: SampleStores.options)
        let tree = try #require(try database.beginRead().trees().first { $0.tree.name == "rows:Work" })
        try database.close()
        let page = try #require(
            (2..<files.pageCount).first { files.store.u32($0 * 4096 + 24) == tree.tree.id })
        files.store[page * 4096 + 2000] ^= 1

        let report = try Self.audit(files)

        #expect(Set(report.findings.list.map(\.rule)) == [1])
        #expect(report.objects?.uncompared.contains("index:Work.title with rows") == true)
        #expect(report.objects?.uncompared.contains("links:Owner.works with rows") == true)
        #expect(report.objects?.uncompared.contains { $0.contains("Thing") } == false)
    }

    @Test func `whatever a forger writes into an object store, the audit ends with an answer`() throws {
        var random = SeededGenerator(seed: testSeed(default: 341))
        let good = try Self.sample(1)
        let names = Dictionary(uniqueKeysWithValues: try Self.audit(good).trees.map { ($0.number, $0.name) })
        var objections = 0
        for round in 0..<campaignCount("ESPALIER_OBJECT_FORGERIES", default: 40) {
            var files = good
            // Choose mostly pages of records and rows, of which the audit decodes the most.
            let pages = (2..<files.pageCount).filter { page in
                let name = String(decoding: names[files.tree(page)] ?? [], as: UTF8.self)
                return round % 3 == 0 || name == "schema" || name.hasPrefix("rows:")
            }
            let page = pages[Int.random(in: 0..<pages.count, using: &random)]
            for _ in 0..<1 + random.next() % 3 {
                let offset = Int.random(in: 40..<files.pageSize, using: &random)
                files.set(UInt8(truncatingIfNeeded: random.next()), page: page, at: offset)
            }
            files.sealPage(page)

            let report = try Self.audit(files)

            if !report.isOK { objections += 1 }
        }
        #expect(objections > 0)
    }

    private static let samples = Result {
        try (0..<2).map { try ObjectSampleRun.files(seed: 330 + UInt64($0), saves: 30) }
    }

    private static func sample(_ index: Int) throws -> ForgedFiles { try samples.get()[index] }
}
