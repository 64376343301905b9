// A run is one integer: the same seed makes the same calls with the same bytes, in this process and in another.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TraceTests {
    private static let transactions = 8

    /// Runs the workload of a seed, with a fault if one is given, then the recovery after a power loss.
    ///
    /// - Returns: A hash of all calls.
    static func trace(_ seed: UInt64, _ fault: SimulatedFault?, _ profile: Workload.Profile = .mixed) -> UInt64 {
        let system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: profile)
        system.arm(fault)
        // An error that the workload gets is part of the trace: it decides which calls follow.
        do throws(StorageError) { try workload.run(transactions, in: system) } catch {}
        let image = system.afterPowerLoss(seed: seed)
        do throws(StorageError) {
            try Database.open(Workload.path, in: image, options: Workload.options(seed: seed)).close()
        } catch {}
        return system.traceHash &* 31 &+ image.traceHash
    }

    private static var faults: [SimulatedFault?] {
        let kinds = SimulatedFault.Kind.allCases.flatMap { kind in [false, true].map { (kind, $0) } }
        return [nil] + kinds.map { SimulatedFault(operation: 68, kind: $0, isSticky: $1) }
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_TRACE_SEEDS", default: 3)))
    func `the same seed makes the same calls with the same bytes, whatever fails`(number: UInt64) {
        let seed = testSeed(default: 1000) + number
        for fault in Self.faults {
            let hashes = [Self.trace(seed, fault), Self.trace(seed, fault)]

            #expect(hashes[0] == hashes[1], "seed \(seed), \(fault.map { "\($0)" } ?? "no fault")")
        }
    }

    @Test func `the same seed spills the same bytes`() {
        let seed = testSeed(default: 2000)

        #expect(Self.trace(seed, nil, .spilling) == Self.trace(seed, nil, .spilling), "seed \(seed)")
    }

    @Test func `another process makes the same calls from the same seed`() async {
        let hash = Self.trace(1000, nil)

        await #expect(processExitsWith: .success) { [hash = hash as UInt64] in
            #expect(TraceTests.trace(1000, nil) == hash)
        }
    }

    @Test func `a log that is searched for durable commits is read in the same order by every run`() {
        let fault = SimulatedFault(operation: 68, kind: .doneButFailed, isSticky: true)
        // The dictionaries that are kept move the allocations of later runs: the order of an unordered collection
        // follows its address.
        var kept: [[UInt64: Int]] = []
        let hashes = (0..<16).map { run in
            kept += (0..<8).map { Dictionary(uniqueKeysWithValues: (0...UInt64(run + $0)).map { ($0, run) }) }
            return Self.trace(1002, fault)
        }

        #expect(Set(hashes).count == 1 && kept.count == 128)
    }

    @Test func `other seeds and other faults make other traces`() {
        let traces = [1000, 1001].flatMap { seed in Self.faults.map { Self.trace(seed, $0) } }

        // Faults of different kinds may hit a call that handles them alike.
        #expect(Set(traces).count > traces.count / 2)
    }

    @Test func `the same decisions between threads make the same changes`() throws {
        let test = InterleavingCase(
            parts: [.writer([.durable, .ordered]), .reader(1), .checkpointer([.passive])], grain: .everything)
        let hashes = try (0..<2).map { _ in
            let explorer = InterleavingExplorer(test)
            for seed in UInt64(0)..<5 { try explorer.explore(seed: seed) }
            return explorer.traceHash
        }

        #expect(hashes[0] == hashes[1])
    }
}
