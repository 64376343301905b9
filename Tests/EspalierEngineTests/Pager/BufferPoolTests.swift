// The buffer pool by itself, compared with a count of its frames; in a debug build its checks run after each eviction.

import EspalierEngine
import TestSupport
import Testing

@Suite struct BufferPoolTests {
    @Test func `after any evictions each frame's page is found, and as many pages as there are frames`() throws {
        let seed = testSeed(default: 46)
        print("ESPALIER_SEED=\(seed)")
        var chance = SeededGenerator(seed: seed)
        let pool = try BufferPool(pageSize: 4096, byteCount: 0)
        var seen: Set<PageNumber> = []
        for step in 0..<1_000 {
            // So few pages that most of them come back, and more than there are frames.
            let page = PageNumber.random(in: 1...60, using: &chance)
            let (wasPresent, missCount) = (pool.isPresent(page, version: 0), pool.missCount)
            func load(_ view: PageView) -> Bool {
                view.set(page, at: 0)
                return true
            }
            guard let pin = try pool.pin(page, version: 0, load: load) else {
                Issue.record("page \(page) was not loaded, seed \(seed), step \(step)")
                return
            }
            let stored = pin.view.u32(0)
            #expect(stored == page, "seed \(seed), step \(step)")
            #expect(pool.missCount == missCount + (wasPresent ? 0 : 1), "seed \(seed), step \(step)")
            seen.insert(page)
            let presentCount = (1...60 as ClosedRange<PageNumber>).count { pool.isPresent($0, version: 0) }
            #expect(presentCount == min(seen.count, pool.frameCount), "seed \(seed), step \(step)")
        }
        #expect(seen.count > pool.frameCount, "seed \(seed): nothing was evicted")
    }
}
