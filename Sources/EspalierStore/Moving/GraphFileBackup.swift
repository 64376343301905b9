// The backup of a binary file's migration: the bytes of the file as it was.
//
// Invariants
//   1. A backup has its name when it is whole and durable, and before the file is replaced.
//   2. A backup that a migration has written stays only if the file was replaced, or may have been.
//   3. A process that is killed leaves its backup. If the file has the same bytes, the next run uses that one; any
//      other file under the path is an error, and stays.
//   4. A migration removes no file that it did not write: it may be a backup that the application has made.
//   5. A backup has the permissions of the file; if the superuser writes it, also its owner and its group.
// No lock keeps a second process away, as none does from a save. Of two that migrate one file, the later one ends with
// `storeReplaced`, unless both replace the file in the same moment: then it is the whole result of one of them. If they
// have the path of the backup in common, and the one that has written it fails, the other one may lose its backup.

internal import EspalierEngine

/// A backup that a migration of a binary file has written, or one with the same bytes that was there.
struct GraphFileBackup {
    private let file: GraphFile
    private let entry: DirectoryEntry
    /// The backup that this migration has written; `nil` = it was there.
    private var written: FileIdentity?

    /// Writes `bytes`, those of `file` as it was read last, to `path`, unless a file there has them; `nil` if `path` is
    /// `nil`.
    ///
    /// The backup has the rights of the file.
    ///
    /// - Throws: `.storage` with `destinationExists` for any other file; the errors of reading and writing.
    /// - Complexity: O(bytes).
    static func write(_ bytes: [UInt8], of file: GraphFile, to path: String?) throws(StoreError) -> GraphFileBackup? {
        guard let path else { return nil }
        assert(BinaryGraphFormat.isBeginning(bytes), "\(bytes.count) bytes of no store are backed up")
        do throws(StorageError) {
            let entry = try file.fileSystem.entry(at: path)
            var backup = GraphFileBackup(file: file, entry: entry, written: nil)
            guard try !isThere(bytes, of: file, entry, makesDurable: true) else {
                // Its writer may not have made bytes and name durable.
                try entry.directory.sync()
                return backup
            }
            do throws(StorageError) {
                let rights = try file.rights()
                try WholeFile.write(entry, replacing: nil, rights: rights, in: file.fileSystem) {
                    copy throws(StorageError) in
                    backup.written = copy.identity
                    try GraphFile.write(bytes, to: copy)
                }
            } catch {
                // The backup may have its name, and nothing has made that durable.
                backup.remove()
                throw error
            }
            return backup
        } catch {
            throw .storage(error, path: path)
        }
    }

    /// Requires that a backup can be written at `path`, without writing it.
    ///
    /// - Throws: as `write(_:of:to:)` for a file that is there.
    static func check(_ bytes: [UInt8], of file: GraphFile, at path: String) throws(StoreError) {
        do throws(StorageError) {
            _ = try isThere(bytes, of: file, try file.fileSystem.entry(at: path), makesDurable: false)
        } catch {
            throw .storage(error, path: path)
        }
    }

    /// Whether a file with these bytes, which is not the store's own, has the name of the backup.
    ///
    /// - Throws: `destinationExists` for any other file.
    private static func isThere(
        _ bytes: [UInt8], of file: GraphFile, _ entry: DirectoryEntry, makesDurable: Bool
    ) throws(StorageError) -> Bool {
        guard let copy = try entry.openIfPresent(role: .copy, mode: .readOnly) else { return false }
        let found = try GraphFile.bytes(of: copy, atMost: bytes.count + 1)
        assert(found.count <= bytes.count + 1, "\(found.count) bytes were read to compare \(bytes.count)")
        let isBackup = found == bytes && file.knownIdentity != copy.identity
        if isBackup, makesDurable { try copy.sync(.durable) }
        try copy.close()
        guard isBackup else { throw .maintenance(.destinationExists) }
        return true
    }

    /// Removes the backup after an error, if the migration has written it and the file was not replaced.
    func remove() {
        guard let written else { return }
        // The caller reports the error of the migration. A backup that stays is used by the next run.
        do throws(StorageError) {
            guard try file.identity() == file.knownIdentity, try entry.identity(role: .copy) == written else { return }
            try entry.remove(role: .copy)
            try entry.directory.sync()
        } catch {}
    }
}
