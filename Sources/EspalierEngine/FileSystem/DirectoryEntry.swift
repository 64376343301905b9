// A name in a directory that is held open: how the engine refers to a file from the moment a path was looked up.
//
// Invariants
//   1. All entries made from one lie in the same directory, so a rename between them is one step.

/// A name in a directory.
package struct DirectoryEntry: Sendable {
    /// The directory.
    package let directory: any StorageDirectory
    /// The name in it; never empty.
    package let name: String

    /// Puts a name and its directory together.
    package init(_ directory: any StorageDirectory, _ name: String) {
        self.directory = directory
        self.name = name
    }

    /// The entry of the log beside this store.
    package var log: DirectoryEntry { DirectoryEntry(directory, name + "-wal") }

    /// An entry beside this one for a file that gets this name when it is whole.
    package func temporary(_ random: UInt64) -> DirectoryEntry {
        DirectoryEntry(directory, temporaryPrefix + String(random, radix: 36))
    }

    private var temporaryPrefix: String { name + ".tmp-" }

    /// Refuses to write a file with several names: each of them would have a log of its own.
    ///
    /// Temporary names of this entry do not count, and are removed: where the file system renames in two steps, a crash
    /// in between leaves a whole file with both of its names. Reading needs no such rule, because a log counts only if
    /// it names the store and the store names it.
    ///
    /// - Parameter file: the file that has the name, locked by this process.
    /// - Throws: `path(.hardLinked)`, and then no name was removed; `io`.
    /// - Complexity: O(names in the directory) if the file has several names.
    package func requireSingleName(of file: any StorageFile) throws(StorageError) {
        guard try file.linkCount() > 1 else { return }
        let leftovers = try temporaries(of: file)
        guard try file.linkCount() <= UInt64(1 + leftovers.count) else { throw .path(.hardLinked) }
        for leftover in leftovers {
            do throws(StorageError) {
                try leftover.remove(role: file.role)
            } catch {
                // The process that renames may have removed it in the meantime.
                guard try leftover.identity(role: file.role) == nil else { throw error }
            }
        }
        try directory.sync()
        guard try file.linkCount() <= 1 else { throw .path(.hardLinked) }
    }

    /// The temporary entries of this one that name the same file.
    private func temporaries(of file: any StorageFile) throws(StorageError) -> [DirectoryEntry] {
        var found: [DirectoryEntry] = []
        for other in try directory.names(beginningWith: temporaryPrefix) {
            guard UInt64(other.dropFirst(temporaryPrefix.count), radix: 36) != nil else { continue }
            let entry = DirectoryEntry(directory, other)
            // Another file is what another process is writing.
            if try entry.identity(role: file.role) == file.identity { found.append(entry) }
        }
        return found
    }

    /// Opens the file.
    ///
    /// - Throws: `noSuchStore` if it is missing and not to be created; `notAStore`, `path`, `diskFull`, `io`.
    package func open(role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try directory.open(name, role: role, mode: mode)
    }

    /// Opens the file, or says that there is none.
    package func openIfPresent(role: FileRole, mode: OpenMode) throws(StorageError) -> (any StorageFile)? {
        do throws(StorageError) {
            return try open(role: role, mode: mode)
        } catch .opening(.noSuchStore) {
            return nil
        }
    }

    /// The identity of the file that has the name now, or `nil` if none has.
    package func identity(role: FileRole) throws(StorageError) -> FileIdentity? {
        try directory.identity(of: name, role: role)
    }

    /// Gives the file another name in the directory, unless that is taken; `false` if it is.
    package func renameExclusively(to other: DirectoryEntry, role: FileRole) throws(StorageError) -> Bool {
        try directory.renameExclusively(name, to: other.name, role: role)
    }

    /// Gives the file another name in the directory, replacing what has it.
    package func rename(to other: DirectoryEntry, role: FileRole) throws(StorageError) {
        try directory.rename(name, to: other.name, role: role)
    }

    /// Removes the name.
    package func remove(role: FileRole) throws(StorageError) { try directory.remove(name, role: role) }
}
