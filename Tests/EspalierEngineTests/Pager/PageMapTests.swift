// The hash map of page numbers, compared with a dictionary.

import EspalierEngine
import TestSupport
import Testing

@Suite struct PageMapTests {
    @Test func `random changes give what a dictionary gives`() {
        var chance = SeededGenerator(seed: testSeed(default: 5))
        let map = PageMap()
        var model: [PageNumber: UInt32] = [:]
        for step in 0..<20_000 {
            // So few pages that slots collide, and that most pages are added and removed again.
            let page = PageNumber.random(in: 1...200, using: &chance)
            if Bool.random(using: &chance) {
                map.set(UInt32(step), for: page)
                model[page] = UInt32(step)
            } else {
                #expect(map.remove(page) == model.removeValue(forKey: page))
            }
            let other = PageNumber.random(in: 1...200, using: &chance)
            #expect(map.value(of: other) == model[other])
            #expect(map.count == model.count)
        }
        map.removeAll()
        #expect(map.count == 0)
        #expect(map.value(of: 1) == nil)
    }
}
