// Pages decoded from untrusted bytes.

import EspalierEngine
import Foundation
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

    @Test func `what a shorter value left free in a leaf does not count as used`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("store").path
            func used(_ valueByteCount: Int) throws -> Int {
                let database = try Database.open(path)
                var transaction = try database.beginWrite()
                let found = try transaction.tree(named: "rows", keys: UInt64.self)
                let tree = try found ?? transaction.createTree(named: "rows", keys: UInt64.self)
                let value = [UInt8](repeating: 1, count: valueByteCount)
                for key in 1...30 { try transaction.put(value, for: UInt64(key), in: tree) }
                try transaction.commit()
                try database.close()
                let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
                for number in 0..<bytes.count / 4096 {
                    let content = Array(bytes[number * 4096..<(number + 1) * 4096])
                    let page = PageImage(number: UInt32(number), bytes: content, pageSize: 4096, storeSeed: nil)
                    if page.type == .leafInteger, page.cellCount == 30 { return page.usedByteCount }
                }
                throw CocoaError(.fileReadCorruptFile)
            }
            let full = try used(100)
            #expect(try used(10) == full - 30 * 90)
        }
    }

    @Test func `a page whose seed is lost is neither intact nor damaged`() {
        let page = PageImage(number: 7, bytes: [UInt8](repeating: 0, count: 4096), pageSize: 4096, storeSeed: nil)

        #expect(page.isIntact == nil)
    }
}
