// Values in overflow pages that replace similar ones: their last pages stay.

import EspalierEngine
import TestSupport
import Testing

@Suite struct OverflowTailTests {
    private let stepCount = campaignCount("ESPALIER_TREE_STEPS", default: 600)

    /// Bytes of which no two pages are equal.
    private func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    @Test(arguments: [KeyKind.integer, .bytes])
    func `a long value that is edited anywhere again and again is the array that is edited so`(
        _ kind: KeyKind
    ) throws {
        let seed = testSeed(default: 20_261_127)
        var random = SeededGenerator(seed: seed)
        let oracle = try TreeOracle(kind)
        let keys: [TestKey] = (0..<5).map { kind == .integer ? .integer($0) : .bytes([UInt8("\($0)".utf8.first ?? 0)]) }
        for step in 0..<stepCount {
            let key = keys.randomElement(using: &random) ?? keys[0]
            var value = oracle.values[key] ?? []
            // Places near both ends are as frequent as all others.
            let place =
                switch Int.random(in: 0..<3, using: &random) {
                case 0: min(value.count, Int.random(in: 0...600, using: &random))
                case 1: max(0, value.count - Int.random(in: 0...600, using: &random))
                default: Int.random(in: 0...value.count, using: &random)
                }
            let count = Int.random(in: 0...(Bool.random(using: &random) ? 8 : 1200), using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1: value.insert(contentsOf: bytes(count, &random), at: place)
            case 2, 3: value.removeSubrange(place..<min(value.count, place + count))
            case 4, 5:
                let range = place..<min(value.count, place + count)
                value.replaceSubrange(range, with: bytes(range.count, &random))
            case 6: value = bytes(Int.random(in: 0...20, using: &random) * 472, &random)
            default: break
            }
            if value.count > 30_000 { value.removeLast(value.count - 20_000) }
            if step % 50 == 49 { try oracle.remove(key) } else { try oracle.insert(key, value) }
            try oracle.expectValue(of: key)
            // The check finds pages that are lost, reached twice, or short where they must be full.
            if step % 10 == 0 { try oracle.expectSame() }
            #expect(oracle.pages.pinCount == 0)
        }
        try oracle.expectSame()
        try oracle.removeAll()
        try oracle.drop()
        #expect(oracle.pages.usedPageCount == 0, "seed \(seed)")
    }

    @Test func `a change near the beginning of a long value writes a few pages, however long it is`() throws {
        var random = SeededGenerator(seed: testSeed(default: 1))
        for byteCount in [2_000, 20_000, 200_000] {
            let oracle = try TreeOracle(.integer)
            var value = bytes(byteCount, &random)
            try oracle.insert(.integer(1), value)
            for change in 0..<3 {
                switch change {
                case 0: value[10] ^= 0xFF
                case 1: value.insert(contentsOf: [1, 2, 3], at: 20)
                default: value.removeSubrange(5..<12)
                }
                let before = oracle.pages.changeCount
                try oracle.insert(.integer(1), value)
                let changes = oracle.pages.changeCount - before
                #expect(changes <= 8, "\(changes) pages allocated, written and freed of \(byteCount) bytes")
                try oracle.expectSame()
            }
        }
    }

    @Test func `a long value that is stored again unchanged writes none of its pages`() throws {
        var random = SeededGenerator(seed: testSeed(default: 2))
        let oracle = try TreeOracle(.integer)
        let value = bytes(20_000, &random)
        try oracle.insert(.integer(1), value)
        let before = oracle.pages.changeCount
        try oracle.insert(.integer(1), value)
        #expect(oracle.pages.changeCount - before == 1, "the leaf alone is changed")
        try oracle.expectSame()
    }

    @Test func `a long value that another one replaces is read once, whether its last page stays or not`() throws {
        var random = SeededGenerator(seed: testSeed(default: 3))
        let oracle = try TreeOracle(.integer)
        var value = bytes(20_000, &random)
        try oracle.insert(.integer(1), value)
        for change in 0..<4 {
            switch change {
            case 0: value[10] ^= 0xFF
            case 1: value[value.count - 1] ^= 0xFF
            case 2: value = bytes(20_000, &random)
            default: value = bytes(30_000, &random)
            }
            let pageCount = oracle.pages.usedPageCount
            let before = oracle.pages.readCount
            try oracle.insert(.integer(1), value)
            let reads = oracle.pages.readCount - before
            #expect(reads <= pageCount + 3, "change \(change): \(reads) reads of \(pageCount) pages")
            try oracle.expectSame()
        }
    }

    @Test func `a chain with two pages before its end that are not full is refused by the check`() throws {
        let oracle = try TreeOracle(.integer)
        var value = [UInt8](repeating: 7, count: 3000)
        for place in value.indices { value[place] = UInt8(truncatingIfNeeded: place / 100) }
        try oracle.insert(.integer(1), value)
        guard case .overflow(let first, let byteCount) = oracle.pages.page(oracle.record.root).value(0) else {
            Issue.record("the value is not in overflow pages")
            return
        }
        let second = oracle.pages.page(first).overflowNext
        // The pages stay well formed: each holds a byte less, and the reference says so.
        for page in [first, second] {
            let view = oracle.pages.page(page)
            view.set(UInt8(0), at: view.byteCount - 1)
            view.setContentStart(view.byteCount - 1)
        }
        let root = oracle.pages.page(oracle.record.root)
        root.set(byteCount - 2, at: root.cellOffset(0) + TreeLayout.valueWordByteCount)

        var visited = PageSet(pageCount: oracle.pages.pageCount)
        let result = try TreeCheck.run(oracle.pages, oracle.record, name: oracle.name, visited: &visited)
        #expect(result.findings.map(\.rule) == [.overflowLength])
    }
}
