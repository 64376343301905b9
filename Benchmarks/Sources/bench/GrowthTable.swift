// The table of `bench --growth`: times, exponents by decade and peaks of each operation, with the verdicts.

import Foundation

/// The results of a run as a table in Markdown.
struct GrowthTable {
    let counts: [Int]
    let results: [GrowthResult]
    /// The operations that have thrown, with their errors.
    let failures: [String]

    private var controls: [GrowthResult] { results.filter { $0.item.isControl && $0.excess.isFinite } }

    /// The operations that grow too fast, and those that have thrown.
    var problems: [String] {
        let controls = controls
        let tooFast = results.filter { !$0.item.isControl && $0.verdict(controls) == .tooFast }
        return tooFast.map { "\($0.item.name) grows too fast" } + failures
    }

    /// The lines of the table.
    var markdown: String {
        var titles = ["operation"]
        titles += counts.map { "\($0), ms" }
        titles += zip(counts, counts.dropFirst()).map { "\($0) to \($1)" }
        titles.append("expected")
        titles += counts.map { "\($0), MB" }
        titles.append("")
        let columns = titles.dropFirst().dropLast().map { _ in "---:|" }.joined()
        let controls = controls
        var lines = ["| \(titles.joined(separator: " | ")) |", "|---|\(columns)---|"]
        lines += results.map { line($0, controls) }
        if !failures.isEmpty { lines.append("") }
        lines += failures.map { "* **failed** \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ result: GrowthResult, _ controls: [GrowthResult]) -> String {
        let times = result.seconds.map { $0.map { Self.text($0 * 1000) } ?? "not run" }
        let exponents = result.exponents.map { $0.map { $0.isFinite ? Self.text($0) : "too long" } ?? "short" }
        let peaks = result.peaks.map { $0.map { Self.text(Double($0) / 1_048_576) } ?? "not run" }
        var cells = [result.item.name]
        cells += times
        cells += exponents
        cells.append(result.item.sorts ? "n log n" : Self.text(result.item.power))
        cells += peaks
        cells.append(remark(result, controls))
        return "| " + cells.joined(separator: " | ") + " |"
    }

    private func remark(_ result: GrowthResult, _ controls: [GrowthResult]) -> String {
        let item = result.item
        switch result.verdict(controls) {
        case .expected: return item.reason
        case .excused(let exponent):
            let reason = item.reason.isEmpty ? item.work.reason : item.reason
            return "no faster than the controls of \(item.work), \(Self.text(exponent)): \(reason)"
        case .tooFast: return item.isControl ? item.reason : "**grows too fast** \(item.reason)"
        }
    }

    private static func text(_ number: Double) -> String {
        // A call of less than a microsecond has digits that a table of milliseconds must not lose.
        let digits = number != 0 && abs(number) < 0.01 ? "%.6f" : abs(number) < 10 ? "%.2f" : "%.1f"
        return String(format: abs(number) < 100 ? digits : "%.0f", number)
    }
}
