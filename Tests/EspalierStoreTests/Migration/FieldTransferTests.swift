// Random rows of random layouts in a random newer layout: copied fields make the row that encoding all values makes.

import EspalierModel
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct FieldTransferTests {
    private static let rowCount = 8

    @Test func `copied fields make the row that encoding all values makes, in any layouts`() throws {
        var (copied, computed, spelled, types): (Int, Int, Int, Set<AttributeType>) = (0, 0, 0, [])
        for number in 0..<UInt64(campaignCount("ESPALIER_TRANSFER_RUNS", default: 60)) {
            let seed = testSeed(default: 17_500) &+ number
            var world = try TransferWorld(seed: seed)
            for isEarlier in [false, true] {
                let transfer = try world.transfer(fromEarlier: isEarlier)
                let names = Set(transfer.computed.map(\.attribute.name))
                #expect(names == world.computedNames(fromEarlier: isEarlier), "seed \(seed)")
                (copied, computed) = (copied + world.storedCount - names.count, computed + names.count)
                spelled += world.spelledCount(fromEarlier: isEarlier)
                for row in 0..<Self.rowCount {
                    let (found, expected) = try world.rows(with: transfer, fromEarlier: isEarlier)
                    guard found == expected else {
                        Issue.record("seed \(seed), row \(row): \(world)\n\(found)\nexpected \(expected)")
                        return
                    }
                    _ = try expected.withRawSpan { try RowReader(numbering: world.newer).check($0) }
                }
            }
            types.formUnion(world.storedTypes)
        }

        // A walk that copies nothing, or computes nothing, would show nothing.
        #expect(copied > 300 && computed > 300 && spelled > 20, "\(copied), \(computed), \(spelled)")
        #expect(types.count == TransferWorld.types.count)
    }
}
