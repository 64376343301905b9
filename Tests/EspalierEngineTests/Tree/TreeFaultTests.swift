// Operations that fail half-way, arguments that are refused, and the catalog.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeFaultTests {
    @Test func `a disk that is full at the n-th change gives an error and no pin is left`() throws {
        var completed = false
        var limit = 0
        while !completed {
            let oracle = try TreeOracle(.bytes)
            var random = SeededGenerator(seed: 8)
            oracle.pages.changesUntilFull = limit
            do throws(StorageError) {
                var record = oracle.record
                for step in 0..<120 {
                    let key = OwnedKey([UInt8]("key \(random.next() % 200)".utf8))
                    if step % 4 == 3 {
                        _ = try oracle.tree.remove(key.key, from: &record)
                    } else {
                        let value = OwnedKey([UInt8](repeating: 1, count: step % 9 == 0 ? 1000 : 40))
                        _ = try oracle.tree.insert(key.key, value.key.bytes, into: &record)
                    }
                }
                completed = true
            } catch {
                #expect(error == .diskFull)
            }
            #expect(oracle.pages.pinCount == 0)
            limit += 1
        }
        #expect(limit > 150)
    }

    @Test(arguments: [512, 4096, 65536])
    func `a key of the greatest length is stored, a longer one refused with nothing changed`(_ pageSize: Int) throws {
        let oracle = try TreeOracle(.bytes, pageSize: pageSize)
        let longest = StoreGeometry(pageSize: pageSize).keyByteCountMax
        for byte in UInt8(0)..<12 {
            try oracle.insert(
                .bytes([byte] + [UInt8](repeating: 1, count: longest - 1)), [UInt8](repeating: 2, count: 3000))
        }
        let changes = oracle.pages.changeCount

        #expect(throws: StorageError.argument(.keyTooLong(byteCount: UInt32(longest + 1), maximum: UInt32(longest)))) {
            try oracle.insert(.bytes([UInt8](repeating: 1, count: longest + 1)), [1])
        }

        #expect(oracle.pages.changeCount == changes)
        try oracle.expectSame()
    }

    @Test(arguments: [512, 4096, 65536])
    func `values of every length around a border round-trip`(_ pageSize: Int) throws {
        let geometry = StoreGeometry(pageSize: pageSize)
        for kind in KeyKind.allCases {
            let oracle = try TreeOracle(kind, pageSize: pageSize)
            let borders = [
                0, geometry.cellByteCountMax, geometry.overflowByteCount, 2 * geometry.overflowByteCount,
                5 * geometry.overflowByteCount,
            ]
            var number: UInt64 = 0
            for border in borders {
                for count in max(0, border - 14)...border + 2 {
                    number += 1
                    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
                    try oracle.insert(
                        kind == .integer ? .integer(number) : .bytes([UInt8](repeating: 7, count: Int(number))), value)
                }
            }
            for key in oracle.keys { try oracle.expectValue(of: key) }
            if pageSize == 512 { try oracle.expectSame() }
            // Replace the values by shorter and longer ones, and expect that all pages are free at the end.
            for (index, key) in oracle.keys.enumerated() { try oracle.insert(key, [UInt8](repeating: 1, count: index)) }
            for key in oracle.keys { try oracle.expectValue(of: key) }
            try oracle.drop()
            #expect(oracle.pages.usedPageCount == 0)
        }
    }

    @Test func `ascending, descending and clustered insertions leave pages full`() throws {
        func fill(_ keys: [UInt64]) throws -> Double {
            let oracle = try TreeOracle(.integer, pageSize: 4096)
            for key in keys { try oracle.insert(.integer(key), [UInt8](repeating: 1, count: 30)) }
            try oracle.expectSame()
            return Double(keys.count * 42) / Double(oracle.record.leafPageCount * 4032)
        }
        let ascending = [UInt64](0..<4000)
        let clusters = (0..<8).flatMap { cluster in (0..<500).map { UInt64(7 - cluster) << 32 | UInt64($0) } }

        #expect(try fill(ascending) > 0.97)
        #expect(try fill(ascending.reversed()) > 0.95)
        #expect(try fill(clusters) > 0.85)
    }

    @Test(arguments: ["", "a common beginning "])
    func `keys of bytes that ascend leave pages full, although cells shrink once their page has an end`(
        _ beginning: String
    ) throws {
        let oracle = try TreeOracle(.bytes, pageSize: 4096)
        for number in 0..<9999 { try oracle.insert(.bytes([UInt8]("\(beginning)\(10_000 + number)".utf8)), [1, 2]) }
        try oracle.expectSame()
        let leaves = (0..<oracle.pages.pageCount).map { oracle.pages.page($0) }.filter {
            $0.treeID == oracle.record.treeID && $0.isLeaf
        }
        let used = leaves.reduce(0) { $0 + $1.usedByteCount }

        #expect(used > leaves.reduce(0) { $0 + $1.capacity } * 95 / 100)
    }

    @Test func `bytes pages leave out what all their keys begin with`() throws {
        func leaves(_ prefix: String) throws -> UInt64 {
            let oracle = try TreeOracle(.bytes, pageSize: 4096)
            for number in 0..<3000 { try oracle.insert(.bytes([UInt8]("\(prefix)\(10_000 + number)".utf8)), [1, 2]) }
            return oracle.record.leafPageCount
        }

        #expect(try leaves(String(repeating: "a long common beginning ", count: 4)) < leaves("") * 3 / 2)
    }

    @Test func `the catalog finds, lists, replaces and removes trees`() throws {
        let pages = ArrayPages()
        let catalog = Catalog(pages)
        let tree = BTree(pages)
        var records: [String: TreeRecord] = [:]
        for number in 0..<40 {
            let name = "tree \(number * 7 % 40)"
            let kind = KeyKind.allCases[number % 2]
            let record = try tree.createTree(
                UInt32(2 + number), kind: kind, rootTag: Catalog<ArrayPages>.rootTag(of: name), transaction: 5)
            try catalog.store(record, as: name)
            records[name] = record
        }
        let changed = try #require(records["tree 7"])
        var grown = changed
        grown.entryCount = 12
        try catalog.store(grown, as: "tree 7")

        #expect(try catalog.find("tree 7")?.entryCount == 12)
        #expect(try catalog.find("no tree") == nil)
        #expect(try catalog.list().map(\.name) == records.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(try catalog.remove("tree 8"))
        #expect(try !catalog.remove("tree 8"))
        #expect(try catalog.find("tree 8") == nil)
        #expect(try catalog.list().count == 39)
    }

    @Test func `a catalog value that is no tree record is reported`() throws {
        let pages = ArrayPages()
        let key = OwnedKey([UInt8]("broken".utf8))
        let value = OwnedKey([UInt8](repeating: 0, count: 40))
        var record = TreeRecord(treeID: 1, root: 2, kind: .bytes)
        _ = try BTree(pages).insert(key.key, value.key.bytes, into: &record)

        #expect(throws: StorageError.corrupt(.catalogRecord, page: 2, tree: 1)) {
            try Catalog(pages).find("broken")
        }
    }
}
