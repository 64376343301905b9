// Random requests to stores of random models with random rows, answered by a B-tree store, by a store of another kind
// (in memory, a binary file, an XML file, the data of an application) and by a naive evaluator that shares nothing with
// them but the requests. Models have attributes of all types, composites, derived and unique values, and ordered lists.
//
// `ESPALIER_REQUESTS` is the number of requests of all models together, and `ESPALIER_REQUEST_MODELS` that of models.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct RequestDifferentialTests {
    private static let modelCount = campaignCount("ESPALIER_REQUEST_MODELS", default: 20)
    private static let requestCount = campaignCount("ESPALIER_REQUESTS", default: 20_000)
    /// The number of times that the rows of a model change.
    private static let changeCount = 3

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
        // The comparison has a value only if conditions find some rows and not all, and if indexes are used.
        #expect(partialCount > count / 2, "seed \(seed): \(partialCount) conditions find a part of the rows")
        let plans = "\(indexCount) of \(plannedCount) plans use an index"
        // A model may have no index that costs less than reading its few rows: 72 plans of one used none.
        #expect(indexCount > 0 || plannedCount < 100, "seed \(seed): \(plans)")
        let report = try world.treeStore.check()
        #expect(report.isOK, "seed \(seed): \(report.findings)")
        try world.treeStore.close()
    }
}
