// The n-th call of a workload fails, alone or with all later ones: every error is reported, the open store remains
// readable, and after a reopening or a power loss the store is whole and has every acknowledged commit.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct FailingCallTests {
    private static let transactions = 8

    /// The numbers of those calls of a workload without faults that a fault of this kind can hit.
    private func calls(
        seed: UInt64, profile: Workload.Profile = .mixed, transactions: Int = Self.transactions,
        hitBy kind: SimulatedFault.Kind
    ) throws -> [Int] {
        let system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: profile)
        let found = Mutex((count: 0, calls: [Int]()))
        system.beforeEachCall { operation, _ in
            found.withLock { found in
                found.count += 1
                if kind != .syncForgets || operation == .sync { found.calls.append(found.count) }
            }
        }
        try workload.run(transactions, in: system)
        return found.withLock { $0.calls }
    }

    /// Runs a workload with one fault and examines the files afterwards; returns whether the workload threw an error.
    @discardableResult
    private func run(
        seed: UInt64, profile: Workload.Profile = .mixed, transactions: Int = Self.transactions, fault: SimulatedFault
    ) -> Bool {
        let label = "seed \(seed), \(fault.kind.rawValue)\(fault.isSticky ? " from" : " at") call \(fault.operation)"
        let system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: profile)
        let examiner = CrashExaminer(oracle: workload.oracle, options: workload.options)
        system.arm(fault)
        var failure: StorageError?
        do throws(StorageError) {
            try workload.run(transactions, in: system)
        } catch {
            failure = error
        }
        system.arm(nil)
        let trace = system.traceHash
        // The process has ended but the machine still runs: the system's memory has the unsynced changes.
        let durable = workload.oracle.durable
        examiner.examine(
            system.afterPowerLoss(seed: seed &+ 77), durable: durable, seed: seed, depth: 3,
            label: "\(label), power loss")
        reopen(system, examiner, durable: durable, label: label)
        let problems = examiner.counts.withLock { $0.problems }
        #expect(
            problems.prefix(2).joined(separator: "\n") == "",
            "\(label) gave \(failure.map(\.description) ?? "no error"), trace \(trace)")
        return failure != nil
    }

    /// Opens the store again on the same machine: the content that it then shows must be durable.
    private func reopen(
        _ system: SimulatedFileSystem, _ examiner: CrashExaminer, durable: UInt64, label: String
    ) {
        guard system.contents(of: Workload.path) != nil else { return }
        do throws(StorageError) {
            let shown = try show(system, examiner)
            for number in 0..<UInt64(2) {
                examiner.examine(
                    system.afterPowerLoss(seed: number &+ shown), durable: shown, seed: number, depth: 3,
                    label: "\(label), reopened, power loss")
            }
            examiner.examine(system, durable: max(durable, shown), seed: 1, depth: 3, label: "\(label), reopened")
        } catch {
            examiner.report("\(label), reopened: \(error)")
        }
    }

    /// Opens the store; returns the number of its newest transaction.
    private func show(_ system: SimulatedFileSystem, _ examiner: CrashExaminer) throws(StorageError) -> UInt64 {
        let database = try Database.open(Workload.path, in: system, options: examiner.options)
        return try Workload.content(of: database).transaction
    }

    @Test(arguments: SimulatedFault.Kind.allCases, [false, true])
    func `a call that fails leaves a store that opens and has what was acknowledged`(
        kind: SimulatedFault.Kind, isSticky: Bool
    ) throws {
        var chance = SeededGenerator(seed: testSeed(default: 7) ^ UInt64(kind.rawValue.utf8.count))
        let budget = campaignCount("ESPALIER_FAULT_RUNS", default: 10)
        let seeds = (0..<3).map { _ in UInt64.random(in: 0..<100_000, using: &chance) }
        var told = 0
        for number in 0..<budget {
            let seed = seeds[number % seeds.count]
            let calls = try calls(seed: seed, hitBy: kind)
            // Take every call in turn if the budget allows it, else a sample.
            let operation = try #require(
                budget >= calls.count * seeds.count
                    ? calls[number / seeds.count % calls.count] : calls.randomElement(using: &chance))
            told += run(seed: seed, fault: SimulatedFault(operation: operation, kind: kind, isSticky: isSticky)) ? 1 : 0
        }

        #expect(kind == .short || kind == .noSpace || told > 0)
    }

    @Test(arguments: LargeValues.seeds)
    func `a call that fails beside values of 1 to 64 MiB leaves a store that has what was acknowledged`(
        number: UInt64
    ) throws {
        let seed = testSeed(default: 2600) + number
        var chance = SeededGenerator(seed: seed)
        let kind = try #require(SimulatedFault.Kind.allCases.randomElement(using: &chance))
        let calls = try calls(seed: seed, profile: .large, transactions: 1, hitBy: kind)
        let operation = try #require(calls.randomElement(using: &chance))

        run(seed: seed, profile: .large, transactions: 1, fault: SimulatedFault(operation: operation, kind: kind))
    }

    @Test func `a full disk leaves a store that can be read, and written once there is room`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let options = Workload.options(seed: 2)
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()

        system.limitSpace(to: 100_000)
        var failure: StorageError?
        var committed: UInt64 = 1
        for key in UInt64(2)..<200 {
            do throws(StorageError) {
                var write = try database.beginWrite()
                try write.put([UInt8](repeating: 7, count: 3000), for: key, in: tree)
                try write.commit()
                committed = key
            } catch {
                failure = error
                break
            }
        }

        #expect(failure == .diskFull)
        #expect(try database.beginRead().count(of: tree) == committed)
        system.limitSpace(to: nil)
        var again = try database.beginWrite()
        try again.put([2], for: 1000, in: tree)
        try again.commit()
        #expect(try database.check().isOK)
        try database.close()
        let reopened = try Database.open("store", in: system, options: options)
        #expect(try reopened.beginRead().count(of: tree) == committed + 1)
        #expect(system.violations == [])
    }

    @Test func `after a failed sync nothing is written, and reading goes on`() throws {
        let system = SimulatedFileSystem(seed: 4)
        let database = try Database.open("store", in: system, options: Workload.options(seed: 1))
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        // The second commit fills a piece of the log with zeros.
        write = try database.beginWrite()
        try write.put([1], for: 1, in: tree)
        try write.commit()
        var second = try database.beginWrite()
        try second.put([2], for: 2, in: tree)
        // The next call is the commit's write, the one after it the commit's sync.
        system.arm(SimulatedFault(operation: system.operationCount + 2, kind: .syncForgets))
        var failure: StorageError?
        do throws(StorageError) { try second.commit() } catch { failure = error }
        system.arm(nil)

        #expect(failure == .transaction(.commitOutcomeUnknown))
        #expect(try database.beginRead().count(of: tree) == 1)
        let count = system.operationCount
        #expect(throws: StorageError.database(.poisoned(errno: 5))) { _ = try database.beginWrite() }
        #expect(throws: StorageError.database(.poisoned(errno: 5))) { try database.checkpoint() }
        #expect(throws: StorageError.database(.poisoned(errno: 5))) { try database.close() }
        #expect(system.operationCount == count)
        let reopened = try Database.open("store", in: system, options: Workload.options(seed: 1))
        #expect(try reopened.beginRead().get(1, from: tree) == [1])
    }
}
