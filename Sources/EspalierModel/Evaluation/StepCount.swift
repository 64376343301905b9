// Counts the steps of calls in debug builds: tests of growth compare steps, because times vary too much.
//
// Invariants
//   1. A release build counts nothing: `note` is called only within `assert`.
//   2. A count belongs to the task that started it, so concurrent tests do not count each other's steps.

internal import Synchronization

/// The number of rows, index entries, objects and members that code has visited.
package final class StepCount: Sendable {
    @TaskLocal private static var current: StepCount?
    private let steps = Atomic(0)
    private let rows = Atomic(0)

    private init() {}

    /// Adds steps and read rows to the count of the current task, if there is one.
    ///
    /// - Returns: Always `true`, for calls within `assert`.
    package static func note(_ steps: Int = 1, rows: Int = 0) -> Bool {
        current?.steps.wrappingAdd(steps, ordering: .relaxed)
        current?.rows.wrappingAdd(rows, ordering: .relaxed)
        return true
    }

    /// The number of steps of `body`, and the number of rows that it reads in a store; 0 in a release build.
    package static func count(of body: () throws -> Void) rethrows -> (steps: Int, rows: Int) {
        let count = StepCount()
        try $current.withValue(count, operation: body)
        return (count.steps.load(ordering: .relaxed), count.rows.load(ordering: .relaxed))
    }
}
