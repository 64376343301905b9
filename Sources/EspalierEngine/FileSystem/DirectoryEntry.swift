// A name in an open directory: the engine's reference to a file after its path was resolved.
//
// Invariants
//   1. Entries derived from one entry are in the same directory, so a rename between them is one step.

/// A name in a directory.
package struct DirectoryEntry: Sendable {
    /// The directory.
    package let directory: any StorageDirectory
    /// The name in it; never empty.
    package let name: String

    package init(_ directory: any StorageDirectory, _ name: String) {
        self.directory = directory
        self.name = name
    }

    /// The entry of this store's log, in the same directory.
    package var log: DirectoryEntry { DirectoryEntry(directory, name + "-wal") }

    /// An entry in the same directory for a file that is renamed to this entry once it is complete.
    package func temporary(_ random: UInt64) -> DirectoryEntry {
        DirectoryEntry(directory, temporaryPrefix + String(random, radix: 36))
    }

    private var temporaryPrefix: String { name + ".tmp-" }

    /// Refuses to write a file that has several hard links: each name would have a log of its own.
    ///
    /// Temporary names of this entry do not count, and are removed: where the file system renames in two steps, a crash
    /// between the steps leaves a complete file with both names. A reader needs no such rule, because a log counts only
    /// if it names the store and the store names it.
    ///
    /// - Parameter file: the open file of this entry, locked by this process.
    /// - Throws: `path(.hardLinked)`, before any name is removed unless another process adds names meanwhile; `io`.
    /// - Complexity: O(names in the directory) if the file has several names.
    package func requireSingleName(of file: any StorageFile) throws(StorageError) {
        guard try file.linkCount() > 1 else { return }
        let leftovers = try temporaries(of: file)
        guard try file.linkCount() <= UInt64(1 + leftovers.count) else { throw .path(.hardLinked) }
        for leftover in leftovers {
            do throws(StorageError) {
                try leftover.remove(role: file.role)
            } catch {
                // The renaming process may have removed the name in the meantime.
                guard try leftover.identity(role: file.role) == nil else { throw error }
            }
        }
        try directory.sync()
        guard try file.linkCount() <= 1 else { throw .path(.hardLinked) }
    }

    /// The temporary entries of this entry that name `file`.
    private func temporaries(of file: any StorageFile) throws(StorageError) -> [DirectoryEntry] {
        var found: [DirectoryEntry] = []
        for other in try directory.names(beginningWith: temporaryPrefix) {
            guard UInt64(other.dropFirst(temporaryPrefix.count), radix: 36) != nil else { continue }
            let entry = DirectoryEntry(directory, other)
            // A temporary entry with another identity is a file that another process is writing.
            if try entry.identity(role: file.role) == file.identity { found.append(entry) }
        }
        return found
    }

    /// Opens the file.
    ///
    /// - Throws: `noSuchStore` if the file is missing and `mode` does not create it; `notAStore`, `path`, `diskFull`,
    ///   `io`.
    package func open(role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try directory.open(name, role: role, mode: mode)
    }

    /// Opens the file; returns `nil` if it is missing.
    package func openIfPresent(role: FileRole, mode: OpenMode) throws(StorageError) -> (any StorageFile)? {
        do throws(StorageError) {
            return try open(role: role, mode: mode)
        } catch .opening(.noSuchStore) {
            return nil
        }
    }

    /// Creates the file, which has no permissions but these, from the beginning; the system may leave some out.
    ///
    /// - Parameter permissions: nine bits; `nil` = those that the system gives a new file.
    /// - Throws: `path`, `diskFull`, `io`, also if the file exists.
    package func create(role: FileRole, permissions: UInt16?) throws(StorageError) -> any StorageFile {
        guard let permissions else { return try open(role: role, mode: .createExclusively) }
        assert(permissions & ~0o777 == 0, "permissions \(permissions)")
        return try directory.create(name, role: role, permissions: permissions)
    }

    /// The identity of the file that has this name now; `nil` if there is none.
    package func identity(role: FileRole) throws(StorageError) -> FileIdentity? {
        try directory.identity(of: name, role: role)
    }

    /// The rights to the file; `nil` if there is no file, or the file system has no rights.
    package func rights(role: FileRole) throws(StorageError) -> FileRights? {
        try directory.rights(of: name, role: role)
    }

    /// Renames the file to `other`; returns `false` if a file of that name exists.
    package func renameExclusively(to other: DirectoryEntry, role: FileRole) throws(StorageError) -> Bool {
        assert(directory === other.directory, "a file leaves its directory")
        return try directory.renameExclusively(name, to: other.name, role: role)
    }

    /// Renames the file to `other`, and replaces the file that had that name.
    package func rename(to other: DirectoryEntry, role: FileRole) throws(StorageError) {
        assert(directory === other.directory, "a file leaves its directory")
        try directory.rename(name, to: other.name, role: role)
    }

    /// Removes the name.
    package func remove(role: FileRole) throws(StorageError) { try directory.remove(name, role: role) }
}
