// Power losses and failing calls at every step of a backup and of a compaction: the store is whole, and the file with
// the copy's name is whole or does not exist.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// A closed store on a simulated disk, and its content.
struct CopySource {
    let system: SimulatedFileSystem
    let options: DatabaseOptions
    let content: StoreContent

    init(
        seed: UInt64, profile: Workload.Profile = .mixed, transactions: Int = 12
    ) throws(StorageError) {
        system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: profile)
        options = workload.options
        try workload.run(transactions, in: system)
        content = workload.content
    }

    /// The faults of the store called `path`: other content than expected, findings of the check, or a thrown error.
    func problems(of path: String, in system: SimulatedFileSystem) -> [String] {
        do throws(StorageError) {
            let database = try Database.open(path, in: system, options: options)
            var problems: [String] = []
            if try Workload.content(of: database).content != content { problems.append("\(path): other content") }
            let check = try database.check()
            if !check.isOK { problems.append("\(path): \(check.findings)") }
            try database.close()
            return problems
        } catch {
            return ["\(path): \(error)"]
        }
    }

    /// Runs `work`, and calls `examine` with the disk that a power loss leaves before every change of a file, or before
    /// one change in `changes`.
    func crashEverywhere(
        imagesPerPoint: Int, oneOf changes: Int = 1, _ work: () throws -> Void,
        examine: @escaping @Sendable (SimulatedFileSystem) -> [String]
    ) throws -> (images: Int, problems: [String]) {
        let found = Found()
        let system = system
        let chosen = EveryNth(changes, seed: UInt64(system.operationCount))
        system.beforeEachChange { operation in
            guard chosen.takesNext() else { return }
            for number in 0..<UInt64(imagesPerPoint) {
                let image = system.afterPowerLoss(seed: UInt64(operation) &* 1009 &+ number)
                found.note(examine(image).map { "change \(operation), image \(number): \($0)" })
            }
        }
        try work()
        system.beforeEachChange(nil)
        return found.state.withLock { $0 }
    }

    private final class Found: Sendable {
        let state = Mutex((images: 0, problems: [String]()))
        func note(_ problems: [String]) {
            state.withLock { state in
                state.images += 1
                state.problems += problems
            }
        }
    }
}

@Suite struct CopyCrashTests {
    private let images = campaignCount("ESPALIER_CRASH_IMAGES", default: 1)
    private static let seeds = 0..<UInt64(campaignCount("ESPALIER_COPY_SEEDS", default: 3))

    @Test(arguments: seeds)
    func `a power loss during a backup leaves a whole copy or none`(seed: UInt64) throws {
        let source = try CopySource(seed: testSeed(default: 3000) + seed)
        let database = try Database.open(Workload.path, in: source.system, options: source.options)
        let counts = try source.crashEverywhere(imagesPerPoint: images) {
            try database.backUp(to: "copy")
        } examine: { image in
            let copy = image.contents(of: "copy") == nil ? [] : source.problems(of: "copy", in: image)
            return copy + source.problems(of: Workload.path, in: image)
        }
        #expect(counts.images > 5)
        #expect(counts.problems.prefix(3).joined(separator: "\n") == "")
        for later in UInt64(0)..<10 {
            #expect(source.problems(of: "copy", in: source.system.afterPowerLoss(seed: later)) == [], "loss \(later)")
        }
        try database.close()
    }

    @Test(arguments: LargeValues.seeds)
    func `a power loss while a store of large values is backed up and compacted leaves whole files`(
        seed: UInt64
    ) throws {
        let source = try CopySource(seed: testSeed(default: 3070) + seed, profile: .large, transactions: 2)
        let counts = try source.crashEverywhere(imagesPerPoint: images, oneOf: 6) {
            let database = try Database.open(Workload.path, in: source.system, options: source.options)
            try database.backUp(to: "copy")
            try database.close()
            try Database.compact(at: Workload.path, in: source.system, options: source.options)
        } examine: { image in
            let copy = image.contents(of: "copy") == nil ? [] : source.problems(of: "copy", in: image)
            return copy + source.problems(of: Workload.path, in: image)
        }
        #expect(counts.images > 0)
        #expect(counts.problems.prefix(3).joined(separator: "\n") == "")
        #expect(source.problems(of: Workload.path, in: source.system) == [])
        #expect(source.problems(of: "copy", in: source.system) == [])
    }

    @Test func `what a backup holds its original has after a power loss, too`() throws {
        let system = SimulatedFileSystem(seed: testSeed(default: 3050))
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit(.durable)
        write = try database.beginWrite()
        try write.put([1], for: 1, in: tree)
        try write.commit(.ordered)
        try database.backUp(to: "copy")

        // If the commit were lost, another commit would get the log position that the backup claims to hold.
        for seed in UInt64(0)..<10 {
            let image = system.afterPowerLoss(seed: seed)
            let restarted = try Database.open("store", in: image, options: DatabaseOptions())
            #expect(try restarted.beginRead().get(1, from: tree) == [1], "seed \(seed)")
            try restarted.close()
        }
        try database.close()
    }

    @Test(arguments: seeds)
    func `a power loss during a compaction in place leaves the old store or the new one`(seed: UInt64) throws {
        let source = try CopySource(seed: testSeed(default: 3100) + seed)
        let oldSize = source.system.contents(of: Workload.path)?.count ?? 0
        let counts = try source.crashEverywhere(imagesPerPoint: images) {
            try Database.compact(at: Workload.path, in: source.system, options: source.options)
        } examine: {
            source.problems(of: Workload.path, in: $0)
        }
        #expect(counts.images > 5)
        #expect(counts.problems.prefix(3).joined(separator: "\n") == "")
        let later = source.system.afterPowerLoss(seed: seed)
        #expect(source.problems(of: Workload.path, in: later) == [])
        #expect(later.contents(of: Workload.path)?.count ?? 0 <= oldSize)
        #expect(source.system.violations == [])
    }

    @Test func `a call that fails during a backup or a compaction costs the work and nothing else`() throws {
        let seed = testSeed(default: 3200)
        for kind in [SimulatedFault.Kind.inputOutput, .noSpace, .short, .syncForgets] {
            var distance = 1
            var failures = 0
            var isBeyond = false
            while !isBeyond {
                let source = try CopySource(seed: seed, transactions: 6)
                let start = source.system.operationCount
                source.system.arm(SimulatedFault(operation: start + distance, kind: kind))
                do throws(StorageError) {
                    try Database.compact(at: Workload.path, in: source.system, options: source.options)
                    let database = try Database.open(Workload.path, in: source.system, options: source.options)
                    try database.backUp(to: "copy")
                    try database.close()
                } catch {
                    failures += 1
                }
                isBeyond = source.system.operationCount < start + distance
                source.system.arm(nil)
                var problems = source.problems(of: Workload.path, in: source.system)
                if source.system.contents(of: "copy") != nil {
                    problems += source.problems(of: "copy", in: source.system)
                }
                #expect(problems == [], "\(kind) at call \(distance)")
                distance += 1
            }
            #expect((kind == .short) == (failures == 0), "\(kind)")
        }
    }
}
