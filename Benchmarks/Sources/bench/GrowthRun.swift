// bench --growth: the cost of operations of the object layer as stores and contexts grow, and how fast it grows.
//
//   bench --growth [--large] [--only TEXT] [--markdown FILE]
//
// Invariants
//   1. Times are processor time of this process. Each operation runs three times, each with a context of its own, and
//      the least time counts; up to nine times while it seems to grow too fast. The sizes take turns in each round, so
//      that a processor that becomes slower for a while slows all sizes of an operation, or one round.
//   2. The expected exponent is 0 for an operation on one object among many, and 1 for one on all of them, or that of
//      n log n if it sorts them. An operation of exponent 0 runs again and again until its runs have taken
//      `secondsOfRepeats` together, the first one too: a pass over all objects that only the first run makes counts.
//   3. An operation that would take longer than `secondsMax` is not run, and grows too fast. One that takes longer than
//      `secondsOfRounds` runs once.
//   4. An operation that throws has no line; the others run, and the run fails at its end.
//   5. Controls are plain Swift on as many objects, without the library, in the same run: memory that outgrows the
//      caches of the processor makes them grow faster than their steps, too (`GrowthResult`).
//   6. Memory is the growth of the process from the start of the operation to its peak, the least of all its runs. A
//      page that a store reads into its cache counts for the operation that reads it first.

import BenchKit
import Espalier
import Foundation

struct GrowthRun {
    let counts: [Int]
    let only: [String]
    let folder: URL
    private static let secondsMax = 40.0
    private static let secondsOfRounds = 10.0
    private static let roundCount = 3
    private static let roundCountMax = 9
    private static let secondsOfRepeats = 0.001
    private static let repeatCountMax = 1 << 22

    /// Measures all selected operations, prints the table and returns it.
    func run() throws -> GrowthTable {
        let stores = try counts.map { try PaperStore($0, in: folder) }
        var (results, failures): ([GrowthResult], [String]) = ([], [])
        for item in GrowthCases.all {
            guard only.isEmpty || item.isControl || only.contains(where: { item.name.contains($0) }) else { continue }
            do { results.append(try measure(item, stores)) } catch { failures.append("\(item.name): \(error)") }
        }
        for store in stores { try store.close() }
        let table = GrowthTable(counts: counts, results: results, failures: failures)
        print(table.markdown)
        return table
    }

    private func measure(_ item: GrowthCase, _ stores: [PaperStore]) throws -> GrowthResult {
        var result = GrowthResult(item: item, counts: stores.map(\.count))
        for round in 0..<Self.roundCountMax {
            // A size that was not run stays too large, however often the others run.
            let seemsTooFast = result.excess.isFinite && result.excess > GrowthResult.excessMax
            if round >= Self.roundCount, !seemsTooFast { break }
            if result.seconds.contains(where: { $0 ?? 0 > Self.secondsOfRounds }) { break }
            for (position, store) in stores.enumerated() where round > 0 || canRun(result, at: position) {
                guard round == 0 || result.seconds[position] != nil else { continue }
                store.forgetContexts()
                let body = try item.prepare(store)
                try MemoryRun.forgetPeak()
                let before = try MemoryRun.residentByteCount("VmRSS:")
                let seconds = try Self.seconds(of: body, isRepeated: item.isRepeated)
                result.add(seconds, max(0, try MemoryRun.peakByteCount() - before), at: position)
            }
            for store in stores { store.forgetContexts() }
        }
        return result
    }

    /// Whether the times of the smaller sizes let expect that this one takes less than `secondsMax`.
    private func canRun(_ result: GrowthResult, at position: Int) -> Bool {
        guard position > 0 else { return true }
        guard let last = result.seconds[position - 1] else { return false }
        let growth = position > 1 ? last / max(result.seconds[position - 2] ?? last, 0.00001) : 10
        return last * growth < Self.secondsMax
    }

    /// The processor time of one run of `body`: the mean of many, if it is repeated.
    private static func seconds(of body: () throws -> Void, isRepeated: Bool) throws -> Double {
        var (seconds, count, batch) = (0.0, 0, 1)
        repeat {
            let start = clock()
            for _ in 0..<batch { try operate(body) }
            seconds += Double(clock() - start) / Double(CLOCKS_PER_SEC)
            (count, batch) = (count + batch, 2 * batch)
        } while isRepeated && seconds < secondsOfRepeats && count < repeatCountMax
        return seconds / Double(count)
    }

    /// Calls `body`: a function of its own, so that a profiler can tell the operation from what prepares it.
    @inline(never)
    private static func operate(_ body: () throws -> Void) throws { try body() }

    /// Does the operation called `name` once, with a store of `count` papers that stays in `folder`.
    static func operate(_ name: String, _ count: Int, in folder: URL) throws {
        guard let item = GrowthCases.all.first(where: { $0.name == name }) else {
            throw UsageError("no operation is called \"\(name)\"")
        }
        let store = try PaperStore(count, of: folder)
        try operate(item.prepare(store))
    }
}
