// Interleavings of begin-read, page read, commit, checkpoint step, slot write, recycling, snapshot expiry and end-read.
//
// Each case runs under all schedules up to a number of preemptions, to which `ESPALIER_PREEMPTIONS` adds, and then
// under random schedules of finer grain (`ESPALIER_SCHEDULES` says how many). A finding names the schedule that leads
// to it.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct InterleavingTests {
    /// A case with the name under which it is reported.
    struct Named: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let test: InterleavingCase
        let preemptionMax: Int

        init(_ name: String, preemptionMax: Int, _ test: InterleavingCase) {
            (testDescription, self.test, self.preemptionMax) = (name, test, preemptionMax)
        }
    }

    private static let cases = [
        Named(
            "a reader, a writer, a checkpoint", preemptionMax: 1,
            InterleavingCase(
                parts: [.reader(1), .writer([.durable]), .checkpointer([.passive])], grain: .locks)),
        Named(
            "a commit and two checkpoints", preemptionMax: 1,
            InterleavingCase(
                parts: [.writer([.ordered]), .checkpointer([.passive]), .checkpointer([.passive])], grain: .locks)),
        Named(
            "two commits that share a sync", preemptionMax: 1,
            InterleavingCase(parts: [.writer([.durable]), .writer([.durable])], grain: .locks)),
        Named(
            "two readers, a writer, two checkpoints", preemptionMax: 0,
            InterleavingCase(
                parts: [
                    .reader(1), .reader(1), .writer([.durable]), .checkpointer([.passive]), .checkpointer([.passive]),
                ])),
        Named(
            "a reader, two commits, two checkpoints, recycled segments", preemptionMax: 0,
            InterleavingCase(
                parts: [
                    .writer([.durable, .ordered]), .reader(1), .checkpointer([.passive]), .checkpointer([.passive]),
                ],
                valuePageCount: 5, commitsBefore: 2, isLogCapped: true)),
        Named(
            "old snapshots given up at the log's cap", preemptionMax: 1,
            InterleavingCase(
                parts: [.reader(1), .writer([.durable, .durable, .ordered])], grain: .everything, valuePageCount: 5,
                isLogCapped: true)),
        Named(
            "two writers, one gives up, checkpoints that complete", preemptionMax: 0,
            InterleavingCase(
                parts: [.writer([.durable]), .writer([nil, .ordered]), .checkpointer([.full, .truncate])],
                commitsBefore: 2)),
    ]

    @Test(arguments: cases)
    func `in every order of steps readers see one commit and files keep what was acknowledged`(_ named: Named) throws {
        let all = InterleavingExplorer(named.test, imageShare: 4)
        let preemptionMax = named.preemptionMax + campaignCount("ESPALIER_PREEMPTIONS", default: 0)
        let isWhole = try all.exploreAll(preemptionMax: preemptionMax)

        var test = named.test
        test.grain = .everything
        let random = InterleavingExplorer(test, imageShare: 4)
        let seed = testSeed(default: 300)
        for number in 0..<UInt64(campaignCount("ESPALIER_SCHEDULES", default: 30)) where random.findings.count < 3 {
            try random.explore(seed: seed &* 1_000_003 &+ number)
        }

        for (explorer, kind) in [(all, "\(preemptionMax) preemptions"), (random, "random, seed \(seed)")] {
            print(
                "\(named.testDescription), \(kind): \(explorer.scheduleCount) schedules of up to",
                "\(explorer.stepCountMax) steps, \(explorer.imageCount) images,",
                "\(explorer.expiredCount) snapshots given up")
            #expect(explorer.findings == [])
        }
        #expect(isWhole)
    }

    @Test func `snapshots are given up in some orders, and only where the log is capped`() throws {
        for isLogCapped in [false, true] {
            let test = InterleavingCase(
                parts: [.reader(1), .writer([.durable, .durable, .ordered])], valuePageCount: 5,
                isLogCapped: isLogCapped)
            let explorer = InterleavingExplorer(test, imageShare: 64)
            _ = try explorer.exploreAll(preemptionMax: 1)

            #expect(explorer.findings == [])
            #expect((explorer.expiredCount > 0) == isLogCapped)
        }
    }

    @Test func `a schedule that was written down is repeated call by call`() throws {
        let test = InterleavingCase(
            parts: [.writer([.durable, .ordered]), .reader(1), .checkpointer([.passive])], grain: .everything)
        let first = InterleavingExplorer(test)
        try first.explore(seed: 4)
        let second = InterleavingExplorer(test)
        try second.explore(schedule: first.schedule)

        #expect(first.schedule.contains("*") && second.schedule == first.schedule)
        #expect(second.traceHash == first.traceHash)
        #expect(second.findings == [])
    }

    @Test func `threads that wait for each other are a deadlock, and say what they did last`() {
        let threads = SteppedThreads { _ in true }
        let outcome = CurrentSchedule.$value.withValue(threads) {
            let (one, two) = (Monitor(), Monitor())
            let bodies: [@Sendable () -> Void] = [
                { one.withLock { two.withLock {} } }, { two.withLock { one.withLock {} } },
            ]
            // The first thread acquires one lock, then the second acquires the other; after that neither can continue.
            return threads.run(bodies, by: ScheduleSearch(text: "0*2 1*9"))
        }

        guard case .deadlock(let story) = outcome else {
            Issue.record("the run ended")
            return
        }
        #expect(story.contains("monitor"))
    }
}
