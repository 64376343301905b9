// The stores that this process has open: a file that is opened twice has one engine.
//
// Invariants
//   1. Stores are known by device and inode, so a link or another spelling of the path finds the same engine.
//   2. An engine can be used only in the process that opened it: after `fork` the child opens the store again, and
//      releases no engine of its parent.
//   3. Within one file system, opening and closing are serialized: no store is opened while it is being closed. The
//      monitor itself is not held meanwhile.

import Synchronization

/// The open stores of this process.
enum Registry {
    /// An engine that lives as long as a handle or a transaction uses it.
    private struct Entry {
        weak var engine: Engine?
    }

    // SAFETY: @unchecked Sendable, because touched only while `monitor` is held.
    private final class Shared: @unchecked Sendable {
        var entries: [FileIdentity: Entry] = [:]
        var busy: Set<ObjectIdentifier> = []
        var owner = ProcessMark()
    }

    // All stores of the process share the monitor, so no test's schedule may control it.
    private static let monitor = Monitor(schedule: nil)
    private static let shared = Shared()

    /// Runs `body` while no other thread opens or closes a store of `fileSystem`.
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
                assert(shared.busy.contains(name), "invariant 3: this thread was not alone")
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
                assert(!engine.owner.isForeign, "invariant 2: the engine was opened in another process")
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

    /// The engine that has the file at `entry` open already; `nil` if there is none.
    ///
    /// A read-only engine whose store was renamed is not reused: the new name needs another engine.
    private static func openEngine(at entry: DirectoryEntry) throws(StorageError) -> Engine? {
        guard let identity = try entry.identity(role: .store),
            let engine = monitor.withLock({ shared.entries[identity]?.engine }), !engine.owner.isForeign
        else { return nil }
        assert(engine.files.store.identity == identity, "invariant 1: an engine is listed as another file")
        guard engine.isReadOnly else { return engine }
        return try engine.entry.identity(role: .store) == identity ? engine : nil
    }

    /// Releases one handle of an engine, and marks the handle as closed; the last one closes the engine.
    ///
    /// - Throws: `closed` if another thread has closed it; `transactionsOpen`: then the handle stays open; `forked`.
    static func close(_ engine: Engine, closing isClosed: borrowing Atomic<Bool>) throws(StorageError) {
        try engine.owner.check()
        try alone(in: engine.fileSystem) { () throws(StorageError) in
            if isClosed.load(ordering: .relaxed) { throw .database(.closed) }
            assert(engine.handleCount > 0, "an open handle was not counted")
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

    /// Releases a handle that was dropped while transactions were open; the end of the last one closes the engine.
    static func abandon(_ engine: Engine) {
        guard !engine.owner.isForeign else { return }
        alone(in: engine.fileSystem) {
            assert(engine.handleCount > 0, "an open handle was not counted")
            engine.handleCount -= 1
            if engine.handleCount == 0 { engine.isAbandoned.store(true, ordering: .sequentiallyConsistent) }
        }
        // The last transaction may have ended in the meantime.
        closeAbandoned(engine)
    }

    /// Closes an engine that has no handle any more, unless a transaction is open.
    static func closeAbandoned(_ engine: Engine) {
        guard !engine.owner.isForeign else { return }
        alone(in: engine.fileSystem) {
            guard engine.handleCount == 0 else { return }
            // No caller is left for an error; the next open recovers the store.
            do throws(StorageError) {
                try engine.board.close()
                try closeForGood(engine)
            } catch {}
        }
    }

    /// Throws `storeBusy` if this process has the file open for writing; the system would report another process.
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
