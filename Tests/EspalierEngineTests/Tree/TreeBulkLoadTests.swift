// Bulk loads give the same entries as insertions, in fewer and fuller pages.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeBulkLoadTests {
    /// Loads the sorted, distinct keys of `workload` and compares the tree with the entries that it loaded.
    private func load(
        _ workload: Workload, count: Int, pageSize: Int, fill: (leaf: Int, interior: Int) = (100, 95)
    ) throws -> TreeRecord {
        var random = SeededGenerator(seed: testSeed(default: 11))
        var entries: [TestKey: [UInt8]] = [:]
        for step in 0..<count {
            let key = workload.key(step, &random, pageSize: pageSize)
            entries[key] = workload.value(&random, pageSize: pageSize)
        }
        let sorted = entries.sorted { $0.key < $1.key }
        let pages = ArrayPages(pageSize: pageSize)
        let empty = try BTree(pages).createTree(
            2, kind: workload.kind, rootTag: Catalog<ArrayPages>.rootTag(of: "load"), transaction: 1)

        var load = BulkLoad(pages, empty, name: "load", fill: .init(leaf: fill.leaf, interior: fill.interior))
        for (key, value) in sorted {
            let stored = OwnedKey(value)
            let isAppended = try key.with { (key) throws(StorageError) in try load.append(key, stored.key.bytes) }
            #expect(isAppended)
        }
        let record = try load.finish()

        var visited = PageSet(pageCount: pages.pageCount)
        let result = try TreeCheck.run(pages, record, name: "load", visited: &visited)
        #expect(result.findings == [])
        #expect(record.entryCount == UInt64(sorted.count))
        #expect(visited.count == pages.usedPageCount)
        try expectEntries(sorted, of: record, in: pages)
        #expect(pages.pinCount == 0)
        return record
    }

    private func expectEntries(
        _ entries: [(key: TestKey, value: [UInt8])], of record: TreeRecord, in pages: ArrayPages
    ) throws {
        let cursor = TreeCursor(pages, record)
        for (key, value) in entries {
            try #require(try cursor.next())
            #expect(cursor.testKey == key)
            #expect(try cursor.withValue { $0.loadBytes(at: 0, count: $0.byteCount) } == value)
        }
        #expect(try !cursor.next())
    }

    @Test(arguments: Workload.allCases)
    func `a loaded tree holds exactly what was loaded`(_ workload: Workload) throws {
        for count in [0, 1, 2, 3, 10, 60, 700] { _ = try load(workload, count: count, pageSize: 512) }
        _ = try load(workload, count: 500, pageSize: 4096)
    }

    @Test func `leaves are filled as far as the fill factor says`() throws {
        let full = try load(.ascendingIntegers, count: 2000, pageSize: 1024)
        let half = try load(.ascendingIntegers, count: 2000, pageSize: 1024, fill: (50, 50))

        #expect(half.leafPageCount > full.leafPageCount * 3 / 2)
        #expect(half.entryCount == full.entryCount)
    }

    @Test func `a key that is not above the last one is refused, and nothing changes`() throws {
        let pages = ArrayPages()
        let empty = try BTree(pages).createTree(
            2, kind: .integer, rootTag: Catalog<ArrayPages>.rootTag(of: "load"), transaction: 1)
        let value = OwnedKey([1, 2, 3])

        var load = BulkLoad(pages, empty, name: "load")
        #expect(try load.append(TreeKey(5), value.key.bytes))
        #expect(try !load.append(TreeKey(5), value.key.bytes))
        #expect(try !load.append(TreeKey(4), value.key.bytes))
        #expect(try load.append(TreeKey(6), value.key.bytes))

        #expect(try load.finish().entryCount == 2)
    }
}
