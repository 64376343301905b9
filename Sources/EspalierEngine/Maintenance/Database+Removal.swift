// Removing a store: its file and its log, which no process may be writing.
//
// Invariants
//   1. The file is gone for good before the log is removed: after a power loss there is the whole store, or a log that
//      belongs to no store, which a new store of the name does not read, or nothing.
//   2. Only a store is removed: a file whose superblock and copy are both unreadable stays.

extension Database {
    /// Removes the store at `path` with its log; no process may have it open for writing.
    ///
    /// A store that is damaged, was not closed, or was written by a newer version is removed as well, as long as its
    /// first page shows that it is a store. A reader that has it open can use it until its next transaction.
    ///
    /// - Throws: `noSuchStore`; `notAStore`; `storeBusy`; `path`, also for a file with several names; `io`.
    /// - Complexity: O(1) beside the work of the file system.
    public static func remove(at path: String) throws(StorageError) {
        try remove(at: path, in: PosixFileSystem.shared)
    }

    /// Removes a store of any file system.
    package static func remove(at path: String, in fileSystem: any FileSystem) throws(StorageError) {
        let entry = try fileSystem.entry(at: path)
        try Registry.checkNotWriting(entry)
        let store = try entry.open(role: .store, mode: .readWrite)
        do throws(StorageError) {
            try store.lockForWriting()
            try entry.requireSingleName(of: store)
            try requireStore(store)
            guard try entry.identity(role: .store) == store.identity else {
                throw StorageError.database(.storeReplaced)
            }
            try entry.remove(role: .store)
            try entry.directory.sync()
            if try entry.log.identity(role: .log) != nil {
                try entry.log.remove(role: .log)
                try entry.directory.sync()
            }
        } catch {
            // The caller gets the first error.
            do throws(StorageError) { try store.close() } catch {}
            throw error
        }
        try store.close()
    }

    /// Throws `notAStore` if neither the superblock nor its copy can be read.
    static func requireStore(_ file: any StorageFile) throws(StorageError) {
        let bytes = ScratchBytes(byteCount: 4096)
        let count = try bytes.read(0..<4096, from: file, at: 0)
        try bytes.withThrowing(0..<count) { span throws(StorageError) in
            do throws(StorageError) {
                _ = try Superblock(decoding: span)
            } catch .opening(.notAStore(let reason)) {
                guard (try? Superblock(decodingCopyIn: span)) != nil else { throw .opening(.notAStore(reason)) }
            } catch {
                // It is a store, which this version cannot read.
            }
        }
    }
}
