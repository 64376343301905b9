// Time: one monotonic clock for every line.

/// Runs `body` and returns how long it took, in nanoseconds of the monotonic clock.
package func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try body()
    let (seconds, attoseconds) = (clock.now - start).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}

/// Keeps the optimiser from removing work whose result nobody reads.
@inline(never)
package func blackHole<T>(_ value: T) {}
