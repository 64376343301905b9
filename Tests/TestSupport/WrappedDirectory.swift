// A directory of another file system whose files a test wraps.

package import EspalierEngine

/// A directory that hands everything on, but for what it opens and how it calls its files.
package final class WrappedDirectory: StorageDirectory {
    package typealias Opening =
        @Sendable (_ name: String, any StorageFile) throws(StorageError) -> any StorageFile

    private let base: any StorageDirectory
    private let opened: Opening
    private let identity: @Sendable (FileIdentity) -> FileIdentity

    /// The entry that `files` finds at `path`, in a directory that gives each file it opens to `opened`.
    package static func entry(
        at path: String, of files: any FileSystem,
        identity: @escaping @Sendable (FileIdentity) -> FileIdentity = { $0 },
        opened: @escaping Opening
    ) throws(StorageError) -> DirectoryEntry {
        let entry = try files.entry(at: path)
        return DirectoryEntry(WrappedDirectory(entry.directory, identity, opened), entry.name)
    }

    private init(
        _ base: any StorageDirectory, _ identity: @escaping @Sendable (FileIdentity) -> FileIdentity,
        _ opened: @escaping Opening
    ) {
        (self.base, self.identity, self.opened) = (base, identity, opened)
    }

    package func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try opened(name, try base.open(name, role: role, mode: mode))
    }

    package func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        try base.identity(of: name, role: role).map(identity)
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
