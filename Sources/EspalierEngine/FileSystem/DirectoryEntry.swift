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
        DirectoryEntry(directory, name + ".tmp-" + String(random, radix: 36))
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
        } catch .noSuchStore {
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
