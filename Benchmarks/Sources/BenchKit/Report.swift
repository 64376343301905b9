// The table, as text for a terminal, as Markdown and as JSON.

package import Foundation

/// A group of lines with the same contenders.
package struct ReportSection {
    /// The heading of the group.
    package let title: String
    /// The measured lines in order.
    package var results: [Line.Result] = []

    /// An empty section.
    package init(_ title: String) { self.title = title }

    private var contenderNames: [String] {
        var names: [String] = []
        for figure in results.flatMap(\.figures) where !names.contains(figure.name) { names.append(figure.name) }
        return names
    }

    /// The table in Markdown: the medians, then the ratio of each other contender to the first.
    fileprivate var markdown: String {
        let names = contenderNames
        var lines = ["## \(title)", ""]
        lines.append(
            "| line | unit | " + names.joined(separator: " | ")
                + names.dropFirst().map { " | \($0) ÷ \(names[0])" }.joined() + " | spread | made equal by |")
        lines.append("|---|---|" + String(repeating: "---:|", count: names.count * 2) + "---|")
        for result in results {
            let medians = names.map { name in
                result.figures.first { $0.name == name }.map { result.unit.text($0.samples.median) } ?? "–"
            }
            let ratios = names.dropFirst().map { result.ratio(to: $0).map { String(format: "%.2f", $0) } ?? "–" }
            let spread = result.figures.first.map { String(format: "%.0f %%", $0.samples.spread * 100) } ?? ""
            lines.append(
                "| \(result.name) | \(result.unit.rawValue) | " + (medians + ratios).joined(separator: " | ")
                    + " | \(spread) | \(result.note) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// All results of a run, with the facts that a reader needs to judge them.
package struct Report {
    /// Date, commit, machine and peers.
    package let environment: [(name: String, value: String)]
    /// The measured sections in order.
    package var sections: [ReportSection] = []

    /// An empty report.
    package init(environment: [(name: String, value: String)]) { self.environment = environment }

    /// The facts, then a table for each section.
    package func markdown(command: String) -> String {
        let facts = environment.map { "* \($0.name): \($0.value)" }.joined(separator: "\n")
        let head = """
            # Results

            Written by `\(command)`. Figures are medians of repetitions in turn (A B C A B C ...); a ratio above 1 \
            says how many times as much another column takes as the first; the spread is that of the first column.

            \(facts)

            """
        return ([head] + sections.filter { !$0.results.isEmpty }.map(\.markdown)).joined(separator: "\n")
    }

    /// One result as a line for a terminal.
    package static func terminalLine(_ result: Line.Result) -> String {
        let name = result.name.padding(toLength: 34, withPad: " ", startingAt: 0)
        let figures = result.figures.map { figure in
            "\(figure.name) " + result.unit.text(figure.samples.median).leftPadded(to: 10)
        }
        let ratios = result.figures.dropFirst().compactMap { figure in
            result.ratio(to: figure.name).map { String(format: "%.2fx \(figure.name)", $0) }
        }
        let unit = result.unit == .time ? "" : " \(result.unit.rawValue)"
        return name + figures.joined(separator: "  ") + unit + "   " + ratios.joined(separator: "  ")
    }

    /// All results for programs.
    package func json() throws -> Data {
        let object: [String: Any] = [
            "environment": Dictionary(uniqueKeysWithValues: environment.map { ($0.name, $0.value) }),
            "lines": sections.flatMap { section in
                section.results.map { result in
                    [
                        "section": section.title, "name": result.name, "note": result.note,
                        "operations": result.operationCount,
                        "unit": result.unit == .time ? "nanoseconds" : result.unit.rawValue,
                        "perOperation": Dictionary(
                            uniqueKeysWithValues: result.figures.map { ($0.name, $0.samples.sorted) }),
                    ] as [String: Any]
                }
            },
        ]
        return try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
    }
}

extension Line.Unit {
    /// A figure in the form that the tables show.
    fileprivate func text(_ figure: Double) -> String {
        let value = self == .time ? figure / 1000 : figure
        return String(format: value < 1 ? "%.3f" : value < 100 ? "%.2f" : "%.0f", value)
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
