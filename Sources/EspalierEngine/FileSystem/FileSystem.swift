// The seam to the operating system: the engine reaches files, the clock and random numbers only through these three
// protocols, so that tests can use a simulated file system and a store can live in memory.
//
// Invariants
//   1. No other code of the engine touches a file, reads a clock or asks for random numbers.
//   2. `read` and `write` may transfer fewer bytes than asked; the engine calls `readFully` and `writeFully`.
//   3. `entry(at:)` resolves a path once. Later operations use the directory that it found, which stays open: `chdir`,
//      a renamed folder or a changed symbolic link does not redirect them to another file.

/// A file's identity within the running system: two paths with equal identity name the same file.
package struct FileIdentity: Hashable, Sendable {
    /// The device (or the simulated file system).
    package let device: UInt64
    /// The file on that device.
    package let inode: UInt64

    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// The ways to open a file.
package enum OpenMode: UInt8, Sendable {
    case readOnly, readWrite, createExclusively
}

/// The guarantee that a sync gives.
package enum SyncLevel: UInt8, Sendable {
    /// The data is safe from power loss.
    case durable
    /// The data reaches the disk before any later write does (a full sync on a system without barriers).
    case barrier
}

/// Directories and files, the time, and random numbers.
package protocol FileSystem: AnyObject, Sendable {
    /// Resolves `path` to a directory entry; the file need not exist.
    ///
    /// Follows symbolic links to the end, so that the log is in the folder of the file itself, not in that of a link.
    ///
    /// - Throws: `path`, `notAStore(.directory)` if `path` can only name a directory, `io`.
    func entry(at path: String) throws(StorageError) -> DirectoryEntry
    /// Nanoseconds since 1970.
    func now() -> UInt64
    /// 64 random bits.
    func random() -> UInt64
}

extension FileSystem {
    /// Opens the file at `path`, for a caller that needs no other file of its directory.
    ///
    /// - Throws: `noSuchStore` if the file is missing and `mode` does not create it.
    package func open(_ path: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try entry(at: path).open(role: role, mode: mode)
    }
}

/// An open directory: it stays the same directory even if its path is renamed.
package protocol StorageDirectory: AnyObject, Sendable {
    /// Opens the file `name`, without following a symbolic link.
    ///
    /// - Throws: `noSuchStore` if the file is missing and `mode` does not create it.
    func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile
    /// Creates the file `name`, which has no permissions but these, from the beginning; the system may leave some out.
    func create(_ name: String, role: FileRole, permissions: UInt16) throws(StorageError) -> any StorageFile
    /// The identity of the file called `name`; `nil` if there is none.
    func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity?
    /// The rights to the file called `name`; `nil` if there is no such file, or the file system has no rights.
    func rights(of name: String, role: FileRole) throws(StorageError) -> FileRights?
    /// The names in the directory that begin with `prefix`, sorted.
    ///
    /// - Complexity: O(names in the directory).
    func names(beginningWith prefix: String) throws(StorageError) -> [String]
    /// Renames the file `name` to `newName`, unless a file called `newName` exists.
    ///
    /// - Returns: `false` if it exists.
    func renameExclusively(_ name: String, to newName: String, role: FileRole) throws(StorageError) -> Bool
    /// Renames the file `name` to `newName`, and replaces the file that had that name.
    func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError)
    /// Removes the name `name`.
    func remove(_ name: String, role: FileRole) throws(StorageError)
    /// Makes the names in the directory durable.
    func sync() throws(StorageError)
}

extension StorageDirectory {
    /// Creates the file: for file systems without rights.
    package func create(
        _ name: String, role: FileRole, permissions: UInt16
    ) throws(StorageError) -> any StorageFile {
        try open(name, role: role, mode: .createExclusively)
    }

    /// `nil`: for file systems without rights.
    package func rights(of name: String, role: FileRole) throws(StorageError) -> FileRights? { nil }
}

/// An open file.
package protocol StorageFile: AnyObject, Sendable {
    /// The role of this file in the store.
    var role: FileRole { get }
    /// The file's identity.
    var identity: FileIdentity { get }
    /// The file's size in bytes.
    func size() throws(StorageError) -> UInt64
    /// Reads up to `buffer.count` bytes at `offset`; may read fewer anywhere, and 0 only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
    /// The first offset >= `offset` where the file may have a nonzero byte; at most the size of the file.
    func nextData(from offset: UInt64) throws(StorageError) -> UInt64
    /// Writes 1 to `buffer.count` bytes at `offset`; extends the file if needed.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
    /// Makes all earlier writes durable.
    ///
    /// After an error it is unknown which of them are durable.
    func sync(_ level: SyncLevel) throws(StorageError)
    /// Sets the size of the file; new bytes are zero.
    func truncate(to byteCount: UInt64) throws(StorageError)
    /// Reserves space up to `byteCount`, extending the file with zeros.
    ///
    /// - Throws: `diskFull`; the bytes that the file had stay unchanged.
    func allocate(to byteCount: UInt64) throws(StorageError)
    /// The number of names of the file: 0 after it was removed, more than 1 if there are hard links.
    func linkCount() throws(StorageError) -> UInt64
    /// Sets the permissions of the file and, if the process is the superuser's, its owner and its group; keeps those
    /// that the file system refuses to change.
    func setRights(_ rights: FileRights) throws(StorageError)
    /// Acquires the lock of the writing process.
    ///
    /// - Throws: `storeBusy` if another open file holds it.
    func lockForWriting() throws(StorageError)
    /// Whether another open file holds the lock of the writing process.
    var isLockedByWriter: Bool { get }
    /// Releases all locks and closes the descriptor.
    func close() throws(StorageError)
}

extension StorageFile {
    /// 1: for file systems without hard links.
    package func linkCount() throws(StorageError) -> UInt64 { 1 }

    /// Does nothing: for file systems without rights.
    package func setRights(_ rights: FileRights) throws(StorageError) {}

    /// `false`: for files that no other process can open.
    package var isLockedByWriter: Bool { false }

    /// `offset`, but at most the size: for file systems that do not report holes.
    package func nextData(from offset: UInt64) throws(StorageError) -> UInt64 { min(offset, try size()) }

    /// Reads until `buffer` is full or the file ends; returns the number of bytes read.
    package func readFully(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        var done = 0
        while done < buffer.count {
            // SAFETY: `done` is within the buffer.
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe try read(into: rest, at: offset + UInt64(done))
            assert(count >= 0 && done + count <= buffer.count, "\(count) bytes were read")
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all of `buffer`.
    package func writeFully(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
        var done = 0
        while done < buffer.count {
            // SAFETY: `done` is within the buffer.
            let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe try write(rest, at: offset + UInt64(done))
            assert(done + count <= buffer.count, "\(count) bytes were written")
            guard count > 0 else { throw failure(.write, errno: 0) }
            done += count
        }
    }

    /// The error of a failed call: `diskFull` if `errno` means a lack of space, otherwise `io`.
    package func failure(_ operation: IOOperation, errno: Int32) -> StorageError {
        assert(errno >= 0, "the system's code \(errno)")
        let isFull = errno == Platform.noSpace || errno == Platform.quotaExceeded || errno == Platform.fileTooBig
        return isFull ? .diskFull : .io(IOFailure(operation: operation, file: role, errno: errno))
    }
}

/// Byte positions of locks, far beyond the end of any store file.
package enum LockByte {
    /// The first lock byte: 2^62.
    package static let base: UInt64 = 1 << 62
    /// Held exclusively by the process that may write.
    package static let writer = base
    /// Marked by a lock that names the writing process.
    package static let processMark = base + 8
    // Reserved for stores that several processes write: base + 2 for a checkpointer, base + 16 and up for readers.
}
