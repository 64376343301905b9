// Acceptance line A7: salvage recovers at least 99 % of the rows of a store whose catalog, superblock and some random
// pages are destroyed.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct SalvageCampaignTests {
    /// Makes a store of about `pageCount` pages: two thirds integer keys, the rest bytes keys, some large values.
    private func makeStore(at path: String, pageCount: Int) throws -> Int {
        let database = try Database.open(path)
        var rowCount = 0
        while database.statistics.pageCount < pageCount {
            var write = try database.beginWrite()
            let numbers = try write.tree(named: "numbers", orCreate: UInt64.self)
            let words = try write.tree(named: "words", orCreate: [UInt8].self)
            for _ in 0..<1000 {
                let key = UInt64(rowCount) &* 0x9E37_79B9_7F4A_7C15 >> 20
                try write.put(value(key), for: key, in: numbers)
                if rowCount % 3 == 0 { try write.put(value(key), for: bytes("word \(key)"), in: words) }
                rowCount += 1
            }
            try write.put([UInt8](repeating: 1, count: 9000), for: bytes("large \(rowCount)"), in: words)
            try write.commit()
        }
        let read = try database.beginRead()
        let total = try read.trees().reduce(0) { $0 + Int($1.entryCount) }
        _ = consume read
        try database.close()
        return total
    }

    private func value(_ key: UInt64) -> [UInt8] {
        (0..<12).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: (key &+ word) >> (8 * $0)) } }
    }

    @Test func `99 % of the rows of a store come back when catalog, superblock and pages at random are destroyed`()
        throws
    {
        let pageCount = campaignCount("ESPALIER_SALVAGE_PAGES", default: 300)
        let destroyed = campaignCount("ESPALIER_SALVAGE_DESTROYED", default: max(1, pageCount / 1000))
        var chance = SeededGenerator(seed: testSeed(default: 2_026))
        try withStorePath { path in
            let total = try makeStore(at: path, pageCount: pageCount)
            let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            for round in 0..<campaignCount("ESPALIER_SALVAGE_ROUNDS", default: 1) {
                var bad = good
                let pages = (0..<destroyed).map { _ in Int.random(in: 3..<good.count / 4096, using: &chance) }
                for page in [0, 2] + pages {
                    for offset in page * 4096..<(page + 1) * 4096 {
                        bad[offset] = UInt8.random(in: 0...255, using: &chance)
                    }
                }
                try Data(bad).write(to: URL(fileURLWithPath: path))
                let new = "\(path)-new-\(round)"
                var options = SalvageOptions()
                options.acceptsDamaged = true
                options.nameCandidates = ["numbers", "words"]
                let report = try Database.salvage(from: path, into: new, options: options)

                let percent = Double(report.rowCount) * 100 / Double(total)
                print(
                    "salvage: \(report.rowCount) of \(total) rows (\(percent) %) from \(good.count / 4096) pages,",
                    "of which \(destroyed), the catalog and the superblock with its copy were destroyed")
                #expect(percent >= 99)
                #expect(report.rowCount <= UInt64(total))
                let database = try Database.open(new)
                #expect(try database.check().isOK)
                let read = try database.beginRead()
                for salvaged in report.trees {
                    guard case .integers(let tree) = salvaged.tree else { continue }
                    var cursor = try read.cursor(over: tree)
                    var wrongCount = 0
                    while try cursor.next() {
                        if try cursor.value() != value(try cursor.key) { wrongCount += 1 }
                    }
                    #expect(wrongCount == 0)
                }
                _ = consume read
                try database.close()
                try FileManager.default.removeItem(atPath: new)
            }
        }
    }
}
