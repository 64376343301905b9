// The gate that admits one writer at a time; the others wait in order of arrival.
//
// Invariants
//   1. At most one writer is inside; the next is the one that has waited longest.
//   2. A thread whose own writer is inside is refused, because it would wait for itself. The thread that entered
//      counts, even if another thread has the transaction now: the gate cannot tell whether that thread will end it.
//   3. Thread numbers are never reused, so a new thread is never mistaken for one that ended.

// SAFETY: @unchecked Sendable, because all variables are touched only while `monitor` is held.
/// Admits one writer at a time, in order of arrival.
package final class WriterGate: @unchecked Sendable {
    private let monitor = Monitor()
    private var nextTicket: UInt64 = 0
    private var serving: UInt64 = 0
    /// The thread that entered last, while its writer is inside; 0 if there is none or the system could not number it.
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
            assert(owner == 0 && serving < nextTicket, "invariant 1: another writer is inside")
            owner = thread
        }
    }

    /// Leaves the gate, which admits the next writer.
    ///
    /// May be called on another thread than `enter`.
    package func leave() {
        monitor.withLock {
            assert(serving < nextTicket, "no writer is inside")
            serving += 1
            owner = 0
            monitor.wakeAll()
        }
    }
}
