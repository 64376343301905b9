// The stores that this process has open: a file opened twice is one engine.
//
// Invariants
//   1. Stores are known by device and inode, so a link or another spelling of the path finds the same engine.
//   2. Opening and closing hold the registry's lock throughout: no store is opened while it is being closed.

import Synchronization

/// The open stores of this process.
enum Registry {
    /// An engine that lives as long as somebody uses it.
    private struct Entry {
        weak var engine: Engine?
    }

    private static let entries = Mutex<[FileIdentity: Entry]>([:])

    /// The engine of the store at `path`: the one that is open already, or a new one.
    static func open(
        _ path: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        try entries.withLock { entries throws(StorageError) in
            if let identity = try fileSystem.identity(of: path), let engine = entries[identity]?.engine,
                engine.handleCount > 0
            {
                // A read-only engine follows another process; it cannot become the writer.
                guard options.access != .readWrite || !engine.isReadOnly else { throw .readOnly }
                engine.handleCount += 1
                return engine
            }
            let engine = try Engine.open(path, in: fileSystem, options: options)
            engine.handleCount = 1
            entries[engine.files.store.identity] = Entry(engine: engine)
            return engine
        }
    }

    /// Gives one use of an engine up; the last one closes it.
    static func close(_ engine: Engine) throws(StorageError) {
        try entries.withLock { entries throws(StorageError) in
            guard engine.handleCount == 1 else {
                engine.handleCount -= 1
                return
            }
            try engine.board.close()
            engine.handleCount = 0
            entries[engine.files.store.identity] = nil
            try engine.close()
        }
    }
}
