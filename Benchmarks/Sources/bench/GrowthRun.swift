// bench --growth: the cost of operations of the object layer as stores and contexts grow, and how fast it grows.
//
//   bench --growth [--large] [--only TEXT] [--markdown FILE]
//
// Invariants
//   1. Times are processor time of this process. Each operation runs three times, each with a context of its own, and
//      the least time counts; up to nine times while it seems to grow too fast. The sizes take turns in each round, so
//      that a processor that becomes slower for a while slows all sizes of an operation, or one round.
//   2. The exponent of a decade is the decimal logarithm of the ratio of the times of the whole operation, for ten
//      times as many objects. The expected exponent is 0 for an operation on one object among many, and 1 for one on
//      all of them.
//   3. An operation that would take longer than `secondsMax` is not run, and fails.
//   4. Controls are plain Swift on as many objects, without the library, in the same run: memory that outgrows the
//      caches of the processor makes them grow faster than their steps, too. An operation grows too fast if it exceeds
//      its expected exponent by more than 0.15, and by more than the greatest excess of a control that does the same
//      kind of work (`GrowthCase.Work`). No control excuses an operation of another kind.
//   5. Memory is the growth of the process from the start of the operation to its peak, the least of all its runs. A
//      page that a store reads into its cache counts for the operation that reads it first.

import BenchKit
import Espalier
import Foundation

/// An operation that is measured.
struct GrowthCase: Sendable {
    /// The kind of work that makes an operation grow faster than its steps, if any does.
    enum Work {
        /// None: the operation touches little memory, whatever the number of objects.
        case steps
        /// It makes or visits all objects.
        case objects
        /// It fills or searches a hash table of all objects.
        case tables
        /// It reads the rows of all objects.
        case rows
        /// It reads or writes a file that is as large as a store of all objects.
        case file
    }

    let name: String
    /// The expected exponent, and its reason if it is neither 0 nor 1.
    let power: Double
    let reason: String
    /// The kind of the operation, and of the controls with which it is compared.
    let work: Work
    /// Whether it is plain Swift, for comparison.
    var isControl = false
    /// Prepares the operation with a store and returns it.
    let prepare: @Sendable (PaperStore) throws -> () throws -> Void

    /// - Parameter work: `nil` = `.steps` for an operation on one object among all, and `.objects` for one on all.
    init(
        _ name: String, _ power: Double, reason: String = "", work: Work? = nil,
        _ prepare: @escaping @Sendable (PaperStore) throws -> () throws -> Void
    ) {
        (self.name, self.power, self.reason, self.prepare) = (name, power, reason, prepare)
        self.work = work ?? (power < 1 ? .steps : .objects)
    }
}

/// The costs of one operation at each size.
private struct GrowthResult {
    let item: GrowthCase
    /// Seconds by decade; `nil`: not run.
    var seconds: [Double?]
    /// Bytes at the peak, by decade.
    var peaks: [Int?]

    init(item: GrowthCase, sizeCount: Int) {
        self.item = item
        seconds = Array(repeating: nil, count: sizeCount)
        peaks = Array(repeating: nil, count: sizeCount)
    }

    /// Adds a run with the size at `position`: the least time and the least peak count.
    mutating func add(_ seconds: Double, _ peak: Int, at position: Int) {
        self.seconds[position] = min(seconds, self.seconds[position] ?? seconds)
        peaks[position] = min(peak, peaks[position] ?? peak)
    }

    /// The greatest exponent of the decades whose times are long enough to measure.
    var exponent: Double {
        var greatest = 0.0
        for (few, many) in zip(seconds, seconds.dropFirst()) {
            guard let few, let many else { return .infinity }
            // Below 200 us the fixed cost of the operation dominates.
            if many > 0.0002 { greatest = max(greatest, log10(many / max(few, 0.00001))) }
        }
        return greatest
    }

    /// The exponent of the last decade in memory; 0 below 8 MB, where the allocator's blocks dominate.
    var memoryExponent: Double {
        guard peaks.count > 1, let many = peaks[peaks.count - 1], let few = peaks[peaks.count - 2], many > 8 << 20
        else {
            return 0
        }
        return log10(Double(many) / Double(max(few, 1 << 16)))
    }

    /// How much faster than expected the operation grows.
    var excess: Double { exponent - item.power }

    /// The excess that needs no reason: an exponent of 1.15 where 1 is expected.
    static let excessMax = 0.15
    /// The difference between two runs of a control, within which an operation is no faster than it.
    static let controlSpread = 0.05

    /// Whether time or memory grow faster than expected, and faster than the controls of the same kind.
    func isTooFast(_ controls: [GrowthResult]) -> Bool {
        let excesses = controls.filter { $0.item.work == item.work }.map(\.excess)
        let allowed = max(Self.excessMax, (excesses.max() ?? 0) + Self.controlSpread)
        return excess > allowed || memoryExponent > max(item.power, 1) + 0.35
    }
}

struct GrowthRun {
    let counts: [Int]
    let only: [String]
    let folder: URL
    private static let secondsMax = 40.0
    private static let roundCount = 3
    private static let roundCountMax = 9

    /// Measures all selected operations, prints the table and returns it.
    func run() throws -> String {
        let stores = try counts.map { try PaperStore($0, in: folder) }
        var results: [GrowthResult] = []
        for item in GrowthCases.all {
            guard only.isEmpty || item.isControl || only.contains(where: { item.name.contains($0) }) else { continue }
            results.append(try measure(item, stores))
        }
        for store in stores { try store.close() }
        let table = markdown(results, controls: results.filter { $0.item.isControl && $0.excess.isFinite })
        print(table)
        return table
    }

    private func measure(_ item: GrowthCase, _ stores: [PaperStore]) throws -> GrowthResult {
        var result = GrowthResult(item: item, sizeCount: stores.count)
        for round in 0..<Self.roundCountMax {
            // A size that was not run stays too large, however often the others run.
            let seemsTooFast = result.excess.isFinite && result.excess > GrowthResult.excessMax
            if round >= Self.roundCount, !seemsTooFast { break }
            for (position, store) in stores.enumerated() where round > 0 || canRun(result, at: position) {
                guard round == 0 || result.seconds[position] != nil else { continue }
                store.forgetContexts()
                let body = try item.prepare(store)
                try MemoryRun.forgetPeak()
                let before = try MemoryRun.residentByteCount("VmRSS:")
                let start = clock()
                try Self.operate(body)
                let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
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

    private func markdown(_ results: [GrowthResult], controls: [GrowthResult]) -> String {
        var lines = [
            "| operation | " + counts.map { "\($0), ms" }.joined(separator: " | ")
                + " | exponent | expected | peak at \(counts.last ?? 0), MB | |",
            "|---|" + counts.map { _ in "---:|" }.joined() + "---:|---:|---:|---|",
        ]
        for result in results {
            let times = result.seconds.map { $0.map { Self.text($0 * 1000) } ?? "not run" }
            let exponent = result.exponent.isFinite ? Self.text(result.exponent) : "too long"
            let peak = (result.peaks.last ?? nil).map { Self.text(Double($0) / 1_048_576) } ?? "not run"
            lines.append(
                "| \(result.item.name) | \(times.joined(separator: " | ")) | \(exponent) | \(result.item.power) | "
                    + "\(peak) | "
                    + "\(remark(result, controls)) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func remark(_ result: GrowthResult, _ controls: [GrowthResult]) -> String {
        if result.isTooFast(controls) { return "**grows too fast** \(result.item.reason)" }
        guard result.item.reason.isEmpty, result.excess > GrowthResult.excessMax, !result.item.isControl else {
            return result.item.reason
        }
        return "no faster than the controls of \(result.item.work)"
    }

    private static func text(_ number: Double) -> String {
        String(format: number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number)
    }
}
