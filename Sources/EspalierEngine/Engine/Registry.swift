// The stores that this process has open: a file opened twice is one engine.
//
// Invariants
//   1. Stores are known by device and inode, so a link or another spelling of the path finds the same engine.
//   2. An engine is of use only in the process that opened it: after `fork` the child opens anew, and gives up none of
//      its parent's.
//   3. Within one file system, opening and closing follow each other: no store is opened while it is being closed. The
//      lock itself is not held meanwhile.

import Synchronization

/// The open stores of this process.
enum Registry {
    /// An engine that lives as long as somebody uses it.
    private struct Entry {
        weak var engine: Engine?
    }

    // SAFETY: @unchecked Sendable, because touched only while `monitor` is held.
    private final class Shared: @unchecked Sendable {
        var entries: [FileIdentity: Entry] = [:]
        var busy: Set<ObjectIdentifier> = []
        var owner = ProcessMark()
    }

    // Common to all stores of the process, so no test's schedule may govern it.
    private static let monitor = Monitor(schedule: nil)
    private static let shared = Shared()

    /// Runs `body` while nobody else opens or closes a store of `fileSystem`.
    private static func alone<R, E: Error>(
        in fileSystem: any FileSystem, _ body: () throws(E) -> R
    ) throws(E) -> R {
        let name = ObjectIdentifier(fileSystem)
        monitor.withLock {
            if shared.owner.isForked {
                // Threads of the parent that were opening or closing a store do not exist here.
                shared.busy.removeAll()
                shared.owner = ProcessMark()
            }
            while shared.busy.contains(name) { monitor.wait() }
            shared.busy.insert(name)
        }
        defer {
            monitor.withLock {
                assert(shared.busy.contains(name), "invariant 3: this thread was alone")
                shared.busy.remove(name)
                monitor.wakeAll()
            }
        }
        return try body()
    }

    /// The engine of the store at `entry`: the one that is open already, or a new one.
    static func open(
        _ entry: DirectoryEntry, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        try alone(in: fileSystem) { () throws(StorageError) in
            if let engine = try openEngine(at: entry) {
                // A read-only engine follows another process; it cannot become the writer.
                guard options.access != .readWrite || !engine.isReadOnly else { throw .database(.readOnly) }
                assert(!engine.owner.isForeign, "invariant 2: the engine was opened in this process")
                engine.handleCount += 1
                engine.isAbandoned.store(false, ordering: .sequentiallyConsistent)
                return engine
            }
            let engine = try Engine.open(entry, in: fileSystem, options: options)
            assert(engine.handleCount == 0, "\(engine.handleCount) handles of a new engine")
            engine.handleCount = 1
            monitor.withLock { shared.entries[engine.files.store.identity] = Entry(engine: engine) }
            return engine
        }
    }

    /// The engine that has the file at `entry` open already.
    ///
    /// A reader whose store was renamed has come to its end: the new name needs another one.
    private static func openEngine(at entry: DirectoryEntry) throws(StorageError) -> Engine? {
        guard let identity = try entry.identity(role: .store),
            let engine = monitor.withLock({ shared.entries[identity]?.engine }), !engine.owner.isForeign
        else { return nil }
        assert(engine.files.store.identity == identity, "invariant 1: an engine is listed as the file it has open")
        guard engine.isReadOnly else { return engine }
        return try engine.entry.identity(role: .store) == identity ? engine : nil
    }

    /// Gives one use of an engine up, and marks its handle as closed; the last one closes the engine.
    ///
    /// - Throws: `closed` if another thread was faster; `transactionsOpen`, and then the handle stays open; `forked`.
    static func close(_ engine: Engine, closing isClosed: borrowing Atomic<Bool>) throws(StorageError) {
        try engine.owner.check()
        try alone(in: engine.fileSystem) { () throws(StorageError) in
            if isClosed.load(ordering: .relaxed) { throw .database(.closed) }
            assert(engine.handleCount > 0, "a handle that is not closed was counted")
            guard engine.handleCount == 1 else {
                isClosed.store(true, ordering: .relaxed)
                engine.handleCount -= 1
                return
            }
            try engine.board.close()
            isClosed.store(true, ordering: .relaxed)
            try closeForGood(engine)
        }
    }

    /// Gives up the use of a handle that was dropped while transactions were open; their end closes the engine.
    static func abandon(_ engine: Engine) {
        guard !engine.owner.isForeign else { return }
        alone(in: engine.fileSystem) {
            assert(engine.handleCount > 0, "a handle that is not closed was counted")
            engine.handleCount -= 1
            if engine.handleCount == 0 { engine.isAbandoned.store(true, ordering: .sequentiallyConsistent) }
        }
        // The last transaction may have ended in the meantime.
        closeAbandoned(engine)
    }

    /// Closes an engine that nobody has a handle of any more, unless a transaction is open.
    static func closeAbandoned(_ engine: Engine) {
        guard !engine.owner.isForeign else { return }
        alone(in: engine.fileSystem) {
            guard engine.handleCount == 0 else { return }
            // Nobody is left to be interested in an error; the next open recovers what is left.
            do throws(StorageError) {
                try engine.board.close()
                try closeForGood(engine)
            } catch {}
        }
    }

    /// Refuses to work on a file that this process has open for writing: the system would say that another one has.
    static func checkNotWriting(_ entry: DirectoryEntry) throws(StorageError) {
        guard let identity = try entry.identity(role: .store),
            let engine = monitor.withLock({ shared.entries[identity]?.engine }), !engine.isReadOnly
        else { return }
        throw .opening(.storeBusy(pid: Platform.processID))
    }

    private static func closeForGood(_ engine: Engine) throws(StorageError) {
        assert(engine.handleCount <= 1, "\(engine.handleCount) handles are left")
        engine.handleCount = 0
        let identity = engine.files.store.identity
        monitor.withLock { if shared.entries[identity]?.engine === engine { shared.entries[identity] = nil } }
        try engine.close()
    }
}
