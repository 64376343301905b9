// The number of times that `withObservationTracking` calls an observer, for the suites of observation.

import Observation
import Synchronization

/// Counts how often observers are called.
final class Calls: Sendable {
    let count = Atomic(0)
}

/// The number of times that `change` notifies an observer of what `read` reads.
func calls(reading read: () throws -> Void, _ change: () throws -> Void) throws -> Int {
    let calls = Calls()
    let result = withObservationTracking {
        Result(catching: read)
    } onChange: {
        calls.count.add(1, ordering: .relaxed)
    }
    try result.get()
    try change()
    return calls.count.load(ordering: .relaxed)
}
