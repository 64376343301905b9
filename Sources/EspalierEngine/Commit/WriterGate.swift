// The gate of the one writer: who comes later waits, in the order of arrival.
//
// Invariants
//   1. At most one writer is inside; the next is the one that has waited longest.
//   2. A thread whose writer is inside is refused instead of waiting for itself. The thread that entered counts, also
//      if the transaction was handed to another one since: it cannot be told whether that one will ever end it.
//   3. Thread numbers are never given out twice, so a new thread is never taken for one that ended.

// SAFETY: @unchecked Sendable, because all variables are touched only while `monitor` is held.
/// Lets one writer in at a time, in the order they came.
package final class WriterGate: @unchecked Sendable {
    private let monitor = Monitor()
    private var nextTicket: UInt64 = 0
    private var serving: UInt64 = 0
    /// The thread that entered last, while its writer is inside; 0: none, or the system could not number it.
    private var owner: UInt = 0

    package init() {}

    /// Waits until all writers before this one have left.
    ///
    /// - Throws: `alreadyWriting` if this thread entered and has not left.
    package func enter() throws(StorageError) {
        let thread = Platform.lifelongThreadNumber
        try monitor.withLock { () throws(StorageError) in
            if owner != 0, owner == thread { throw .transaction(.alreadyWriting) }
            let ticket = nextTicket
            nextTicket += 1
            while serving != ticket { monitor.wait() }
            assert(owner == 0 && serving < nextTicket, "invariant 1: one writer is inside")
            owner = thread
        }
    }

    /// Lets the next writer in.
    ///
    /// May be called on another thread than `enter`.
    package func leave() {
        monitor.withLock {
            assert(serving < nextTicket, "a writer is inside")
            serving += 1
            owner = 0
            monitor.wakeAll()
        }
    }
}
