// The set of page numbers that checks use.

import EspalierEngine
import Testing

@Suite struct PageSetTests {
    @Test func `holds what was inserted, in every part`() {
        var set = PageSet(pageCount: 100_000)
        let pages: [PageNumber] = [0, 1, 63, 64, 32_767, 32_768, 65_535, 65_536, 99_999]

        let first = pages.map { set.insert($0) }
        let second = pages.map { set.insert($0) }

        #expect(!first.contains(false) && !second.contains(true))
        for page in pages { #expect(set.contains(page)) }
        for page in [PageNumber(2), 62, 65, 32_766, 32_769, 99_998] { #expect(!set.contains(page)) }
        #expect(set.count == pages.count)
    }

    @Test func `a page at or beyond the page count is never in the set`() {
        var set = PageSet(pageCount: 10)

        let wasInserted = set.insert(10) || set.insert(.max)

        #expect(!wasInserted && !set.contains(10))
    }

    @Test func `the greatest page count a file can claim takes little memory`() {
        var set = PageSet(pageCount: .max)

        let wasInserted = set.insert(.max - 1)

        #expect(wasInserted && set.contains(.max - 1))
    }
}
