// bench --growth: what operations of the object layer cost as stores and contexts grow, and how fast that grows.
//
//   bench --growth [--large] [--only TEXT] [--markdown FILE]
//
// Invariants
//   1. Times are processor time of this process; each operation runs three times with a context of its own, and the
//      least counts.
//   2. The exponent of a decade is the logarithm of how many times longer the whole operation takes for ten times as
//      many objects. An operation on one object among many is expected at 0, one on all of them at 1.
//   3. An operation that would take longer than `secondsMax` is not run, and fails.

import BenchKit
import Espalier
import Foundation

/// An operation that is measured.
struct GrowthCase: Sendable {
    let name: String
    /// The exponent that is expected, and why if it is neither 0 nor 1.
    let power: Double
    let reason: String
    /// Prepares the operation with a store and gives it out.
    let prepare: @Sendable (PaperStore) throws -> () throws -> Void

    init(
        _ name: String, _ power: Double, reason: String = "",
        _ prepare: @escaping @Sendable (PaperStore) throws -> () throws -> Void
    ) {
        (self.name, self.power, self.reason, self.prepare) = (name, power, reason, prepare)
    }
}

/// What one operation took at each size.
private struct GrowthResult {
    let item: GrowthCase
    /// Seconds by decade; `nil`: not run.
    var seconds: [Double?] = []

    /// The greatest exponent of a decade in which there was something to be measured.
    var exponent: Double {
        var greatest = 0.0
        for (few, many) in zip(seconds, seconds.dropFirst()) {
            guard let few, let many else { return .infinity }
            // Below 200 us most is what an operation costs with any store.
            if many > 0.0002 { greatest = max(greatest, log10(many / max(few, 0.00001))) }
        }
        return greatest
    }

    /// Caches of the processor and the depth of trees count as well.
    var isTooFast: Bool { exponent > item.power + 0.35 }
}

struct GrowthRun {
    let counts: [Int]
    let only: [String]
    let folder: URL
    private static let secondsMax = 40.0

    /// Measures all, prints the table and returns it.
    func run() throws -> String {
        var results: [GrowthResult] = []
        for item in GrowthCases.all where only.isEmpty || only.contains(where: { item.name.contains($0) }) {
            results.append(GrowthResult(item: item))
        }
        for count in counts {
            let store = try PaperStore(count, in: folder)
            for position in results.indices { try measure(&results[position], store) }
            try store.close()
        }
        let table = markdown(results)
        print(table)
        return table
    }

    private func measure(_ result: inout GrowthResult, _ store: PaperStore) throws {
        if let last = result.seconds.last {
            guard let last, last * 10 < Self.secondsMax || result.seconds.count < 2 else {
                return result.seconds.append(nil)
            }
            let growth = result.seconds.count > 1 ? last / max(result.seconds[0] ?? last, 0.00001) : 10
            guard last * growth < Self.secondsMax else { return result.seconds.append(nil) }
        }
        var least = Double.infinity
        for _ in 0..<3 {
            store.forgetContexts()
            let body = try result.item.prepare(store)
            let start = clock()
            try body()
            least = min(least, Double(clock() - start) / Double(CLOCKS_PER_SEC))
        }
        result.seconds.append(least)
    }

    private func markdown(_ results: [GrowthResult]) -> String {
        var lines = [
            "| operation | " + counts.map { "\($0), ms" }.joined(separator: " | ")
                + " | exponent | expected | |",
            "|---|" + counts.map { _ in "---:|" }.joined() + "---:|---:|---|",
        ]
        for result in results {
            let times = result.seconds.map { $0.map { Self.text($0 * 1000) } ?? "not run" }
            let exponent = result.exponent.isFinite ? Self.text(result.exponent) : "too long"
            lines.append(
                "| \(result.item.name) | \(times.joined(separator: " | ")) | \(exponent) | \(result.item.power) | "
                    + "\(result.isTooFast ? "**grows too fast** " : "")\(result.item.reason) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func text(_ number: Double) -> String {
        String(format: number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number)
    }
}
