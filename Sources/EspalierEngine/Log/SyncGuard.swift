// Every sync of the engine uses this type, so that the first one that fails stops all writing.
//
// Invariants
//   1. A sync that failed is never repeated: the system may have marked the lost data as clean, and a second sync would
//      report success (rule F5). The store stays readable, and must be opened again before it is written.

import Synchronization

/// Syncs files, and refuses all syncs after the first failure.
package final class SyncGuard: Sendable {
    private let failure = Atomic<Int32>(0)
    private let count = Atomic<UInt64>(0)

    package init() {}

    /// The error number of the sync that failed; 0 if none has.
    package var poison: Int32 { failure.load(ordering: .acquiring) }
    /// The number of attempted syncs.
    package var syncCount: UInt64 { count.load(ordering: .relaxed) }

    /// Throws `poisoned` if a sync failed earlier.
    package func check() throws(StorageError) {
        let errno = poison
        if errno != 0 { throw .database(.poisoned(errno: errno)) }
    }

    /// Makes all writes to `file` durable.
    ///
    /// - Throws: `poisoned` if that fails, and in every later call.
    package func sync(_ file: any StorageFile, level: SyncLevel = .durable) throws(StorageError) {
        try guarded { () throws(StorageError) in try file.sync(level) }
    }

    /// Makes the names in `directory` durable.
    ///
    /// - Throws: `poisoned` if that fails, and in every later call.
    package func sync(_ directory: any StorageDirectory) throws(StorageError) {
        try guarded { () throws(StorageError) in try directory.sync() }
    }

    private func guarded(_ sync: () throws(StorageError) -> Void) throws(StorageError) {
        try check()
        count.add(1, ordering: .relaxed)
        do throws(StorageError) {
            try sync()
        } catch {
            var errno = Platform.ioError
            if case .io(let io) = error, io.errno != 0 { errno = io.errno }
            if case .diskFull = error { errno = Platform.noSpace }
            assert(errno != 0, "a failure has no number")
            failure.store(errno, ordering: .releasing)
            throw .database(.poisoned(errno: errno))
        }
    }
}
