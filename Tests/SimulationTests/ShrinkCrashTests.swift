// Power losses and failing calls at every step of a shrink and of the checkpoint that truncates the file: no content is
// lost, and the file is truncated only after a slot is durable (`OrderMonitor`).

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct ShrinkCrashTests {
    private static let seeds = 0..<UInt64(campaignCount("ESPALIER_COPY_SEEDS", default: 3))

    /// A store whose pages are mostly free, with long values at its end; and its content.
    private func makeSparse(_ source: CopySource) throws(StorageError) -> (Database, StoreContent) {
        let database = try Database.open(Workload.path, in: source.system, options: source.options)
        var write = try database.beginWrite()
        let filler = try write.createTree(named: "filler", keys: UInt64.self)
        for key in UInt64(0)..<150 { try write.put([UInt8](repeating: 1, count: 800), for: key, in: filler) }
        let late = try write.createTree(named: "late", keys: [UInt8].self)
        for key in UInt8(0)..<6 { try write.put([UInt8](repeating: key, count: 9000), for: [key], in: late) }
        try write.commit()
        write = try database.beginWrite()
        for key in UInt64(0)..<150 where key % 50 != 0 { try write.remove(key, from: filler) }
        try write.commit()
        return (database, try Workload.content(of: database).content)
    }

    private func shrink(_ database: Database, movingAtMost pageMax: Int) throws(StorageError) {
        var write = try database.beginWrite()
        try write.shrink(movingAtMost: pageMax)
        try write.commit(.durable)
    }

    /// Runs `work` with power losses: expects that no content is lost and that the file becomes shorter.
    private func expectNothingLost(
        of content: StoreContent, in source: CopySource, imagesPerPoint: Int, oneOf changes: Int = 1, imagesMin: Int,
        _ work: () throws -> Void
    ) throws {
        let before = source.system.contents(of: Workload.path)?.count ?? 0
        let sparse = CopySource(source, content: content)
        let counts = try sparse.crashEverywhere(imagesPerPoint: imagesPerPoint, oneOf: changes, work) { image in
            sparse.problems(of: Workload.path, in: image)
        }
        #expect(counts.images >= imagesMin)
        #expect(counts.problems.prefix(3).joined(separator: "\n") == "")
        #expect(source.system.violations == [])
        let after = source.system.contents(of: Workload.path)?.count ?? 0
        #expect(after < before, "\(before) -> \(after)")
    }

    @Test(arguments: seeds)
    func `a power loss while a store shrinks and is cut takes nothing from it`(seed: UInt64) throws {
        let source = try CopySource(seed: testSeed(default: 3500) + seed, transactions: 6)
        let (database, content) = try makeSparse(source)
        let count = campaignCount("ESPALIER_CRASH_IMAGES", default: 1)

        try expectNothingLost(of: content, in: source, imagesPerPoint: count, imagesMin: 11) {
            try shrink(database, movingAtMost: 10)
            try database.checkpoint(.full)
            try shrink(database, movingAtMost: 1000)
            try database.checkpoint(.full)
            try database.close()
        }
    }

    /// A store with two large values after the free pages of a removed one; and its content.
    private func makeLarge(seed: UInt64) throws -> (CopySource, Database, StoreContent) {
        let source = try CopySource(seed: testSeed(default: 3550) + seed, profile: .large, transactions: 0)
        let database = try Database.open(Workload.path, in: source.system, options: source.options)
        var write = try database.beginWrite()
        let early = try write.createTree(named: "early", keys: UInt64.self)
        try write.put(LargeValues.largest(5), for: 1, in: early)
        let late = try write.createTree(named: "late", keys: [UInt8].self)
        for key in UInt8(0)..<2 { try write.put(LargeValues.largest(key), for: [key], in: late) }
        try write.commit()
        write = try database.beginWrite()
        try write.remove(1, from: early)
        try write.commit()
        return (source, database, try Workload.content(of: database).content)
    }

    private func shrinkWhole(_ database: Database) throws(StorageError) {
        try shrink(database, movingAtMost: 1 << 20)
        try database.checkpoint(.full)
        try database.close()
    }

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// The number of changes of files that a shrink of that store makes.
    private func countChanges(seed: UInt64) throws -> Int {
        let (source, database, _) = try makeLarge(seed: seed)
        let counter = Counter()
        source.system.beforeEachChange { _ in counter.count.add(1, ordering: .relaxed) }
        try shrinkWhole(database)
        return counter.count.load(ordering: .relaxed)
    }

    @Test(arguments: LargeValues.seeds)
    func `a power loss while values of 1 to 64 MiB move to the front takes nothing from them`(seed: UInt64) throws {
        // Large pages mean few changes: examine at least one of them.
        let changes = min(campaignCount("ESPALIER_LARGE_POINTS", default: 3), try countChanges(seed: seed))
        let (source, database, content) = try makeLarge(seed: seed)

        try expectNothingLost(of: content, in: source, imagesPerPoint: 1, oneOf: changes, imagesMin: 1) {
            try shrinkWhole(database)
        }
    }

    @Test func `a call that fails while a store shrinks costs the work and nothing else`() throws {
        for kind in [SimulatedFault.Kind.inputOutput, .noSpace, .short, .syncForgets] {
            var distance = 1
            var isBeyond = false
            while !isBeyond {
                let source = try CopySource(seed: testSeed(default: 3600), transactions: 4)
                let (database, content) = try makeSparse(source)
                let start = source.system.operationCount
                source.system.arm(SimulatedFault(operation: start + distance, kind: kind))
                do throws(StorageError) {
                    try shrink(database, movingAtMost: 1000)
                    try database.checkpoint(.full)
                } catch {}
                do throws(StorageError) { try database.close() } catch {}
                isBeyond = source.system.operationCount < start + distance
                source.system.arm(nil)
                let problems = CopySource(source, content: content).problems(of: Workload.path, in: source.system)
                #expect(problems == [], "\(kind) at call \(distance)")
                distance += 1
            }
            #expect(distance > 10)
        }
    }
}

extension CopySource {
    /// The same store with another content.
    fileprivate init(_ source: CopySource, content: StoreContent) {
        (system, options, self.content) = (source.system, source.options, content)
    }
}
