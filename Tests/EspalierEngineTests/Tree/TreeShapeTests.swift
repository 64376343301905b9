// The shape of trees: pages that become empty are merged, and a walk notices leaves that are out of order.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeShapeTests {
    @Test(arguments: KeyKind.allCases)
    func `a tree that lost most of its entries has few leaves`(_ kind: KeyKind) throws {
        let oracle = try TreeOracle(kind)
        func key(_ number: Int) -> TestKey {
            kind == .integer ? .integer(UInt64(number)) : .bytes([UInt8]("entry \(1000 + number)".utf8))
        }
        for number in 0..<900 { try oracle.insert(key(number * 7 % 900), [UInt8](repeating: 1, count: 20)) }
        let before = oracle.record.leafPageCount
        for number in 0..<900 where number % 60 != 0 { try oracle.remove(key(number)) }

        #expect(before > 40)
        #expect(oracle.record.leafPageCount <= 4)
        #expect(oracle.record.height <= 2)
    }

    @Test(arguments: KeyKind.allCases)
    func `entries in random order fill their leaves to nine tenths, before and after half of them were put back`(
        _ kind: KeyKind
    ) throws {
        let oracle = try TreeOracle(kind, pageSize: 4096)
        var chance = SeededGenerator(seed: testSeed(default: 9))
        func key(_ number: Int) -> TestKey {
            kind == .integer ? .integer(UInt64(number)) : .bytes([UInt8]("entry \(100_000 + number)".utf8))
        }
        let numbers = (0..<4000).shuffled(using: &chance)
        for number in numbers { try oracle.insert(key(number), [UInt8](repeating: 1, count: 100)) }
        // Entries of both kinds take 112 to 120 bytes.
        let leafCount = oracle.record.leafPageCount
        #expect(leafCount < 4000 * 112 * 10 / (4032 * 9) + (kind == .integer ? 1 : 9))
        for number in numbers.prefix(2000) { try oracle.remove(key(number)) }
        for number in numbers.prefix(2000) { try oracle.insert(key(number), [UInt8](repeating: 2, count: 100)) }

        #expect(oracle.record.leafPageCount <= leafCount + leafCount / 50)
        try oracle.expectSame()
    }

    @Test func `an entry before all others leaves a full leaf as it is`() throws {
        let oracle = try TreeOracle(.integer, pageSize: 4096)
        let value = [UInt8](repeating: 1, count: 100)
        for number in 0..<360 { try oracle.insert(.integer(UInt64(1000 + number)), value) }
        let before = oracle.record.leafPageCount
        for number in 0..<36 { try oracle.insert(.integer(UInt64(number)), value) }

        #expect(oracle.record.leafPageCount == before + 1)
    }

    @Test func `leaves that become neighbors when their parents are merged are merged, too`() throws {
        let oracle = try TreeOracle(.integer)
        func page(_ number: PageNumber) -> PageView { oracle.pages.page(number) }
        var root: PageView { page(oracle.record.root) }
        var number: UInt64 = 0
        while oracle.record.height < 3 {
            try oracle.insert(.integer(number), [UInt8](repeating: 1, count: 100))
            number += 10
        }
        // Fill the left parent so that it has no room even for the entries of a parent of one leaf.
        let left = page(root.child(0))
        var between: UInt64 = 5
        while left.capacity - left.usedByteCount >= TreeLayout.integerInteriorSlotByteCount {
            try oracle.insert(.integer(between), [UInt8](repeating: 1, count: 100))
            between += 10
        }
        let bound = root.integerKey(0)
        for key in oracle.keys.reversed() where key >= .integer(bound) { try oracle.remove(key) }
        let lonely = page(root.child(1))
        try #require(oracle.record.height == 3 && lonely.cellCount == 0 && page(lonely.rightChild).cellCount == 0)

        for key in oracle.keys where oracle.record.height == 3 { try oracle.remove(key) }
        try #require(root.cellCount > 0)
        for index in 0...root.cellCount { #expect(page(root.child(index)).cellCount > 0, "leaf \(index) is empty") }
        for key in oracle.keys { try oracle.remove(key) }
        #expect(oracle.record.height == 1)
        #expect(oracle.record.leafPageCount == 1)
    }

    @Test func `a run of insertions goes on after its leaf was merged away`() throws {
        let oracle = try TreeOracle(.integer)
        for number in 0..<200 { try oracle.insert(.integer(UInt64(number * 10)), [UInt8](repeating: 1, count: 20)) }
        for round in 0..<20 {
            let start = UInt64(round * 90 + 1)
            for step in UInt64(0)..<4 { try oracle.insert(.integer(start + step), [UInt8](repeating: 2, count: 20)) }
            for number in round * 9..<round * 9 + 9 { try oracle.remove(.integer(UInt64(number * 10))) }
            for step in UInt64(0)..<4 { try oracle.remove(.integer(start + step)) }
            try oracle.insert(.integer(start + 4), [3])
        }
        for key in oracle.keys {
            let value = try key.with { (key) throws(StorageError) in
                try oracle.tree.value(of: key, in: oracle.record)
            }
            #expect(value == oracle.values[key])
        }
    }

    @Test(arguments: KeyKind.allCases)
    func `values replaced one after the other are the new ones, whatever their length`(_ kind: KeyKind) throws {
        let oracle = try TreeOracle(kind)
        func key(_ number: Int) -> TestKey {
            kind == .integer ? .integer(UInt64(number)) : .bytes([UInt8]("entry \(1000 + number)".utf8))
        }
        func length(_ number: Int, _ round: Int) -> Int {
            switch (number + round) % 7 {
            case 0: 600  // in overflow pages
            case 1: 3
            case 2: 60
            default: 20
            }
        }
        for number in 0..<300 { try oracle.insert(key(number), [UInt8](repeating: 1, count: 20)) }
        for round in 0..<4 {
            let isForward = round % 2 == 0
            for step in 0..<300 {
                let number = isForward ? step : 299 - step
                try oracle.insert(
                    key(number), [UInt8](repeating: UInt8(round + 2), count: round == 3 ? 20 : length(number, round)))
            }
            try oracle.expectSame()
        }
    }

    @Test func `a run of insertions before long keys is split where the rest fits with its fences`() throws {
        // A run of insertions asks for a split at its own position. Here the keys after it and the high fence are long:
        // those keys and the new entry fit into a page, but not together with the fences.
        let pageSize = 1024
        let length = StoreGeometry(pageSize: pageSize).keyByteCountMax
        let oracle = try TreeOracle(.bytes, pageSize: pageSize)
        for last in UInt8(1)...5 { try oracle.insert(.bytes([UInt8](repeating: 122, count: length - 1) + [last]), [1]) }
        let leaf = oracle.pages.page(oracle.pages.page(oracle.record.root).child(0))
        try #require(leaf.cellCount == 2 && leaf.highFenceByteCount == length)
        try oracle.insert(.bytes(bytes("b")), [UInt8](repeating: 2, count: 160))
        for step in 1...6 { try oracle.insert(.bytes(bytes("a\(step)")), []) }
        try #require(leaf.cellCount == 9)

        try oracle.insert(.bytes(bytes("a7")), [UInt8](repeating: 3, count: 240))
        #expect(oracle.record.leafPageCount == 3)
        try oracle.expectSame()
    }

    @Test func `a walk over leaves that do not follow each other ends with their page`() throws {
        for isForward in [true, false] {
            let oracle = try TreeOracle(.integer)
            for number in 0..<120 { try oracle.insert(.integer(UInt64(number)), [UInt8](repeating: 1, count: 30)) }
            let interior = oracle.pages.page(oracle.record.root)
            try #require(interior.level == 1)
            let (first, second) = (interior.child(1), interior.child(2))
            interior.setChild(1, to: second)
            interior.setChild(2, to: first)
            var failure: StorageError?
            do throws(StorageError) {
                let cursor = TreeCursor(oracle.pages, oracle.record)
                var isOnEntry = try isForward ? cursor.first() : cursor.last()
                while isOnEntry { isOnEntry = try isForward ? cursor.next() : cursor.previous() }
            } catch {
                failure = error
            }

            guard case .corruption(let corruption) = failure else {
                Issue.record("the walk gave \(String(describing: failure))")
                continue
            }
            #expect(corruption.rule == .fencesOfChild)
        }
    }

    @Test func `a chain that goes on after its value is refused when the value is read`() throws {
        let oracle = try TreeOracle(.integer)
        try oracle.insert(.integer(1), [UInt8](repeating: 1, count: 1000))
        try oracle.insert(.integer(2), [UInt8](repeating: 2, count: 1000))
        guard case .overflow(let first, _) = oracle.pages.page(oracle.record.root).value(0),
            case .overflow(let other, _) = oracle.pages.page(oracle.record.root).value(1)
        else {
            Issue.record("the values are not in overflow pages")
            return
        }
        var last = oracle.pages.page(first)
        while last.overflowNext != 0 { last = oracle.pages.page(last.overflowNext) }
        // Make the last page full and link it to the other chain; the entry's length counts the now full pages.
        let root = oracle.pages.page(oracle.record.root)
        let payload = UInt64(StoreGeometry(pageSize: 512).overflowByteCount)
        let pageCount = (1000 + payload - 1) / payload
        last.setContentStart(512)
        last.set(other, at: OverflowLayout.next)
        root.set(pageCount * payload, at: root.cellOffset(0) + TreeLayout.valueWordByteCount)
        var failure: StorageError?
        do throws(StorageError) { _ = try oracle.tree.value(of: TreeKey(1), in: oracle.record) } catch {
            failure = error
        }

        guard case .corruption(let corruption) = failure else {
            Issue.record("reading gave \(String(describing: failure))")
            return
        }
        #expect(corruption.rule == .overflowLength)
    }
}
