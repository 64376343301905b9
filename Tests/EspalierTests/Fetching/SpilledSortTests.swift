// Sorted fetches of two contexts at once that exceed the memory of a sort, with keys in many scripts and in both
// directions, beside unsaved changes: each has the order of the values of its context, compared one by one.
//
// `ESPALIER_SPILLED_ROWS` and `ESPALIER_SPILLED_ROUNDS` make more of it.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct SpilledSortTests {
    private static let texts = [
        "Ωμέγα", "ωμεγα", "Άλφα", "Α\u{301}λφα", "ᾳ", "日本", "日本語", "東京", "한국", "\u{1112}\u{1161}\u{11AB}국",
        "😀", "👩‍👩‍👧", "👩", "é", "e\u{301}", "E\u{301}", "a\u{328}\u{301}", "a\u{301}\u{328}", "Ǆ", "ǆ", "ß", "SS",
        "file 9", "file 10", "file 09", "file ١٢", "\u{0}a", "", "~", "\u{FFFF}", "𝄞", "K", "\u{212A}",
    ]
    private static let allOptions: [ComparisonOptions] = [
        [], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
        .numeric, .natural,
    ]

    /// Lines without an index: each order is made by a sort.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Line",
                attributes: [
                    AttributeDescription("text", .string), AttributeDescription("word", .string),
                    AttributeDescription("number", .integer64), AttributeDescription("serial", .integer64),
                ])
        ])
    }

    private static func text(_ random: inout SeededGenerator) -> AttributeValue {
        if random.next() % 12 == 0 { return .null }
        // Keys and rows of a few hundred bytes soon fill the memory of a sort.
        let prefix = String(repeating: random.next() % 2 == 0 ? "ж" : "字", count: random.next() % 3 == 0 ? 90 : 0)
        return .string(prefix + texts[Int(random.next() % UInt64(texts.count))])
    }

    @discardableResult
    private static func insert(
        _ serial: Int, _ context: ManagedObjectContext, _ random: inout SeededGenerator
    ) throws -> ManagedObject {
        let line = try context.insertNewObject(forEntityName: "Line")
        try line.setValue(.integer(Int64(serial)), forKey: "serial")
        try line.setValue(text(&random), forKey: "text")
        try line.setValue(text(&random), forKey: "word")
        try line.setValue(.integer(Int64(random.next() % 4)), forKey: "number")
        return line
    }

    private static func value(_ name: String, _ line: ManagedObject) throws -> AttributeValue {
        if case .attribute(let value) = try line.value(forKey: name) { value } else { .null }
    }

    @Test func `sorts beyond their memory have the order of all values, in two contexts at once and unsaved`()
        async throws
    {
        let seed = testSeed(default: 131_600)
        print("ESPALIER_SEED=\(seed)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try BTreeStore.open(path: folder.appending(path: "store").path, model: try Self.model())
        store.sortByteCountMax = 0
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        var random = SeededGenerator(seed: seed)
        let writer = ManagedObjectContext(coordinator)
        for serial in 0..<campaignCount("ESPALIER_SPILLED_ROWS", default: 50) {
            try Self.insert(serial, writer, &random)
        }
        try writer.save()

        let rounds = campaignCount("ESPALIER_SPILLED_ROUNDS", default: 3)
        let spillCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<2 {
                group.addTask {
                    let background = BackgroundContext(
                        coordinator, name: "sorter \(number)", automaticallyMergesChanges: false)
                    var spillCount = 0
                    for round in 0..<rounds {
                        spillCount += try await background.perform { context in
                            try Self.takeRound(round, number, seed, context, store)
                        }
                    }
                    return spillCount
                }
            }
            return try await group.reduce(0, +)
        }

        #expect(spillCount > 0, "seed \(seed): no sort has needed a file")
        let report = try store.check()
        #expect(report.isOK, "\(report.findings)")
        try store.close()
    }

    /// Changes lines whose serial number is of this context's parity, and compares sorted fetches; returns how many of
    /// them need a file in the store.
    private static func takeRound(
        _ round: Int, _ number: Int, _ seed: UInt64, _ context: ManagedObjectContext, _ store: BTreeStore
    ) throws -> Int {
        var random = SeededGenerator(seed: seed &+ UInt64(1000 * (number + 1) + round))
        for line in try context.fetch(FetchRequest<ManagedObject>(entityName: "Line")) {
            guard case .integer(let serial) = try value("serial", line), serial % 2 == Int64(number) else { continue }
            switch random.next() % 10 {
            case 0, 1: try line.setValue(text(&random), forKey: "text")
            case 2: try line.setValue(.integer(Int64(random.next() % 4)), forKey: "number")
            case 3 where round > 0: try context.delete(line)
            default: break
            }
        }
        for place in 0..<4 { try insert(1000 * (round + 1) + 2 * place + number, context, &random) }
        var spillCount = 0
        for _ in 0..<3 { spillCount += try compare(context, store, "seed \(seed), \(number), round \(round)", &random) }
        if round % 2 == 1 { try context.save() }
        return spillCount
    }

    private static func compare(
        _ context: ManagedObjectContext, _ store: BTreeStore, _ place: String, _ random: inout SeededGenerator
    ) throws -> Int {
        var sort: [(name: String, isAscending: Bool, options: ComparisonOptions)] = []
        for name in ["text", "word", "number"].shuffled(using: &random).prefix(Int(random.next() % 3) + 1) {
            let options = name == "number" ? [] : allOptions[Int(random.next() % UInt64(allOptions.count))]
            sort.append((name, random.next() % 2 == 0, options))
        }
        sort.append(("serial", random.next() % 2 == 0, []))
        let lines = try context.fetch(FetchRequest<ManagedObject>(entityName: "Line")).map { line in
            (line, try sort.map { try value($0.name, line) })
        }
        let expected = lines.sorted { left, right in
            for (position, key) in sort.enumerated() {
                let order = left.1[position].compare(right.1[position], options: key.options)
                if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
            }
            return false
        }
        let keys = sort.map { SortKey($0.name, ascending: $0.isAscending, options: $0.options) }
        var request = FetchRequest<ManagedObject>(entityName: "Line", sortKeys: keys)
        request.fetchOffset = random.next() % 2 == 0 ? 0 : Int(random.next() % 60)
        request.fetchLimit = random.next() % 2 == 0 ? 0 : Int(random.next() % 40) + 1
        let end = request.fetchLimit > 0 ? request.fetchLimit : expected.count

        let found = try context.fetch(request)

        let wanted = expected.dropFirst(request.fetchOffset).prefix(end).map { $0.0 }
        #expect(found == wanted, "\(place): \(sort), from \(request.fetchOffset) on, \(request.fetchLimit)")
        let line = try #require(store.model.entity(named: "Line"))
        let fetch = StoreFetch(entity: line, sort: try keys.map { try ResolvedSortKey($0, for: line, in: store.model) })
        return try store.snapshot().analyze(fetch).action.contains("were sorted in a temporary file") ? 1 : 0
    }
}
