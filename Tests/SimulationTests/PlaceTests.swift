// Names and places: while files and folders are renamed, moved and removed, every acknowledged commit stays in its own
// store, and no other store changes.
//
// Each walk is a sequence of processes (exit tests), because the working directory belongs to a whole process. Each of
// them is killed within a random call of the system, some only at the end, and the next one continues with its files.
// `ESPALIER_PLACE_SEEDS` says how many walks there are.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct PlaceTests {
    @Test func `commits stay in their store whatever becomes of names, links, folders and the working directory`()
        async throws
    {
        let seed = testSeed(default: 300)
        for number in 0..<UInt64(campaignCount("ESPALIER_PLACE_SEEDS", default: 2)) {
            let root = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
                .appending(path: "espalier-\(UUID().uuidString)").path
            defer { for end in ["", ".ledger"] { try? FileManager.default.removeItem(atPath: root + end) } }
            let ledger = PlaceLedger(root: root)
            for folder in ledger.folders {
                try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            }
            try ledger.save()
            var chance = SeededGenerator(seed: seed &+ number)
            for _ in 0..<4 {
                let part = chance.next()
                // A walk of 100 steps makes thousands of calls, the recovery before it hundreds.
                let calls = Int.random(in: 0..<(part % 4 == 0 ? 300 : 8000), using: &chance)
                await #expect(processExitsWith: .signal(SIGKILL), "seed \(seed &+ number)") {
                    [root = root as String, part = part as UInt64, calls = calls as Int] in
                    var walk = try PlaceWalk(root: root, seed: part, killedAfter: calls)
                    try walk.runUntilKilled(steps: 100)
                }
            }
            let last = try PlaceLedger(of: root)
            #expect(last.stores.contains { $0.numbers.count > 3 }, "seed \(seed &+ number)")
            await #expect(processExitsWith: .success, "seed \(seed &+ number)") { [root = root as String] in
                var walk = try PlaceWalk(root: root, seed: 0)
                try walk.settle()
            }
        }
    }
}
