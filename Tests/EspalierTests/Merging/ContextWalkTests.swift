// Random walks of two and three contexts over one store: whatever they change, relate, delete, merge, refresh, lock,
// save and give up, what is stored follows from what each of them has done, from the delete rules and from the
// policies; nothing dangles, both sides of every relationship are equal, and a save that fails changes nothing.
//
// A walk is one seed, which says how many contexts there are, which store, which rules; each failure is told with the
// shortest walk of the same steps that was found to fail.

import TestSupport
import Testing

@Suite struct ContextWalkTests {
    private static let stepCount = campaignCount("ESPALIER_CONTEXT_STEPS", default: 300)
    private static let walkCount = campaignCount("ESPALIER_CONTEXT_WALKS", default: 36)
    /// Seeds of walks that have failed, each for another reason.
    private static let onceFailed: [UInt64] = [
        709_461, 729_896, 732_369, 752_145, 754_556, 901_465, 909_797, 914_569, 918_373, 921_137, 922_560, 925_501,
        954_425, 1_001_565, 1_016_744, 1_025_775, 1_045_637, 1_074_201,
    ]
    /// As many as can run at the same time.
    private static let parts = 0..<4
    /// After as many failures a part ends.
    private static let failureCountMax = campaignCount("ESPALIER_CONTEXT_FAILURES", default: 1)

    @Test(arguments: parts)
    func `contexts at random store what their changes, rules and policies say, and lose nothing`(part: Int) {
        let seed = testSeed(default: 140_000)
        var failureCount = 0
        for walk in stride(from: part, to: Self.walkCount, by: Self.parts.count) {
            let seed = seed &+ UInt64(walk)
            guard let failed = WalkRun(seed, Array(0..<Self.stepCount)).failure else { continue }
            let short = WalkRun.shortest(seed, Array(0...failed.step))
            Issue.record(
                """
                seed \(seed), step \(failed.step): \(failed.text)
                In short: \(short?.text ?? "")
                \(short?.log.joined(separator: "\n") ?? "")
                """)
            failureCount += 1
            if failureCount == Self.failureCountMax { return }
        }
    }

    @Test(arguments: onceFailed)
    func `walks that have failed once do not fail again`(seed: UInt64) {
        let failed = WalkRun(seed, Array(0..<300)).failure
        #expect(failed == nil, "seed \(seed), step \(failed?.step ?? 0): \(failed?.text ?? "")")
    }
}

/// One walk of some of its steps.
private struct WalkRun {
    struct Failure {
        let text: String
        let step: Int
        let log: [String]
        /// The failure without the names of beads.
        var kind: String { String(text.filter { $0.isLetter || $0 == "." }.prefix(48)) }
    }

    let failure: Failure?

    init(_ seed: UInt64, _ steps: [Int]) {
        var (last, log) = (0, [String]())
        do {
            var walk = try ContextWalk(seed: seed)
            defer { log = walk.log }
            for step in steps where walk.failure == nil {
                last = step
                try walk.go(step)
            }
            try walk.finish()
            failure = walk.failure.map { Failure(text: $0, step: last, log: walk.log) }
        } catch {
            failure = Failure(text: "\(error)", step: last, log: log)
        }
    }

    /// The same failure with as few steps as are found by leaving out parts of them.
    static func shortest(_ seed: UInt64, _ steps: [Int]) -> Failure? {
        guard var best = WalkRun(seed, steps).failure else { return nil }
        var (steps, size, triesLeft) = (steps, steps.count / 2, 300)
        while size > 0 {
            var (start, isShorter) = (0, false)
            while start < steps.count, triesLeft > 0 {
                triesLeft -= 1
                let fewer = Array(steps[..<start] + steps[min(start + size, steps.count)...])
                if let failure = WalkRun(seed, fewer).failure, failure.kind == best.kind {
                    (steps, best, isShorter) = (fewer, failure, true)
                } else {
                    start += size
                }
            }
            if size > 1 || !isShorter || triesLeft == 0 { size /= 2 }
        }
        return best
    }
}
