// One line of the table: the same work, done by several contenders.
//
// Invariants
//   1. Contenders run in turn (A B C A B C ...), so that a machine that slows down slows all of them.
//   2. A contender times only the work that the line names; preparation and cleanup are outside its clock.

/// Work that several contenders do, each in its own way.
package struct Line {
    /// The unit of a line's figures; less is always better.
    package enum Unit: String, Sendable {
        /// Nanoseconds of an operation, shown as microseconds.
        case time = "us/op"
        /// Bytes of an operation, a row or a process; the line's name says which.
        case bytes = "bytes"
    }

    /// A participant that does the work.
    package struct Contender {
        /// "espalier", "sqlite", "lmdb" ...
        package let name: String
        /// Does the work once and returns its cost in nanoseconds or bytes.
        package let run: () throws -> Double

        /// A contender.
        package init(_ name: String, run: @escaping () throws -> Double) {
            self.name = name
            self.run = run
        }
    }

    /// The measured work, under its db_bench name where it has one.
    package let name: String
    /// A few words on how the contenders were made equal.
    package let note: String
    /// The unit of the figures.
    package let unit: Unit
    /// The number of operations in one run.
    package let operationCount: Int
    /// The contenders; ratios refer to the first one.
    package var contenders: [Contender]

    /// A line.
    package init(
        _ name: String, note: String, unit: Unit = .time, operationCount: Int = 1, contenders: [Contender]
    ) {
        self.name = name
        self.note = note
        self.unit = unit
        self.operationCount = operationCount
        self.contenders = contenders
    }

    /// Runs every contender `repetitions` times in turn, after `warmUps` turns that are not counted.
    package func measure(repetitions: Int, warmUps: Int) throws -> Result {
        var values = [[Double]](repeating: [], count: contenders.count)
        for turn in 0..<(warmUps + repetitions) {
            for (index, contender) in contenders.enumerated() {
                let time = try contender.run()
                if turn >= warmUps { values[index].append(time / Double(operationCount)) }
            }
        }
        return Result(
            name: name, note: note, unit: unit, operationCount: operationCount,
            figures: zip(contenders, values).map { ($0.name, Samples($1)) })
    }

    /// The figures of a line.
    package struct Result {
        /// The line's name.
        package let name: String
        /// The line's note.
        package let note: String
        /// The unit of the figures.
        package let unit: Unit
        /// The number of operations in one run.
        package let operationCount: Int
        /// Nanoseconds or bytes per operation, by contender in the line's order.
        package let figures: [(name: String, samples: Samples)]

        /// The median of `name` divided by the median of the first contender: above 1, the first one is faster.
        package func ratio(to name: String) -> Double? {
            guard let first = figures.first, let other = figures.first(where: { $0.name == name }) else { return nil }
            return other.samples.median / first.samples.median
        }
    }
}
