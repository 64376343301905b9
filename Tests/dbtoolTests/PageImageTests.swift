// Pages decoded from bytes that nobody vouches for.

import EspalierEngine
import TestSupport
import Testing

@testable import dbtool

@Suite struct PageImageTests {
    @Test func `random bytes decode to an end without a trap, whatever they claim to be`() {
        var random = SeededGenerator(seed: testSeed(default: 20_260_711))
        for round in 0..<300 {
            var bytes = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
            bytes[PageLayout.type] = UInt8(round % 10)
            if round.isMultiple(of: 3) { bytes.removeLast(Int.random(in: 0...4096, using: &random)) }
            let page = PageImage(number: 7, bytes: bytes, pageSize: 4096, storeSeed: 1)

            #expect(page.cells.count <= 4096 / TreeLayout.bytesSlotByteCount)
            #expect(page.isIntact == false)
        }
    }

    @Test func `a page whose seed is lost is neither intact nor damaged`() {
        let page = PageImage(number: 7, bytes: [UInt8](repeating: 0, count: 4096), pageSize: 4096, storeSeed: nil)

        #expect(page.isIntact == nil)
    }
}
