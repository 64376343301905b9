// Steps that calls take, counted in debug builds: what tests of growth compare, where time would tell little.
//
// Invariants
//   1. A release build counts nothing: `note` is called within `assert` only.
//   2. A count belongs to the task that began it: tests that run at the same time do not count each other's steps.

internal import Synchronization

/// How many rows, entries of indexes, objects and members some code has looked at.
package final class StepCount: Sendable {
    @TaskLocal private static var current: StepCount?
    private let steps = Atomic(0)
    private let rows = Atomic(0)

    private init() {}

    /// Adds steps, and rows that were read, to the count of the task, if there is one; returns `true`, to be called in
    /// `assert`.
    package static func note(_ steps: Int = 1, rows: Int = 0) -> Bool {
        current?.steps.wrappingAdd(steps, ordering: .relaxed)
        current?.rows.wrappingAdd(rows, ordering: .relaxed)
        return true
    }

    /// How many steps `body` takes, and how many rows it reads in a store; 0 in a release build.
    package static func count(of body: () throws -> Void) rethrows -> (steps: Int, rows: Int) {
        let count = StepCount()
        try $current.withValue(count, operation: body)
        return (count.steps.load(ordering: .relaxed), count.rows.load(ordering: .relaxed))
    }
}
