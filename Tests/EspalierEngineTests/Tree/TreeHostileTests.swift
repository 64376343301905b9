// Trees whose pages are each well-formed but contradict each other: located errors, never a trap, never a loop.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeHostileTests {
    /// A tree of three levels with some values in overflow pages.
    private func sample(_ kind: KeyKind, _ count: Int = 300) throws -> TreeOracle {
        let oracle = try TreeOracle(kind)
        for step in 0..<count {
            let number = step * 7919 % count
            let key: TestKey =
                kind == .integer ? .integer(UInt64(number)) : .bytes([UInt8]("customer \(number)".utf8))
            try oracle.insert(key, [UInt8](repeating: 5, count: number % 25 == 3 ? 1400 : 30))
        }
        // Validate no more than a pager does when it loads a page.
        oracle.pages.depth = .load
        return oracle
    }

    private func check(_ oracle: TreeOracle) throws -> [CorruptionRule] {
        var visited = PageSet(pageCount: oracle.pages.pageCount)
        return try TreeCheck.run(oracle.pages, oracle.record, name: oracle.name, visited: &visited)
            .findings.map(\.rule)
    }

    /// Numbers of the tree's pages that have `type`.
    private func pages(_ oracle: TreeOracle, _ type: PageType) -> [PageNumber] {
        (3..<oracle.pages.pageCount).filter { oracle.pages.page($0).typeByte == type.rawValue }
    }

    /// Uses the tree in every way until something throws; only corruption may be thrown.
    private func exercise(_ oracle: TreeOracle) throws {
        let (pages, tree) = (oracle.pages, oracle.tree)
        func attempt(_ body: () throws -> Void) throws {
            do { try body() } catch let error as StorageError {
                guard case .corruption = error else { throw error }
            }
        }
        for key in oracle.keys {
            try attempt {
                _ = try key.with { (key) throws(StorageError) in try tree.value(of: key, in: oracle.record) }
            }
        }
        var stepCount = 0
        for isForward in [true, false] {
            try attempt {
                let cursor = TreeCursor(pages, oracle.record)
                var isOnEntry = try isForward ? cursor.first() : cursor.last()
                while isOnEntry {
                    stepCount += 1
                    _ = try cursor.withValue { $0.byteCount }
                    isOnEntry = try isForward ? cursor.next() : cursor.previous()
                }
            }
        }
        #expect(stepCount <= 2 * 512 * Int(pages.pageCount), "a walk does not end")
        let value = OwnedKey([UInt8](repeating: 9, count: 60))
        var record = oracle.record
        for (index, key) in oracle.keys.enumerated() {
            try attempt {
                try key.with { (key) throws(StorageError) in
                    if index % 3 == 0 {
                        _ = try tree.insert(key, value.key.bytes, into: &record)
                    } else {
                        _ = try tree.remove(key, from: &record)
                    }
                }
            }
        }
        try attempt { _ = try tree.removeRange(from: nil, to: nil, in: &record) }
        try attempt { try tree.dropTree(record) }
        #expect(pages.pinCount == 0)
    }

    @Test(arguments: KeyKind.allCases)
    func `a child that is the root again breaks the level rule`(_ kind: KeyKind) throws {
        let oracle = try sample(kind, 700)
        let interior = try #require(
            pages(oracle, kind == .integer ? .interiorInteger : .interiorBytes)
                .first { $0 != oracle.record.root })
        oracle.pages.page(interior).setChild(1, to: oracle.record.root)

        #expect(try check(oracle).contains(.pageReachedTwice))
        try exercise(oracle)
    }

    @Test(arguments: KeyKind.allCases)
    func `two children of one page that are the same are noticed`(_ kind: KeyKind) throws {
        let oracle = try sample(kind)
        let interior = try #require(
            pages(oracle, kind == .integer ? .interiorInteger : .interiorBytes)
                .first { oracle.pages.page($0).level == 1 })
        let view = oracle.pages.page(interior)
        view.setChild(1, to: view.child(0))

        #expect(try check(oracle).contains(.pageReachedTwice))
        try exercise(oracle)
    }

    @Test(arguments: KeyKind.allCases)
    func `swapped children do not have the fences their parent says`(_ kind: KeyKind) throws {
        let oracle = try sample(kind)
        let interior = try #require(
            pages(oracle, kind == .integer ? .interiorInteger : .interiorBytes)
                .first { oracle.pages.page($0).level == 1 })
        let view = oracle.pages.page(interior)
        let (first, second) = (view.child(0), view.child(1))
        view.setChild(0, to: second)
        view.setChild(1, to: first)

        #expect(try check(oracle) == [.fencesOfChild, .fencesOfChild])
        try exercise(oracle)
    }

    @Test(arguments: KeyKind.allCases)
    func `a page of another tree is refused`(_ kind: KeyKind) throws {
        let oracle = try sample(kind)
        let leaf = try #require(pages(oracle, kind == .integer ? .leafInteger : .leafBytes).last)
        oracle.pages.page(leaf).set(UInt32(99), at: 24)

        #expect(try check(oracle) == [.treeOfPage])
        try exercise(oracle)
    }

    @Test func `a page of the other key kind is refused`() throws {
        let oracle = try sample(.integer)
        let other = try oracle.tree.createTree(2, kind: .bytes, rootTag: 0, transaction: 1)
        let interior = try #require(pages(oracle, .interiorInteger).first { oracle.pages.page($0).level == 1 })
        oracle.pages.page(interior).setChild(0, to: other.root)

        #expect(try check(oracle).contains(.keyKindOfPage))
        try exercise(oracle)
    }

    @Test(arguments: KeyKind.allCases)
    func `an overflow chain that loops, ends early or goes on is noticed`(_ kind: KeyKind) throws {
        for damage in 0..<4 {
            let oracle = try sample(kind)
            let chain = pages(oracle, .overflow)
            let inner = try #require(chain.first { oracle.pages.page($0).overflowNext != 0 })
            let view = oracle.pages.page(inner)
            switch damage {
            case 0:
                // Link the page to another overflow page that is already part of a chain.
                view.set(try #require(chain.first { $0 != inner && $0 != view.overflowNext }), at: 32)
                view.set(UInt32(1), at: 36)
            case 1:
                view.set(UInt32(0), at: 32)
                view.set(UInt32(1), at: 36)
            case 2: oracle.pages.page(view.overflowNext).set(UInt32(77), at: 24)
            default:
                let last = try #require(chain.first { oracle.pages.page($0).overflowNext == 0 })
                oracle.pages.page(last).setContentStart(60)
            }

            #expect(try !check(oracle).isEmpty, "damage \(damage)")
            try exercise(oracle)
        }
    }

    @Test(arguments: KeyKind.allCases)
    func `a child beyond the end of the store is reported`(_ kind: KeyKind) throws {
        let oracle = try sample(kind)
        oracle.pages.page(oracle.record.root).setChild(0, to: 1_000_000)

        #expect(try check(oracle).contains(.pageBeyondEnd))
        try exercise(oracle)
    }

    @Test func `wrong counts in the catalog are reported`() throws {
        let oracle = try sample(.integer)
        var record = oracle.record
        record.entryCount += 1
        record.leafPageCount -= 1

        var visited = PageSet(pageCount: oracle.pages.pageCount)
        let result = try TreeCheck.run(oracle.pages, record, name: oracle.name, visited: &visited)
        #expect(result.findings.map(\.rule) == [.entryCount, .leafCount])
        record.height += 1
        visited = PageSet(pageCount: oracle.pages.pageCount)
        let other = try TreeCheck.run(oracle.pages, record, name: "another name", visited: &visited)
        #expect(other.findings.map(\.rule) == [.rootTag, .treeHeight])
    }

    @Test func `random damage of fields gives errors, never a trap or a loop`() throws {
        let seed = testSeed(default: 41)
        var random = SeededGenerator(seed: seed)
        for round in 0..<campaignCount("ESPALIER_HOSTILE_ROUNDS", default: 60) {
            let kind = KeyKind.allCases[round % 2]
            let oracle = try sample(kind, 260)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let number = PageNumber.random(in: 3..<oracle.pages.pageCount, using: &random)
                let view = oracle.pages.page(number)
                switch Int.random(in: 0..<5, using: &random) {
                case 0 where !view.isLeaf:
                    let child = Int.random(in: 0...view.cellCount, using: &random)
                    view.setChild(child, to: .random(in: 0...oracle.pages.pageCount, using: &random))
                case 1:
                    let other = PageNumber.random(in: 3..<oracle.pages.pageCount, using: &random)
                    view.copy(from: oracle.pages.page(other), at: 12, to: 12, count: 500)
                case 2: view.set(UInt8.random(in: 0...3, using: &random), at: Int.random(in: 24...47, using: &random))
                default:
                    view.set(UInt8.random(in: 0...255, using: &random), at: Int.random(in: 12..<512, using: &random))
                }
            }
            _ = try check(oracle)
            try exercise(oracle)
        }
    }
}
