// Samples of the keys of trees: parts of about equal size, from few pages, and a located error if pages are damaged.
//
// `ESPALIER_SAMPLE_KEYS` makes the largest tree larger.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeSampleTests {
    /// A tree of bytes keys over an array of pages, and its keys.
    private struct Sample {
        let pages = ArrayPages()
        let record: TreeRecord
        let keys: [[UInt8]]

        /// Inserts `count` keys in random order; five entries fill a leaf.
        init(_ count: Int, seed: UInt64) throws {
            var random = SeededGenerator(seed: seed)
            pages.isValidating = false
            let tree = BTree(pages)
            var record = try tree.createTree(
                2, kind: .bytes, rootTag: Catalog<ArrayPages>.rootTag(of: "sample"), transaction: 1)
            let value = OwnedKey([UInt8](repeating: 1, count: 60))
            keys = (0..<count).map { bytes("key \(1_000_000 + $0)") }
            for key in keys.shuffled(using: &random) {
                let key = OwnedKey(key)
                _ = try tree.insert(key.key, value.key.bytes, into: &record)
            }
            self.record = record
            pages.isValidating = true
            // Validate no more than a pager does when it loads a page.
            pages.depth = .load
        }

        /// The number of keys below `key`.
        func rank(_ key: [UInt8]) -> Int {
            var (low, high) = (0, keys.count)
            while low < high {
                let middle = (low + high) / 2
                if keys[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
            }
            return low
        }

        func sampled(_ countMax: Int) throws(StorageError) -> [[UInt8]] {
            try BTree(pages).sampledKeys(of: record, atMost: countMax)
        }
    }

    /// Pages that count how often they are pinned.
    private final class CountedPages: PageSource {
        private let pages: ArrayPages
        let changeCount: UInt64 = 0
        private(set) var pinCount = 0

        init(_ pages: ArrayPages) { self.pages = pages }

        var pageSize: Int { pages.pageSize }
        var pageCount: UInt32 { pages.pageCount }
        func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
            pinCount += 1
            return try pages.pin(page)
        }
    }

    private func ascends(_ keys: [[UInt8]]) -> Bool {
        zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
    }

    @Test func `sampled keys divide the entries into parts of about equal size, and a small tree exactly`() throws {
        let seed = testSeed(default: 31)
        for count in [0, 1, 2, 3, 40, 150, 700, campaignCount("ESPALIER_SAMPLE_KEYS", default: 5000)] {
            let sample = try Sample(count, seed: seed)
            let isExact = sample.record.leafPageCount <= 32
            for countMax in [1, 7, 200, 100_000] {
                let place = "seed \(seed), \(count) entries, at most \(countMax) keys"
                let keys = try sample.sampled(countMax)
                #expect(ascends(keys) && keys.count <= countMax, "\(place)")
                #expect(keys.count >= min(countMax, count - 1, 32), "\(place): \(keys.count) keys")
                for (index, key) in keys.enumerated() {
                    let (rank, ideal) = (sample.rank(key), (index + 1) * count / (keys.count + 1))
                    #expect(
                        isExact ? rank == ideal : abs(rank - ideal) <= count / 8,
                        "\(place): \(rank) entries are below key \(index), \(ideal) were expected")
                }
            }
            #expect(sample.pages.pinCount == 0)
        }
    }

    @Test func `a sample reads at most 32 pages of each level, however many entries there are`() throws {
        let sample = try Sample(campaignCount("ESPALIER_SAMPLE_KEYS", default: 5000), seed: testSeed(default: 32))
        try #require(sample.record.leafPageCount > 400)
        let pages = CountedPages(sample.pages)

        let keys = try BTree(pages).sampledKeys(of: sample.record, atMost: 200)

        #expect(keys.count >= 32)
        #expect(pages.pinCount <= 32 * sample.record.height, "\(pages.pinCount) pages")
    }

    @Test func `pages that are no neighbors, or of another level, are refused with their place`() throws {
        let sample = try Sample(60, seed: 33)
        let root = sample.pages.page(sample.record.root)
        try #require(root.level == 1 && root.cellCount > 2 && root.cellCount < 32)
        let (first, second) = (root.child(1), root.child(2))

        root.setChild(1, to: second)
        root.setChild(2, to: first)
        #expect(throws: StorageError.corrupt(.fencesOfChild, page: second, tree: 2)) { try sample.sampled(10) }
        root.setChild(1, to: first)
        root.setChild(2, to: first)
        #expect(throws: StorageError.corrupt(.fencesOfChild, page: first, tree: 2)) { try sample.sampled(10) }
        // A leaf in the place of its parent.
        let deep = try Sample(700, seed: 33)
        let top = deep.pages.page(deep.record.root)
        try #require(top.level == 2)
        let leaf = deep.pages.page(top.child(1)).child(0)
        top.setChild(1, to: leaf)
        #expect(throws: StorageError.corrupt(.levelOfChild, page: leaf, tree: 2)) { try deep.sampled(10) }
    }

    @Test func `a damaged page gives an error about its place or ascending keys, and no trap`() throws {
        let seed = testSeed(default: 34)
        var random = SeededGenerator(seed: seed)
        let sample = try Sample(700, seed: seed)
        var refusals = 0
        for step in 0..<400 {
            let page = sample.pages.page(PageNumber.random(in: 3..<sample.pages.pageCount, using: &random))
            let offset = Int.random(in: 0..<page.byteCount, using: &random)
            let old = page.u8(offset)
            page.set(UInt8(old ^ 1 << UInt8.random(in: 0..<8, using: &random)), at: offset)
            do throws(StorageError) {
                let keys = try sample.sampled(step % 2 == 0 ? 200 : 9)
                #expect(ascends(keys), "seed \(seed), step \(step)")
            } catch {
                guard case .corruption = error else { throw error }
                refusals += 1
            }
            page.set(old, at: offset)
        }
        #expect(refusals > 0)
        #expect(sample.pages.pinCount == 0)
    }
}
