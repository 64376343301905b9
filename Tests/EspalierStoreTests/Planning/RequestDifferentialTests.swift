// Random requests to stores of random models with random rows, answered by a B-tree store, by a store of another kind
// (in memory, a binary file, an XML file, the data of an application) and by a naive evaluator that shares nothing with
// them but the requests. Models have attributes of all types, composites, derived and unique values, and ordered lists.
//
// `ESPALIER_REQUESTS` is the number of requests of all models together, and `ESPALIER_REQUEST_MODELS` that of models.

import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct RequestDifferentialTests {
    /// The plans of all models.
    private struct Plans {
        var modelCount = 0
        /// The number of models of which at least one plan uses an index.
        var indexedModelCount = 0
        var count = 0
        var indexCount = 0
    }

    private static let modelCount = campaignCount("ESPALIER_REQUEST_MODELS", default: 20)
    private static let requestCount = campaignCount("ESPALIER_REQUESTS", default: 20_000)
    /// The number of times that the rows of a model change.
    private static let changeCount = 3
    private static let plans = Mutex(Plans())

    @Test(arguments: 0..<modelCount)
    func `random requests have the same answers from stores of all kinds and from a naive evaluator`(
        number: Int
    ) throws {
        let first = testSeed(default: 131_900)
        let seed = first &+ UInt64(number)
        if number == 0 { print("ESPALIER_SEED=\(first)") }
        var random = SeededGenerator(seed: seed)
        let world = try RequestWorld(&random)
        let count = max(1, Self.requestCount / Self.modelCount / (Self.changeCount + 1))
        var (partialCount, plannedCount, indexCount) = (0, 0, 0)
        for phase in 0...Self.changeCount {
            if phase > 0 { try world.change(&random) }
            var question = RandomQuestion(world, random)
            for step in 0..<count {
                let outcome = try question.ask(explains: step % 10 == 0)
                if let problem = outcome.problem {
                    Issue.record("seed \(seed), request \(step) after \(phase) changes: \(problem)")
                    return
                }
                if outcome.matchCount > 0, outcome.matchCount < outcome.allCount { partialCount += 1 }
                guard let usesIndex = outcome.usesIndex else { continue }
                plannedCount += 1
                if usesIndex { indexCount += 1 }
            }
            random = question.random
        }
        // The comparison has a value only if conditions find some rows and not all.
        #expect(partialCount > count / 2, "seed \(seed): \(partialCount) conditions find a part of the rows")
        let report = try world.treeStore.check()
        #expect(report.isOK, "seed \(seed): \(report.findings)")
        try world.treeStore.close()
        expectIndexes(plannedCount, indexCount)
    }

    /// Adds the plans of a model; the last model of a run expects that indexes are compared with scans.
    ///
    /// One model may have no index that costs less than reading its few rows, but not one of four.
    private func expectIndexes(_ count: Int, _ indexCount: Int) {
        let all = Self.plans.withLock { plans -> Plans? in
            plans.modelCount += 1
            plans.indexedModelCount += indexCount > 0 ? 1 : 0
            plans.count += count
            plans.indexCount += indexCount
            guard plans.modelCount == Self.modelCount else { return nil }
            defer { plans = Plans() }
            return plans
        }
        guard let all else { return }
        let text = "\(all.indexCount) of \(all.count) plans use an index, in \(all.indexedModelCount) of the models"
        print("RequestDifferentialTests: \(text)")
        // A campaign of few requests or few models has no such sum.
        guard all.modelCount >= 8, all.count >= 50 * all.modelCount else { return }
        #expect(all.indexedModelCount * 4 > all.modelCount * 3 && all.indexCount > all.modelCount, "\(text)")
    }
}
