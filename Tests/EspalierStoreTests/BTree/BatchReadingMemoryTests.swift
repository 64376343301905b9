// The memory of reading many rows in batches: what is kept for each row is its ID, however long the rows are.
//
// The test runs in its own process (an exit test), because it measures the memory of a process.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BatchReadingMemoryTests {
    /// The number of rows.
    private static let count = campaignCount("ESPALIER_READING_ROWS", default: 3000)
    /// The bytes of text in each row: many, so that few rows held in memory are noticed; few where there are many rows.
    private static let textByteCount = count < 100_000 ? 3000 : 200
    private static let batchSize = 100
    /// The bytes by which the peak may grow: a constant for what the allocator and a sort keep, and for each row its
    /// ID, its place among the candidates of an index, and its sort key.
    private static var allowance: Int { 3 << 20 + 128 * count }

    private static func fill(_ store: BTreeStore, _ item: Entity) throws {
        var rest = (0..<count).makeIterator()
        let filling = String(repeating: "x", count: textByteCount)
        var command = StoreCommand(
            .insert(item) {
                rest.next().map { number in
                    .init(
                        values: [
                            .integer(Int64(number * 7919 % count)), .string(filling), .double(Double(number % 100)),
                        ],
                        destinations: [])
                }
            })
        command.chunkCountMax = batchSize
        #expect(try store.execute(command).count == count)
    }

    /// Reads all rows by an index, by a range of it, and sorted, and measures how much the peak of memory grows.
    static func measure(_ path: String) throws {
        var options = DatabaseOptions()
        (options.cacheByteCount, options.logSegmentByteCount) = (64 * options.pageSize, 256 << 10)
        options.checkpointThreshold = 256 << 10
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("number", .integer64, isIndexed: true), AttributeDescription("text", .string),
                    AttributeDescription("mark", .double),
                ])
        ])
        let store = try BTreeStore.open(path: path, model: model, options: options)
        let item = try #require(store.model.entity(named: "Item"))
        try fill(store, item)
        func fetch(_ format: String?, _ key: String?) throws -> StoreFetch {
            StoreFetch(
                entity: item,
                predicate: try format.map { try ResolvedPredicate(FetchPredicate(format: $0), for: item, in: model) },
                sort: try key.map { [try ResolvedSortKey(SortKey($0), for: item, in: model)] } ?? [])
        }
        let before = try peakByteCount()
        for (name, fetch) in [
            ("scan", try fetch(nil, nil)), ("by an index", try fetch(nil, "number")),
            ("a range of an index", try fetch("number < \(count / 2)", nil)), ("sorted", try fetch(nil, "mark")),
        ] {
            var (found, rest): (Int, StoreFetch?) = (0, fetch)
            let snapshot = try store.snapshot()
            while let next = rest {
                let batch = try snapshot.fetchBatch(next, of: batchSize)
                #expect(batch.rows.count <= batchSize, "\(name): a batch of \(batch.rows.count) rows")
                found += batch.rows.count
                rest = batch.rest
            }
            let grown = try peakByteCount() - before
            print("\(name), \(found) rows: \(grown >> 10) KiB more memory, \(allowance >> 10) KiB are allowed")
            #expect(grown < allowance, "\(name): \(grown / count) bytes for each row")
            #expect(found == (name.hasPrefix("a range") ? count / 2 : count), "\(name)")
        }
        try store.close()
    }

    @Test func `rows that an index finds or that are sorted are read in batches, and only their IDs are kept`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store").path
        await #expect(processExitsWith: .success) {
            [path = path as String] in try BatchReadingMemoryTests.measure(path)
        }
    }
}
