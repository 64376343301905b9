// A file that gets its name only when it is whole: a reader of the name finds all of it or nothing.
//
// Invariants
//   1. The content is durable before the file is renamed, and the name before `write` returns.
//   2. A failure leaves the final name as it was before, unless making the name durable failed.
//   3. A file that replaces another one has its permissions, and never others. Its owner is the user of the process,
//      unless that is the superuser: then it has the owner and the group of the other one.
//   4. A crash can leave a file named `PATH.tmp-...`, which no code ever reads. No code removes it unasked, because it
//      cannot be distinguished from a file that another process is writing. The only exception: if it is a second name
//      of the file `PATH` itself, opening `PATH` for writing removes it (`DirectoryEntry.requireSingleName`).

/// Writes files that exist completely or not at all.
package enum WholeFile {
    /// Writes a new file with `body`, and gives it the name that `path` leads to.
    ///
    /// - Parameter rights: those to the file; `nil` = those that the system gives a new file.
    /// - Throws: `destinationExists`, `path`, errors of `body`, `diskFull`, `io`.
    static func write<R>(
        _ path: String, rights: FileRights?, in fileSystem: any FileSystem,
        _ body: (any StorageFile) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try write(try fileSystem.entry(at: path), replacing: nil, rights: rights, in: fileSystem, body)
    }

    /// Writes a file with `body`, and gives it the name `entry`.
    ///
    /// - Parameters:
    ///   - replacing: the file that has the name and is replaced; `nil` if no file may have it.
    ///   - rights: those to the file; `nil` = those to the file that is replaced, and without one those that the
    ///     system gives a new file.
    /// - Throws: `destinationExists`, `storeReplaced` if another file than `replacing` has the name, errors of `body`,
    ///   `diskFull`, `io`.
    package static func write<R>(
        _ entry: DirectoryEntry, replacing: FileIdentity?, rights: FileRights? = nil,
        in fileSystem: any FileSystem, _ body: (any StorageFile) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        // Checked before the work as well as after it.
        if replacing == nil, try entry.identity(role: .copy) != nil { throw .maintenance(.destinationExists) }
        let former = replacing == nil ? nil : try entry.rights(role: .copy)
        let kept = rights ?? former
        let temporary = entry.temporary(fileSystem.random())
        let file = try temporary.create(role: .copy, permissions: kept?.permissions)
        assert(temporary.name != entry.name, "the file has its name before it is complete")
        do throws(StorageError) {
            if let kept { try file.setRights(kept) }
            let result = try body(file)
            try file.sync(.durable)
            if let replacing {
                guard try entry.identity(role: .copy) == replacing else { throw StorageError.database(.storeReplaced) }
                try temporary.rename(to: entry, role: .copy)
            } else if try !temporary.renameExclusively(to: entry, role: .copy) {
                throw StorageError.maintenance(.destinationExists)
            }
            try entry.directory.sync()
            try file.close()
            return result
        } catch {
            // A temporary file that cannot be removed does no harm (invariant 4).
            do throws(StorageError) { try temporary.remove(role: .copy) } catch {}
            do throws(StorageError) { try file.close() } catch {}
            throw error
        }
    }
}
