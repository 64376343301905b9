// The memory of commands over many rows: what is kept for each row is a few bytes, however long the rows are.
//
// The test runs in its own process (an exit test), because it measures the memory of a process.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BatchMemoryTests {
    /// The number of rows of each command.
    private static let count = campaignCount("ESPALIER_BATCH_ROWS", default: 4000)
    /// The bytes of text in each row: many, so that few rows held in memory are noticed; few where there are many rows.
    private static let textByteCount = count < 100_000 ? 1000 : 40
    /// The most rows of a chunk.
    private static let chunkCountMax = min(8192, max(1, count / 16))

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("number", .integer64, isIndexed: true), AttributeDescription("text", .string),
                    AttributeDescription("mark", .double),
                ])
        ])
    }

    /// The bytes by which the peak may grow with the commands over all rows: a constant for what the allocator keeps,
    /// 16 bytes for each row, and 200 for each page of rows and entries, whose places in the log the transaction keeps.
    private static var allowance: Int {
        let pageCount = count * 4 * (textByteCount + 100) / 4096
        return 3 << 20 + 16 * count + 200 * pageCount
    }

    private static func insert(_ count: Int, into store: BTreeStore, _ item: Entity) throws {
        var rest = (0..<count).makeIterator()
        let filling = String(repeating: "x", count: textByteCount)
        var command = StoreCommand(
            .insert(item) {
                rest.next().map { number in
                    .init(
                        values: [.integer(Int64(number)), .string("\(number) \(filling)"), .double(0)],
                        destinations: [])
                }
            })
        command.chunkCountMax = chunkCountMax
        #expect(try store.execute(command).count == count)
    }

    private static func assign(
        _ name: String, _ format: String, _ count: Int, in store: BTreeStore, _ item: Entity
    ) throws {
        let value = try FetchExpression(format: format)
        var command = StoreCommand(
            .update(
                .matching(StoreFetch(entity: item)),
                [try ResolvedAssignment(name, value, for: item, in: store.model)]))
        command.chunkCountMax = chunkCountMax
        #expect(try store.execute(command).count == count)
    }

    /// Updates an indexed attribute, which replaces entries.
    private static func update(_ count: Int, in store: BTreeStore, _ item: Entity) throws {
        try assign("number", "number + 1", count, in: store, item)
    }

    /// Updates an attribute that no index has, which writes over bytes of rows.
    private static func patch(_ count: Int, in store: BTreeStore, _ item: Entity) throws {
        try assign("mark", "number * 0.5", count, in: store, item)
    }

    private static func delete(_ count: Int, from store: BTreeStore, _ item: Entity) throws {
        var command = StoreCommand(.delete(.matching(StoreFetch(entity: item))))
        command.chunkCountMax = chunkCountMax
        #expect(try store.execute(command).count == count)
    }

    /// Carries commands out over some rows, then over all, and compares the peaks of memory.
    static func measure(_ path: String) throws {
        var options = DatabaseOptions()
        (options.cacheByteCount, options.logSegmentByteCount) = (64 * options.pageSize, 256 << 10)
        // So that the commands over some rows make checkpoints, too.
        options.checkpointThreshold = 256 << 10
        let store = try BTreeStore.open(path: path, model: try model(), options: options)
        let item = try #require(store.model.entity(named: "Item"))
        // As many rows as fill the cache, and more than a chunk.
        let few = max(400, 2 * chunkCountMax)
        try insert(few, into: store, item)
        try update(few, in: store, item)
        try patch(few, in: store, item)
        try delete(few, from: store, item)
        let before = try peakByteCount()
        for (name, command) in [("insert", insert), ("update", update), ("patch", patch), ("delete", delete)] {
            try command(count, store, item)
            let grown = try peakByteCount() - before
            print("\(name) \(count) rows: \(grown >> 10) KiB more memory, \(allowance >> 10) KiB are allowed")
            #expect(grown < allowance, "\(name): \(grown / count) bytes for each row")
        }
        #expect(try store.count(StoreFetch(entity: item)) == 0)
        try store.close()
    }

    @Test func `a command over many rows keeps a few bytes for each of them in memory`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store").path
        await #expect(processExitsWith: .success) { [path = path as String] in try BatchMemoryTests.measure(path) }
    }
}
