// The process to which an object belongs: after `fork` the child has copies of all objects, and must not use those
// that represent files, because both processes could then write them.
//
// Invariants
//   1. `isForked` costs one load: a handler that the C library calls at each fork counts them. `isForeign` also asks
//      the system for the process number, because a process can be forked without the C library.

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
        assert(processID > 0, "process \(processID)")
    }

    /// Whether this process was forked from the marked one, as far as the C library knows.
    @inline(__always)
    var isForked: Bool { Platform.forkCount != forkCount }

    /// Whether this process is not the marked one.
    var isForeign: Bool { isForked || Platform.processID != processID }

    /// Throws `forked` if this process is not the marked one; costs a system call.
    func check() throws(StorageError) {
        if isForeign { throw .database(.forked(from: processID)) }
    }
}
