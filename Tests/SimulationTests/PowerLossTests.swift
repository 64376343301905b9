// Power losses at every write, sync, resize, rename and removal of scripted workloads, and again while the store
// recovers: the store has every acknowledged commit and no part of another, and it is whole.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// Examines the images that power losses leave.
final class CrashExaminer: Sendable {
    struct Counts: Sendable {
        var images = 0
        var nested = 0
        var problems: [String] = []
    }

    let oracle: Oracle
    let options: DatabaseOptions
    let counts = Mutex(Counts())

    init(oracle: Oracle, options: DatabaseOptions) {
        self.oracle = oracle
        self.options = options
    }

    func report(_ problem: String) { counts.withLock { $0.problems.append(problem) } }

    /// Opens an image and compares its content; during the recovery further power losses make more images to examine.
    ///
    /// - Parameter durable: the newest transaction that the store must have.
    func examine(_ image: SimulatedFileSystem, durable: UInt64, seed: UInt64, depth: Int, label: String) {
        counts.withLock { $0.images += 1 }
        let hasStore = image.contents(of: Workload.path) != nil
        if !hasStore {
            if durable > 0 { report("\(label): the store is gone") }
            return
        }
        if depth < 3 {
            let chance = Mutex(SeededGenerator(seed: seed))
            image.beforeEachChange { [self] operation in
                // The images of recoveries are many: examine one in twelve.
                guard let next = chance.withLock({ $0.next() % 12 == 0 ? $0.next() : nil }) else { return }
                counts.withLock { $0.nested += 1 }
                let again = image.afterPowerLoss(seed: next)
                examine(again, durable: durable, seed: next, depth: depth + 1, label: "\(label) > \(operation)")
            }
        }
        do throws(StorageError) {
            let database = try Database.open(Workload.path, in: image, options: options)
            image.beforeEachChange(nil)
            try compare(database, durable: durable, label: label)
            try goOn(database, label: label)
        } catch {
            report("\(label): \(error)")
        }
        image.beforeEachChange(nil)
        for violation in image.violations { report("\(label): \(violation)") }
    }

    private func compare(_ database: Database, durable: UInt64, label: String) throws(StorageError) {
        let found = try Workload.content(of: database)
        if found.transaction < durable {
            report("\(label): transaction \(durable) was acknowledged, \(found.transaction) is the newest there")
        }
        if oracle.content(found.transaction) != found.content {
            report("\(label): the content is not that of transaction \(found.transaction)")
        }
        let check = try database.check()
        if !check.isOK { report("\(label): \(check.findings)") }
    }

    /// Requires that the recovered store can be written, checked and closed.
    private func goOn(_ database: Database, label: String) throws(StorageError) {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "after", orCreate: UInt64.self)
        try write.put([1, 2, 3], for: 7, in: tree)
        try write.commit()
        let check = try database.check()
        if !check.isOK { report("\(label), written again: \(check.findings)") }
        try database.close()
    }
}

@Suite struct PowerLossTests {
    /// Runs a workload and examines images at every change, or at one change in `changes`; returns the counts.
    private func crashEverywhere(
        seed: UInt64, profile: Workload.Profile = .mixed, transactions: Int, imagesPerPoint: Int,
        oneOf changes: Int = 1
    ) throws -> CrashExaminer.Counts {
        let system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: profile)
        let examiner = CrashExaminer(oracle: workload.oracle, options: workload.options)
        let chosen = EveryNth(changes, seed: seed)
        system.beforeEachChange { operation in
            guard chosen.takesNext() else { return }
            for number in 0..<UInt64(imagesPerPoint) {
                let imageSeed = seed &* 1_000_003 &+ UInt64(operation) &* 31 &+ number
                examiner.examine(
                    system.afterPowerLoss(seed: imageSeed), durable: examiner.oracle.durable, seed: imageSeed,
                    depth: 0, label: "seed \(seed), change \(operation), image \(number)")
            }
        }
        try workload.run(transactions, in: system)
        let counts = examiner.counts.withLock { $0 }
        #expect(system.violations == [])
        #expect(
            counts.problems.prefix(3).joined(separator: "\n") == "", "seed \(seed) has trace \(system.traceHash)")
        return counts
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_CRASH_SEEDS", default: 2)))
    func `a power loss at any moment keeps what was acknowledged and nothing in part`(seed: UInt64) throws {
        let counts = try crashEverywhere(
            seed: testSeed(default: 1000) + seed, transactions: 10,
            imagesPerPoint: campaignCount("ESPALIER_CRASH_IMAGES", default: 1))

        #expect(counts.images > 40)
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_SPILL_SEEDS", default: 3)))
    func `a power loss while spilled transactions go back and forth keeps what was acknowledged`(seed: UInt64) throws {
        let counts = try crashEverywhere(
            seed: testSeed(default: 2000) + seed, profile: .spilling, transactions: 5,
            imagesPerPoint: campaignCount("ESPALIER_CRASH_IMAGES", default: 1))

        #expect(counts.images > 40)
    }

    @Test(arguments: LargeValues.seeds)
    func `a power loss while values of 1 to 64 MiB come, go and move keeps what was acknowledged`(seed: UInt64) throws {
        let counts = try crashEverywhere(
            seed: testSeed(default: 2500) + seed, profile: .large, transactions: 2, imagesPerPoint: 1,
            oneOf: campaignCount("ESPALIER_LARGE_POINTS", default: 40))

        #expect(counts.images > 0)
    }
}
