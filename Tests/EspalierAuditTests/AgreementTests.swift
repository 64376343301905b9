// Two checkers, one verdict: the engine's own check and the audit, on the same damaged bytes.
//
// Promises
//   1. Both call a store whole, or both name damage, or both refuse to judge.
//   2. Where both name damage, they name a rule in common, or a page that is broken by itself.

import EspalierEngine
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct AgreementTests {
    /// The rules about page 0 that the tool checks in addition to the engine's check.
    private static let rulesOfTheTool: Set = [5, 12, 13]

    private static func compare(_ files: ForgedFiles, _ what: @autoclosure () -> String) {
        let (ours, theirs) = (Verdict.audit(files), Verdict.engine(files))
        if case .damaged(let rules) = ours, case .ok = theirs, rules.isSubset(of: rulesOfTheTool),
            Verdict.placesOfAudit(files).allSatisfy({ $0 == 0 })
        {
            return
        }
        if case .damaged = ours, case .damaged = theirs, Verdict.blameOnePage(files) { return }
        #expect(ours.agrees(with: theirs), "\(what()): the audit says \(ours), the engine's check \(theirs)")
    }

    private static func rounds(_ fallback: Int) -> Int { campaignCount("ESPALIER_AUDIT_DAMAGES", default: fallback) }

    @Test func `of a store with random bytes flipped`() throws {
        var random = SeededGenerator(seed: testSeed(default: 71))
        for good in [try SampleStores.closed(), try SampleStores.open()] {
            for round in 0..<Self.rounds(25) {
                var files = good
                let offset = Int.random(in: 0..<files.store.count, using: &random)
                files.store[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                Self.compare(files, "round \(round), byte \(offset % 4096) of page \(offset / 4096)")
            }
        }
    }

    @Test func `of a store with fields of pages changed and their checksums right`() throws {
        var random = SeededGenerator(seed: testSeed(default: 72))
        let good = try SampleStores.closed()
        for round in 0..<Self.rounds(150) {
            var files = good
            let page = Int.random(in: 1..<files.pageCount, using: &random)
            // Change mostly bytes of headers and slots.
            let offset =
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4: Int.random(in: 8..<48, using: &random)
                case 4..<8: Int.random(in: 48..<200, using: &random)
                default: Int.random(in: 8..<files.pageSize, using: &random)
                }
            let before = files.store[page * files.pageSize + offset]
            let value: UInt8 =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: before &+ 1
                case 1: before &- 1
                case 2: before ^ (1 << UInt8.random(in: 0..<8, using: &random))
                default: UInt8.random(in: 0...255, using: &random)
                }
            files.set(value, page: page, at: offset)
            files.sealPage(page)
            Self.compare(files, "round \(round), page \(page) byte \(offset): \(before) became \(value)")
        }
    }

    @Test func `of a store with page 0 changed and its hashes right`() throws {
        var random = SeededGenerator(seed: testSeed(default: 73))
        for good in [try SampleStores.closed(), try SampleStores.open()] {
            for round in 0..<Self.rounds(40) {
                var files = good
                let isSlot = Int.random(in: 0..<4, using: &random) > 0
                let offset =
                    isSlot
                    ? files.newestSlotOffset + Int.random(in: 0..<90, using: &random)
                    : Int.random(in: 0..<130, using: &random)
                let bit = UInt8.random(in: 0..<8, using: &random)
                files.store[offset] ^= 1 << bit
                if isSlot { files.sealSlot((offset - 512) / 512) } else { files.sealSuperblock() }
                Self.compare(files, "round \(round), bit \(bit) of byte \(offset)")
            }
        }
    }

    @Test func `of a store that says it was closed, beside a log with later commits`() throws {
        var files = try SampleStores.open()
        files.store[files.newestSlotOffset + 36] ^= 1
        files.sealSlot(files.newestSlot)

        guard case .damaged(let rules) = Verdict.audit(files) else {
            Issue.record("\(Verdict.audit(files))")
            return
        }
        #expect(rules == [12])
        Self.compare(files, "the newest slot")
    }

    @Test func `of a log with random bytes flipped`() throws {
        var random = SeededGenerator(seed: testSeed(default: 74))
        let good = try SampleStores.open()
        for round in 0..<Self.rounds(30) {
            var files = good
            let offset = Int.random(in: 0..<(files.log?.count ?? 0), using: &random)
            files.log?[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            Self.compare(files, "round \(round), byte \(offset)")
        }
    }

    @Test func `of a log with fields changed and its chain right`() throws {
        var random = SeededGenerator(seed: testSeed(default: 75))
        let good = try SampleStores.open()
        let frames = good.frameOffsets
        for round in 0..<Self.rounds(80) {
            var files = good
            let start: Int =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: 0
                case 1: 4096
                default: frames.randomElement(using: &random) ?? 0
                }
            let offset = start + Int.random(in: 0..<(start > 4096 ? 160 : 64), using: &random)
            guard offset < good.log?.count ?? 0 else { continue }
            let bit = UInt8.random(in: 0..<8, using: &random)
            files.log?[offset] ^= 1 << bit
            files.sealLog()
            Self.compare(files, "round \(round), bit \(bit) of byte \(offset - start) behind \(start)")
        }
    }

    @Test func `of files that end early`() throws {
        var random = SeededGenerator(seed: testSeed(default: 76))
        for good in [try SampleStores.closed(), try SampleStores.open()] {
            for _ in 0..<Self.rounds(8) {
                var files = good
                files.store.removeLast(Int.random(in: 0..<files.store.count, using: &random))
                Self.compare(files, "a store of \(files.store.count) bytes")
                guard let count = files.log?.count else { continue }
                files = good
                files.log?.removeLast(Int.random(in: 0..<count, using: &random))
                Self.compare(files, "a log of \(files.log?.count ?? 0) bytes")
            }
        }
        var files = try SampleStores.open()
        files.log = nil
        Self.compare(files, "no log")
    }
}
