// Time: one monotonic clock for every line, or the processor time of this process on a busy machine.

import Foundation

/// Whether figures are processor time, for machines that do other work at the same time.
package let countsProcessorTime = CommandLine.arguments.contains("--cpu-time")

/// Runs `body` and returns its time in nanoseconds.
package func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
    let clock = countsProcessorTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC
    let start = now(clock)
    try body()
    return Double(now(clock) - start)
}

/// Runs `body` and returns its time in nanoseconds of the monotonic clock, whatever `countsProcessorTime` says.
///
/// For latencies, and where several threads work at the same time.
package func wallNanoseconds(_ body: () throws -> Void) rethrows -> Double {
    let start = now(CLOCK_MONOTONIC)
    try body()
    return Double(now(CLOCK_MONOTONIC) - start)
}

private func now(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the optimizer from removing work whose result is not used.
@inline(never)
package func blackHole<T>(_ value: T) {}
