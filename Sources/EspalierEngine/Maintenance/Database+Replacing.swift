// Replacing a store by a copy of another one: the new file takes the name in one step.
//
// Invariants
//   1. At every moment the name leads to the former store or to the whole copy.
//   2. The log of the former store is removed when the copy has its name for good. After a power loss before that the
//      log may be there: the copy does not name it, so no process reads it.

extension Database {
    /// Replaces the store at `path`, which no process may have open for writing, by a copy of the newest commit of the
    /// store at `source`, which may be in use; without a store at `path` the copy is made there.
    ///
    /// The copy has an identifier of its own, as a backup has. A former store that is damaged, was not closed, or was
    /// written by a newer version is replaced as well, as long as its first page shows that it is a store. A reader
    /// that has it open can use it until its next transaction, which throws `storeReplaced`.
    ///
    /// - Throws: `noSuchStore` and `destinationExists`: there is no store at `source`, or it is the same one;
    ///   `storeBusy`; `notAStore`; `path`; `snapshotExpired`; `corruption`; `diskFull`; `io`; what `open` throws for
    ///   the source.
    /// - Complexity: O(pages of the source); space for both files.
    @discardableResult
    public static func replace(at path: String, withStoreAt source: String) throws(StorageError) -> CopyReceipt {
        try replace(at: path, withStoreAt: source, in: PosixFileSystem.shared, options: DatabaseOptions())
    }

    /// Replaces a store of any file system.
    @discardableResult
    package static func replace(
        at path: String, withStoreAt source: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> CopyReceipt {
        let entry = try fileSystem.entry(at: path)
        try Registry.checkNotWriting(entry)
        if let identity = try entry.identity(role: .store),
            try fileSystem.entry(at: source).identity(role: .store) == identity
        {
            throw .maintenance(.destinationExists)
        }
        var options = options
        (options.access, options.createIfMissing) = (.readOnly, false)
        let database = try Database.open(source, in: fileSystem, options: options)
        do throws(StorageError) {
            let former = try lockedStore(entry)
            do throws(StorageError) {
                let receipt = try database.copy(to: entry, replacing: former?.identity, in: fileSystem)
                if former != nil, try entry.log.identity(role: .log) != nil {
                    try entry.log.remove(role: .log)
                    try entry.directory.sync()
                }
                try former?.close()
                try database.close()
                return receipt
            } catch {
                // The caller gets the first error, here and below.
                do throws(StorageError) { try former?.close() } catch {}
                throw error
            }
        } catch {
            do throws(StorageError) { try database.close() } catch {}
            throw error
        }
    }

    /// The store that has the name, locked for writing; `nil` if there is none.
    private static func lockedStore(_ entry: DirectoryEntry) throws(StorageError) -> (any StorageFile)? {
        guard let store = try entry.openIfPresent(role: .store, mode: .readWrite) else { return nil }
        do throws(StorageError) {
            try store.lockForWriting()
            try entry.requireSingleName(of: store)
            try requireStore(store)
            return store
        } catch {
            do throws(StorageError) { try store.close() } catch {}
            throw error
        }
    }
}
