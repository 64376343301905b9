// The table, as text for a terminal, as Markdown and as JSON.

package import Foundation

/// All results of a run, with what is needed to judge them.
package struct Report {
    /// Date, commit, machine and peers.
    package let environment: [(name: String, value: String)]
    /// The measured lines in order.
    package var results: [Line.Result] = []

    /// An empty report.
    package init(environment: [(name: String, value: String)]) { self.environment = environment }

    private var contenderNames: [String] {
        var names: [String] = []
        for figure in results.flatMap(\.figures) where !names.contains(figure.name) { names.append(figure.name) }
        return names
    }

    /// The table in Markdown: microseconds per operation, then how many times faster the first contender is.
    package var markdown: String {
        let names = contenderNames
        var lines = environment.map { "* \($0.name): \($0.value)" }
        lines.append("")
        lines.append(
            "| line | " + names.map { "\($0) us/op" }.joined(separator: " | ")
                + names.dropFirst().map { " | \($0) ÷ \(names[0])" }.joined() + " | spread | made equal by |")
        lines.append("|---|" + String(repeating: "---:|", count: names.count * 2) + "---|")
        for result in results {
            let medians = names.map { name in
                result.figures.first { $0.name == name }.map { microseconds($0.samples.median) } ?? "–"
            }
            let ratios = names.dropFirst().map { result.ratio(to: $0).map { String(format: "%.2f", $0) } ?? "–" }
            let spread = result.figures.first.map { String(format: "%.0f %%", $0.samples.spread * 100) } ?? ""
            lines.append(
                "| \(result.name) | " + (medians + ratios).joined(separator: " | ") + " | \(spread) | \(result.note) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// One result as a line for a terminal.
    package static func terminalLine(_ result: Line.Result) -> String {
        let name = result.name.padding(toLength: 34, withPad: " ", startingAt: 0)
        let figures = result.figures.map { figure in
            "\(figure.name) " + microseconds(figure.samples.median).leftPadded(to: 10)
        }
        let ratios = result.figures.dropFirst().compactMap { figure in
            result.ratio(to: figure.name).map { String(format: "%.2fx \(figure.name)", $0) }
        }
        return name + figures.joined(separator: "  ") + "   " + ratios.joined(separator: "  ")
    }

    /// Everything, for machines.
    package func json() throws -> Data {
        let object: [String: Any] = [
            "environment": Dictionary(uniqueKeysWithValues: environment.map { ($0.name, $0.value) }),
            "lines": results.map { result in
                [
                    "name": result.name, "note": result.note, "operations": result.operationCount,
                    "nanosecondsPerOperation": Dictionary(
                        uniqueKeysWithValues: result.figures.map { ($0.name, $0.samples.sorted) }),
                ] as [String: Any]
            },
        ]
        return try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
    }
}

private func microseconds(_ nanoseconds: Double) -> String {
    let value = nanoseconds / 1000
    return String(format: value < 1 ? "%.3f" : value < 100 ? "%.2f" : "%.0f", value)
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
