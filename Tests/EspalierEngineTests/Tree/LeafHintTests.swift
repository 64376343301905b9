// The leaf of the last change, which the next one tries first: it must cost nothing where the next one is elsewhere.

import EspalierEngine
import TestSupport
import Testing

@Suite struct LeafHintTests {
    enum Change: CaseIterable {
        case put, remove
    }

    @Test(arguments: Change.allCases)
    func `a transaction that changes one entry does not write the leaf of the transaction before it`(
        _ change: Change
    ) throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<UInt64(3000) { try write.put([UInt8](repeating: 9, count: 200), for: key, in: tree) }
            for key in UInt64(2980)..<2990 { try write.remove(key, from: tree) }
            try write.commit()
            var grown: [UInt64] = []

            // The first change is far from the last leaf; the second one is in the leaf of the first.
            for key in UInt64(5)...6 {
                let before = database.statistics.logLiveByteCount
                var write = try database.beginWrite()
                switch change {
                case .put: try write.put([UInt8](repeating: 8, count: 200), for: key, in: tree)
                case .remove: #expect(try write.remove(key, from: tree))
                }
                try write.commit()
                grown.append(database.statistics.logLiveByteCount - before)
            }

            // A frame has the used part of its page, which a removal changes by some bytes.
            #expect(grown[0] < grown[1] + 1000 && grown[1] > 0, "\(grown)")
            let read = try database.beginRead()
            #expect(try read.get(5, from: tree) == (change == .put ? [UInt8](repeating: 8, count: 200) : nil))
        }
    }
}
