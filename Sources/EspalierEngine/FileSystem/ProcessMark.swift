// Which process something belongs to: after `fork` the child has copies of all objects, and must not use those that
// stand for files which both could write now.
//
// Invariants
//   1. `isForked` is one load: the C library counts forks as they happen. `isForeign` also asks the system for the
//      process number, because a process can be made without the C library's knowledge.

/// The process in which this value was made.
struct ProcessMark: Sendable {
    /// The process's number.
    let processID: Int32
    private let forkCount: Int

    /// Marks this process.
    init() {
        Platform.countForks()
        processID = Platform.processID
        forkCount = Platform.forkCount
    }

    /// Whether this process was forked from the marked one, as far as the C library knows.
    @inline(__always)
    var isForked: Bool { Platform.forkCount != forkCount }

    /// Whether this process is another one than the marked one.
    var isForeign: Bool { isForked || Platform.processID != processID }

    /// Throws `forked` in another process; costs a call of the system.
    func check() throws(StorageError) {
        if isForeign { throw .database(.forked(from: processID)) }
    }
}
