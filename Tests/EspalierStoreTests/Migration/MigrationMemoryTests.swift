// The memory of migrations: steps that read or write each row of a large store take about what they take for a small
// one.
//
// Each step runs in its own process (an exit test), because the test measures the memory of a process.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct MigrationMemoryTests {
    /// The number of rows of the large store.
    private static let count = campaignCount("ESPALIER_MIGRATION_ROWS", default: 12_000)
    /// The bytes of text in each row: many, so that rows held in memory are noticed; few where there are many rows.
    private static let textByteCount = count < 100_000 ? 1000 : 40
    /// The bytes by which the peak may grow with the large store: a constant for what the allocator and the entries of
    /// an index keep, and 200 for each page that is written, whose place in the log the transaction keeps.
    private static var allowance: Int { 8 << 20 + 200 * (count * 4 * (textByteCount + 100) / 4096) }

    /// The steps.
    enum Step: String, CaseIterable, Sendable {
        case type, lists, indexes, derivation, hierarchy, requirement
    }

    private static var options: DatabaseOptions {
        var options = DatabaseOptions()
        (options.cacheByteCount, options.logSegmentByteCount) = (64 * options.pageSize, 256 << 10)
        // So that a small store makes checkpoints, too.
        options.checkpointThreshold = 256 << 10
        return options
    }

    /// Items of one owner, before or after a step.
    private static func model(_ step: Step?) throws -> ManagedObjectModel {
        var owner = EntityDescription(
            "Owner", attributes: [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("items", to: "Item", inverse: "owner", .toMany)])
        var item = EntityDescription(
            "Item",
            attributes: [
                AttributeDescription("number", .integer64), AttributeDescription("text", .string),
                AttributeDescription("mark", .double),
            ], relationships: [RelationshipDescription("owner", to: "Owner", inverse: "items")])
        switch step {
        case nil: break
        case .type: item.attributes[0].type = .string
        case .lists: (item.relationships[0].cardinality, item.relationships[0].maxCount) = (.toMany, 0)
        case .indexes:
            item.attributes[1].isIndexed = true
            item.uniquenessConstraints = [["number"]]
        case .derivation:
            item.attributes.append(AttributeDescription("loud", .string, derivation: .uppercase(of: "text")))
        case .hierarchy: (owner.superentity, item.superentity) = ("Thing", "Thing")
        case .requirement: (item.attributes[2].isOptional, item.attributes[2].defaultValue) = (false, .double(1))
        }
        let thing = step == .hierarchy ? [EntityDescription("Thing", isAbstract: true)] : []
        return try ManagedObjectModel(entities: [owner, item] + thing)
    }

    /// A closed file with an owner of so many items, of which every second one has no mark.
    private static func makeStore(at path: String, count: Int) throws {
        let store = try BTreeStore.open(path: path, model: try model(nil), options: options)
        let owner = try #require(store.model.entity(named: "Owner"))
        let item = try #require(store.model.entity(named: "Item"))
        var request = SaveRequest()
        request.insertions.append(
            .init(id: ObjectID(temporaryFor: "Owner"), values: [.string("all")], destinations: [nil]))
        _ = try store.save(request)
        let all = try #require(try store.fetchIDs(StoreFetch(entity: owner)).first)
        var rest = (0..<count).makeIterator()
        let filling = String(repeating: "x", count: textByteCount)
        var command = StoreCommand(
            .insert(item) {
                rest.next().map { number in
                    .init(
                        values: [
                            .integer(Int64(number)), .string("\(number) \(filling)"),
                            number % 2 == 0 ? .double(0) : .null,
                        ], destinations: [all])
                }
            })
        command.chunkCountMax = 1000
        #expect(try store.execute(command).count == count)
        try store.close()
    }

    /// Migrates the small store and then the large one, and compares the peaks of memory.
    static func measure(_ name: String, _ path: String) throws {
        let step = try #require(Step(rawValue: name))
        let model = try model(step)
        _ = try BTreeStore.migrate(at: path + ".few", to: model, options: options)
        let before = try peakByteCount()

        let plan = try BTreeStore.migrate(at: path + ".many", to: model, options: options)

        let grown = try peakByteCount() - before
        print("\(name) of \(count) rows: \(grown >> 10) KiB more memory, \(allowance >> 10) KiB are allowed")
        #expect(grown < allowance, "\(name): \(grown / count) bytes for each row")
        #expect(plan.outcome?.isConstantTime == false)
    }

    @Test(arguments: Step.allCases)
    func `a migration of many rows takes about the memory of one of few rows`(step: Step) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, name) = (folder.appending(path: "store").path, step.rawValue)
        // As many rows as fill the cache several times.
        try Self.makeStore(at: path + ".few", count: 1000)
        try Self.makeStore(at: path + ".many", count: Self.count)

        await #expect(processExitsWith: .success) { [path = path as String, name = name as String] in
            try MigrationMemoryTests.measure(name, path)
        }

        let store = try BTreeStore.open(path: path + ".many", model: try Self.model(step), migration: .off)
        #expect(try store.check().isOK)
        let item = try #require(store.model.entity(named: "Item"))
        #expect(try store.count(StoreFetch(entity: item)) == Self.count)
        try store.close()
    }
}
