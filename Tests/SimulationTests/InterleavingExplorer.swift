// Runs an interleaving case under one schedule after another, and judges each.
//
// After each schedule these hold: Every snapshot showed its own commit alone. The live store, the closed store and the
// stores that a kill leaves hold the newest commit, those that a power loss leaves at least the newest durable one;
// kills and power losses hit moments of the run and its end, and every store passes its check. The order of writes
// broke none of the rules F1 to F4.

import EspalierEngine
import Synchronization
import TestSupport

// SAFETY: @unchecked Sendable, because one thread uses it, and the stepped threads, of which one runs at a time.
/// Explores the schedules of one case.
final class InterleavingExplorer: @unchecked Sendable {
    /// The files that a kill and a power loss leave at one moment of a run.
    private struct Image {
        let killed: SimulatedFileSystem
        let powerless: SimulatedFileSystem
        let acknowledged: UInt64
        let durable: UInt64
    }

    private let test: InterleavingCase
    private let threads: SteppedThreads
    private let imageShare: Int
    private var seenImages: Set<UInt64> = []
    private var seenEnds: Set<UInt64> = []
    private(set) var scheduleCount = 0
    private(set) var imageCount = 0
    private(set) var expiredCount = 0
    private(set) var stepCountMax = 0
    /// The schedule of the last run.
    private(set) var schedule = ""
    /// A hash over every call of every run.
    private(set) var traceHash: UInt64 = 0
    /// The findings, each with the schedule that leads to it.
    private(set) var findings: [String] = []

    /// - Parameter imageShare: one state of the files in this many is judged after a kill and a power loss.
    init(_ test: InterleavingCase, imageShare: Int = 1) {
        self.test = test
        self.imageShare = imageShare
        threads = SteppedThreads { test.isStep($0) }
    }

    /// Runs every schedule with at most `preemptionMax` preemptions, but stops after `scheduleMax` schedules or three
    /// findings.
    ///
    /// - Returns: Whether it ran all schedules.
    func exploreAll(preemptionMax: Int, scheduleMax: Int = .max) throws -> Bool {
        let search = ScheduleSearch(preemptionMax: preemptionMax, twins: test.twins)
        var left = scheduleMax
        repeat {
            guard left > 0, findings.count < 3 else { return false }
            left -= 1
            try explore(search)
        } while search.advance()
        return true
    }

    /// Runs one random schedule.
    func explore(seed: UInt64) throws {
        let search = ScheduleSearch(seed: seed)
        try explore(search)
    }

    /// Runs the schedule that a finding names.
    func explore(schedule: String) throws { try explore(ScheduleSearch(text: schedule)) }

    /// Runs one schedule and judges it.
    private func explore(_ search: ScheduleSearch) throws {
        scheduleCount += 1
        let system = SimulatedFileSystem(seed: 1)
        let ledger = InterleavingLedger()
        let images = Mutex<[Image]>([])
        try CurrentSchedule.$value.withValue(threads) {
            let database = try Database.open(InterleavingRun.path, in: system, options: test.options)
            let run = InterleavingRun(test: test, database: database, ledger: ledger) { [threads] in
                threads.step(.named($0))
            }
            for left in (0..<test.commitsBefore).reversed() { try run.write(left > 0 ? .durable : .ordered) }
            system.beforeEachChange { [self] _ in
                if let image = image(of: system, ledger, share: imageShare) { images.withLock { $0.append(image) } }
            }
            system.beforeEachCall { [threads] in threads.step(.file($0, $1)) }
            let outcome = threads.run(test.parts.map(run.body), by: search)
            system.beforeEachCall(nil)
            system.beforeEachChange(nil)
            stepCountMax = max(stepCountMax, threads.trace.count)
            switch outcome {
            case .deadlock(let threads): ledger.report("deadlock: \(threads)")
            case .finished: try judgeEnd(of: run, system)
            }
        }
        schedule = search.text
        traceHash = traceHash &* 31 &+ system.traceHash
        for image in images.withLock({ $0 }) { judge(image, ledger) }
        if search.hasDiverged { ledger.report("the run is not the one it repeats") }
        expiredCount += ledger.state.withLock { $0.expiredCount }
        let problems = ledger.problems + system.violations
        if !problems.isEmpty { findings.append("schedule \"\(schedule)\": \(problems.prefix(3))") }
    }

    /// An image of the current files; `nil` if an earlier state equals them or the share leaves them out.
    ///
    /// - Parameter share: one state in this many gives an image.
    private func image(of system: SimulatedFileSystem, _ ledger: InterleavingLedger, share: Int) -> Image? {
        let (acknowledged, durable) = ledger.state.withLock { ($0.acknowledged, $0.durable) }
        let hash = (system.changeHash ^ acknowledged &* 31 ^ durable) &* 0x9E37_79B9_7F4A_7C15
        guard hash >> 32 % UInt64(share) == 0, seenImages.insert(hash).inserted else { return nil }
        return Image(
            killed: system.afterKill(), powerless: system.afterPowerLoss(seed: hash), acknowledged: acknowledged,
            durable: durable)
    }

    // MARK: Judging

    /// Judges the open store; closes it and judges it again if no earlier schedule has led to the same files.
    private func judgeEnd(of run: InterleavingRun, _ system: SimulatedFileSystem) throws {
        let ledger = run.ledger
        let newest = ledger.acknowledged
        let isNew = seenEnds.insert(system.changeHash).inserted
        look(at: run.database, ledger, newest...newest, "at the end", checks: isNew)
        if run.database.statistics.snapshotCount != 0 { ledger.report("a snapshot is left on the board") }
        // Cut the power first: then closing costs no time.
        guard isNew else { return system.cutPower() }
        if let image = image(of: system, ledger, share: 1) { judge(image, ledger) }
        try run.database.close()
        judge(system, ledger, durable: newest, "after closing")
    }

    private func judge(_ image: Image, _ ledger: InterleavingLedger) {
        imageCount += 2
        judge(image.killed, ledger, durable: image.acknowledged, "after a kill")
        judge(image.powerless, ledger, durable: image.durable, "after a power loss")
    }

    /// Opens the store and expects transaction `durable` or a later one.
    private func judge(
        _ system: SimulatedFileSystem, _ ledger: InterleavingLedger, durable: UInt64, _ when: String
    ) {
        do throws(StorageError) {
            let database = try Database.open(InterleavingRun.path, in: system, options: test.options)
            look(at: database, ledger, durable...ledger.acknowledged, when, checks: true)
            try database.close()
        } catch {
            ledger.report("\(error) \(when)")
        }
        if !system.violations.isEmpty { ledger.report("\(system.violations) \(when)") }
    }

    private func look(
        at database: Database, _ ledger: InterleavingLedger, _ expected: ClosedRange<UInt64>, _ when: String,
        checks: Bool
    ) {
        do throws(StorageError) {
            let read = try database.beginRead()
            if !expected.contains(read.transactionID) {
                ledger.report("transaction \(read.transactionID) instead of \(expected) \(when)")
            }
            try InterleavingRun(test: test, database: database, ledger: ledger, step: { _ in }).compare(read)
            guard checks else { return }
            let check = try database.check()
            if !check.isOK { ledger.report("\(check.findings) \(when)") }
        } catch {
            ledger.report("\(error) \(when)")
        }
    }
}
