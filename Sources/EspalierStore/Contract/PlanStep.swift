// A step of the way in which a store answers a fetch: what it does, and how many rows it was expected to find and has
// found.
//
// Invariants
//   1. Steps form a tree: a step works on the rows of its `sources`, which are to be read first.
//   2. A number that was neither estimated nor counted is `nil`, never 0.

/// A step of the plan of a fetch, after it was executed.
///
/// The description is the tree, a line for each step, with the numbers in columns:
///
/// ```
///                                              expected  found     time
/// keep the first 10 by title                         10     10  0.21 ms
/// └ test 1 condition on each row                      -     80  0.20 ms
///   └ tree "index:Song.genre", keys that begin …    400    391  0.08 ms
/// ```
public struct PlanStep: Sendable, Equatable {
    /// The step, in words.
    public let action: String
    /// The number of rows that the planner expects; `nil` if it needs no estimate for this step.
    public let expectedCount: Int?
    /// The number of rows that the step found; `nil` if it was not counted.
    public let foundCount: Int?
    /// The time that the step took, with the steps below it, when it ran by itself; `nil` if it was not measured.
    public let duration: Duration?
    /// The steps whose rows this one uses.
    public let sources: [PlanStep]

    /// A step with its numbers.
    public init(
        _ action: String, expectedCount: Int? = nil, foundCount: Int? = nil, duration: Duration? = nil,
        sources: [PlanStep] = []
    ) {
        assert(expectedCount ?? 0 >= 0 && foundCount ?? 0 >= 0, "a step finds a negative number of rows")
        self.action = action
        self.expectedCount = expectedCount
        self.foundCount = foundCount
        self.duration = duration
        self.sources = sources
    }
}

extension PlanStep {
    /// One line for each step: the branches of the tree with its action, and the step.
    public var lines: [(action: String, step: PlanStep)] {
        var lines: [(action: String, step: PlanStep)] = []
        append(to: &lines, first: "", rest: "")
        return lines
    }

    private func append(to lines: inout [(action: String, step: PlanStep)], first: String, rest: String) {
        lines.append((first + action, self))
        for (index, source) in sources.enumerated() {
            let isLast = index == sources.count - 1
            source.append(to: &lines, first: rest + (isLast ? "└ " : "├ "), rest: rest + (isLast ? "  " : "│ "))
        }
    }
}

extension PlanStep: CustomStringConvertible {
    /// The tree as a table; see the type.
    public var description: String {
        let rows =
            [("", "expected", "found", "time")]
            + lines.map { action, step in
                (
                    action, step.expectedCount.map(String.init) ?? "-", step.foundCount.map(String.init) ?? "-",
                    step.duration.map(Self.text) ?? "-"
                )
            }
        let widths = rows.reduce((0, 0, 0, 0)) { widths, row in
            (
                max(widths.0, row.0.count), max(widths.1, row.1.count), max(widths.2, row.2.count),
                max(widths.3, row.3.count)
            )
        }
        func space(_ count: Int) -> String { String(repeating: " ", count: count) }
        return rows.map { row in
            row.0 + space(widths.0 - row.0.count + 2) + space(widths.1 - row.1.count) + row.1 + "  "
                + space(widths.2 - row.2.count) + row.2 + "  " + space(widths.3 - row.3.count) + row.3
        }.joined(separator: "\n")
    }

    /// A duration in milliseconds with two digits.
    private static func text(_ duration: Duration) -> String {
        let hundredths = (duration / .microseconds(10)).rounded()
        guard hundredths < 0x1p52 else { return "\(duration)" }
        let count = Int(max(0, hundredths))
        let digits = count % 100
        return "\(count / 100).\(digits < 10 ? "0" : "")\(digits) ms"
    }
}
