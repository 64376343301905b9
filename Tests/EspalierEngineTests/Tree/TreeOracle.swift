// A tree and a sorted array that must always have the same entries.

import EspalierEngine
import TestSupport
import Testing

/// The keys of tests: integers and bytes, in one type that orders both.
enum TestKey: Hashable, Comparable, CustomStringConvertible {
    case integer(UInt64)
    case bytes([UInt8])

    static func < (first: TestKey, second: TestKey) -> Bool {
        switch (first, second) {
        case (.integer(let a), .integer(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }

    func with<R, E: Error>(_ body: (TreeKey) throws(E) -> R) throws(E) -> R {
        switch self {
        case .integer(let value): return try body(TreeKey(value))
        case .bytes(let bytes):
            let owned = OwnedKey(bytes)
            return try body(owned.key)
        }
    }

    var description: String {
        switch self {
        case .integer(let value): "\(value)"
        case .bytes(let bytes): "\(bytes)"
        }
    }
}

/// A tree over an array of pages, and the sorted array it must equal.
final class TreeOracle {
    let pages: ArrayPages
    let tree: BTree<ArrayPages>
    private(set) var record: TreeRecord
    private(set) var keys: [TestKey] = []
    private(set) var values: [TestKey: [UInt8]] = [:]
    let name = "oracle"

    init(_ kind: KeyKind, pageSize: Int = 512) throws {
        pages = ArrayPages(pageSize: pageSize)
        tree = BTree(pages)
        record = try tree.createTree(2, kind: kind, rootTag: Catalog<ArrayPages>.rootTag(of: name), transaction: 1)
    }

    /// The number of keys below `key`.
    func rank(_ key: TestKey) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func insert(_ key: TestKey, _ value: [UInt8]) throws {
        let stored = OwnedKey(value)
        let replaced = try key.with { (treeKey) throws(StorageError) in
            try tree.insert(treeKey, stored.key.bytes, into: &record)
        }
        #expect(replaced == (values[key] != nil), "insert \(key)")
        if values.updateValue(value, forKey: key) == nil { keys.insert(key, at: rank(key)) }
    }

    func remove(_ key: TestKey) throws {
        let existed = try key.with { (treeKey) throws(StorageError) in try tree.remove(treeKey, from: &record) }
        #expect(existed == (values[key] != nil), "remove \(key)")
        if values.removeValue(forKey: key) != nil { keys.remove(at: rank(key)) }
    }

    /// Inverts every bit of a value in place.
    func change(_ key: TestKey) throws {
        let existed = try key.with { (treeKey) throws(StorageError) in
            try tree.changeValue(of: treeKey, in: &record) { $0.flip() }
        }
        #expect(existed == (values[key] != nil), "change \(key)")
        if let value = values[key] { values[key] = value.map { ~$0 } }
    }

    /// Inverts every bit of the values of ascending keys in one walk, which ends after `countMax` values.
    func change(_ some: [UInt64], countMax: Int) throws {
        var visited: [UInt64] = []
        try tree.changeValues(of: some, in: &record) { position, value in
            value.flip()
            visited.append(some[position])
            return visited.count < countMax
        }
        let expected = Array(some.filter { values[.integer($0)] != nil }.prefix(countMax))
        #expect(visited == expected, "change \(some)")
        for number in visited { values[.integer(number)] = values[.integer(number)]?.map { ~$0 } }
    }

    func removeRange(_ low: TestKey, _ high: TestKey) throws {
        let removed = try low.with { (low) throws(StorageError) in
            try high.with { (high) throws(StorageError) in
                try tree.removeRange(from: low, to: high, in: &record)
            }
        }
        let range = rank(low)..<max(rank(low), rank(high))
        #expect(removed == UInt64(range.count), "remove \(low)..<\(high)")
        for key in keys[range] { values[key] = nil }
        keys.removeSubrange(range)
    }

    func removeAll() throws {
        #expect(try tree.removeRange(from: nil, to: nil, in: &record) == UInt64(keys.count))
        keys = []
        values = [:]
    }

    /// The outcome of a rewrite for one entry.
    enum Outcome {
        case keep, remove
        case replace([UInt8])
    }

    /// Rewrites the tree, with an outcome for each entry.
    func rewrite(_ decide: (TestKey) -> Outcome) throws {
        var (visited, expected): ([TestKey], [TestKey: [UInt8]]) = ([], values)
        let isWhole = try tree.rewrite(&record, name: name) { number, value, new in
            let (key, found) = (TestKey.integer(number), value.loadBytes(at: 0, count: value.byteCount))
            visited.append(key)
            if found != values[key] { Issue.record("a rewrite passes another value of \(key)") }
            switch decide(key) {
            case .keep: return .kept
            case .remove:
                expected[key] = nil
                return .removed
            case .replace(let bytes):
                expected[key] = bytes
                // The array may be longer than the value.
                while new.count < bytes.count { new.append(0xEE) }
                new.replaceSubrange(0..<bytes.count, with: bytes)
                return .replaced(byteCount: bytes.count)
            }
        }
        #expect(isWhole && visited == keys)
        values = expected
        keys = keys.filter { expected[$0] != nil }
    }

    func expectValue(of key: TestKey) throws {
        let found = try key.with { (treeKey) throws(StorageError) in try tree.value(of: treeKey, in: record) }
        #expect(found == values[key], "value of \(key)")
    }

    func cursor() -> TreeCursor<ArrayPages> { TreeCursor(pages, record) }

    func drop() throws { try tree.dropTree(record) }

    /// Checks pages, counts and all entries, forwards and backwards.
    func expectSame() throws {
        var visited = PageSet(pageCount: pages.pageCount)
        let result = try TreeCheck.run(pages, record, name: name, visited: &visited)
        #expect(result.findings == [])
        #expect(record.entryCount == UInt64(keys.count))
        #expect(visited.count == pages.usedPageCount, "pages reached and pages in use")
        let cursor = cursor()
        for key in keys {
            try #require(try cursor.next(), "the cursor ends before \(key)")
            #expect(cursor.testKey == key)
            #expect(try cursor.withValue { $0.loadBytes(at: 0, count: $0.byteCount) } == values[key])
        }
        #expect(try !cursor.next())
        for key in keys.reversed() {
            try #require(try cursor.previous(), "the cursor ends behind \(key)")
            #expect(cursor.testKey == key)
        }
        #expect(try !cursor.previous())
    }
}

extension TreeCursor {
    var testKey: TestKey { kind == .integer ? .integer(integerKey) : .bytes(bytesKey) }
}
