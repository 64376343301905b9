// Changes of many values in one walk: leaf by leaf, in private copies of the pages, and with a closure that may end the
// walk or throw.

import EspalierEngine
import TestSupport
import Testing

@Suite struct MutableValuesTests {
    /// An error of a closure that changes values, or an error of the engine.
    private enum Refusal: StorageFailure, Equatable {
        case own
        case engine(StorageError)

        init(_ error: StorageError) { self = .engine(error) }
    }

    private static let count: UInt64 = 1000

    /// A store with values for the even keys below `count`.
    private func makeStore() throws -> (Database, tree: Tree<UInt64>) {
        let database = try Database.inMemory(options: .small)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in stride(from: 0, to: Self.count, by: 2) { try write.put(Self.value(key, 1), for: key, in: tree) }
        try write.commit()
        return (database, tree)
    }

    /// A value of about 100 bytes, or, for a few keys, one in overflow pages.
    private static func value(_ key: UInt64, _ byte: UInt8) -> [UInt8] {
        [UInt8](repeating: byte, count: key % 100 == 46 ? 9000 : 90 + Int(key % 20))
    }

    /// Inverts the values of `keys` in one walk, which ends after `endCount` values; or throws after them, once.
    private func flip(
        _ keys: [UInt64], _ tree: Tree<UInt64>, _ write: inout WriteTransaction, endingAt endCount: Int = .max,
        throwing: Bool = false
    ) throws -> [UInt64] {
        var (visited, throwing): ([UInt64], Bool) = ([], throwing)
        try write.withMutableValues(of: keys, in: tree) {
            (position: Int, value: inout MutableRawSpan) throws(Refusal) -> Bool in
            if throwing, visited.count == endCount {
                throwing = false
                throw .own
            }
            value.flip()
            visited.append(keys[position])
            return throwing || visited.count < endCount
        }
        return visited
    }

    /// The even keys whose values are inverted; records an issue for a value that is neither old nor inverted.
    private func flipped(_ cursor: consuming Cursor<UInt64>) throws -> [UInt64] {
        var found: [UInt64] = []
        while try cursor.next() {
            let (key, value) = (try cursor.key, try cursor.value())
            if value == Self.value(key, ~1) {
                found.append(key)
            } else if value != Self.value(key, 1) {
                Issue.record("another value of \(key)")
            }
        }
        return found
    }

    @Test func `values of many leaves are changed in one walk, and a snapshot keeps the former ones`() throws {
        let (database, tree) = try makeStore()
        let before = try database.beginRead()
        // A run of neighbors with keys that do not exist between them, and some that are far from each other.
        let keys = Array(101...700 as ClosedRange<UInt64>) + [702, 801, 900, Self.count - 2, Self.count + 5]
        let expected = keys.filter { $0.isMultiple(of: 2) && $0 < Self.count }
        var write = try database.beginWrite()

        let visited = try flip(keys, tree, &write)

        let absent = try flip([], tree, &write) + flip([1, 3], tree, &write)
        #expect(visited == expected && absent.isEmpty)
        let own = try flipped(write.cursor(over: tree))
        #expect(own == expected)
        try write.commit()
        let former = try flipped(before.cursor(over: tree))
        #expect(former.isEmpty)
        let after = try database.beginRead()
        let newer = try flipped(after.cursor(over: tree))
        #expect(newer == expected)
        #expect(try database.check().isOK)
    }

    @Test(arguments: [1, 2, 23, 24, 25, 60])
    func `a closure ends the walk, in a leaf and at a value in pages of its own, and may throw there`(
        _ endCount: Int
    ) throws {
        let (database, tree) = try makeStore()
        let keys = Array(0..<300 as Range<UInt64>)
        let first = keys.filter { $0.isMultiple(of: 2) }.prefix(endCount)
        var write = try database.beginWrite()

        let visited = try flip(keys, tree, &write, endingAt: endCount)

        let changed = try flipped(write.cursor(over: tree))
        #expect(visited == Array(first) && changed == Array(first))
        // The walk that throws inverts the same values again, and the transaction goes on.
        #expect(throws: Refusal.own) { try flip(keys, tree, &write, endingAt: endCount, throwing: true) }
        let changedTwice = try flipped(write.cursor(over: tree))
        #expect(changedTwice.isEmpty)
        try write.put([9], for: 1, in: tree)
        try write.commit()

        #expect(try database.beginRead().get(1, from: tree) == [9])
        #expect(try database.check().isOK)
    }
}
