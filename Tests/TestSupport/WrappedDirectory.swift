// A directory of another file system, each of whose files a test can wrap.

package import EspalierEngine

/// A directory that forwards every call, but passes the files that it opens and the identities that it reports
/// through closures of the test.
package final class WrappedDirectory: StorageDirectory {
    package typealias Opening =
        @Sendable (_ name: String, any StorageFile) throws(StorageError) -> any StorageFile

    private let base: any StorageDirectory
    private let willOpen: @Sendable (FileRole) -> Void
    private let opened: Opening
    private let identity: @Sendable (FileIdentity) -> FileIdentity

    /// The entry that `files` finds at `path`, in a directory that returns for each opened file the result of `opened`.
    package static func entry(
        at path: String, of files: any FileSystem,
        identity: @escaping @Sendable (FileIdentity) -> FileIdentity = { $0 },
        willOpen: @escaping @Sendable (FileRole) -> Void = { _ in },
        opened: @escaping Opening
    ) throws(StorageError) -> DirectoryEntry {
        let entry = try files.entry(at: path)
        return DirectoryEntry(WrappedDirectory(entry.directory, identity, willOpen, opened), entry.name)
    }

    private init(
        _ base: any StorageDirectory, _ identity: @escaping @Sendable (FileIdentity) -> FileIdentity,
        _ willOpen: @escaping @Sendable (FileRole) -> Void, _ opened: @escaping Opening
    ) {
        (self.base, self.identity, self.willOpen, self.opened) = (base, identity, willOpen, opened)
    }

    package func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        willOpen(role)
        return try opened(name, try base.open(name, role: role, mode: mode))
    }

    package func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        try base.identity(of: name, role: role).map(identity)
    }

    package func rights(of name: String, role: FileRole) throws(StorageError) -> FileRights? {
        try base.rights(of: name, role: role)
    }

    package func names(beginningWith prefix: String) throws(StorageError) -> [String] {
        try base.names(beginningWith: prefix)
    }

    package func renameExclusively(_ name: String, to newName: String, role: FileRole) throws(StorageError) -> Bool {
        try base.renameExclusively(name, to: newName, role: role)
    }

    package func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError) {
        try base.rename(name, to: newName, role: role)
    }

    package func remove(_ name: String, role: FileRole) throws(StorageError) { try base.remove(name, role: role) }
    package func sync() throws(StorageError) { try base.sync() }
}
