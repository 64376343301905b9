// The seam to the operating system: everything the engine asks of files, clocks and chance goes through these three
// protocols, so that a simulated file system can stand in and a store can live in memory.
//
// Invariants
//   1. Nothing in the engine calls the operating system, a clock or a random generator otherwise.
//   2. One dynamic call per file operation (8 ns of at least 645 ns), never one per page in the cache.
//   3. `read` and `write` may do less than asked; `readFully` and `writeFully` are what the engine uses.
//   4. A path is looked up once, by `entry(at:)`. What follows goes by the directory that was found, which is held
//      open: neither `chdir` nor a renamed folder nor a changed symbolic link leads it to another file.

/// A file's identity within the running system: two paths with equal identity name the same file.
package struct FileIdentity: Hashable, Sendable {
    /// The device (or the simulated file system).
    package let device: UInt64
    /// The file on that device.
    package let inode: UInt64

    /// States an identity.
    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// How a file is opened.
package enum OpenMode: UInt8, Sendable {
    case readOnly, readWrite, createExclusively
}

/// What a sync must reach.
package enum SyncLevel: UInt8, Sendable {
    /// The data is safe from power loss.
    case durable
    /// The data reaches the disk before anything written later (a full sync where the system knows no barrier).
    case barrier
}

/// A place to keep files.
package protocol FileSystem: AnyObject, Sendable {
    /// Finds the directory entry that `path` names now, whether there is a file yet or not.
    ///
    /// Symbolic links are followed to their end, so that what is kept beside the file lies beside the file itself.
    ///
    /// - Throws: `path`, `notAStore(.directory)` if the path can name nothing but a directory, `io`.
    func entry(at path: String) throws(StorageError) -> DirectoryEntry
    /// Nanoseconds since 1970.
    func now() -> UInt64
    /// 64 random bits.
    func random() -> UInt64
}

extension FileSystem {
    /// Opens the file at `path`, for a caller that needs nothing else of its directory.
    ///
    /// Throws `noSuchStore` if it is missing and not to be created.
    package func open(_ path: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try entry(at: path).open(role: role, mode: mode)
    }
}

/// A directory that is held open: it stays this one, whatever becomes of its name.
package protocol StorageDirectory: AnyObject, Sendable {
    /// Opens the file `name`, without following a symbolic link.
    ///
    /// Throws `noSuchStore` if it is missing and not to be created.
    func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile
    /// The identity of what has the name `name`, or `nil` if there is nothing.
    func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity?
    /// The names in the directory that begin with `prefix`, sorted.
    ///
    /// Complexity: O(names in the directory).
    func names(beginningWith prefix: String) throws(StorageError) -> [String]
    /// Gives the file `name` the name `newName`, unless that is taken.
    ///
    /// Returns `false` if it is.
    func renameExclusively(_ name: String, to newName: String, role: FileRole) throws(StorageError) -> Bool
    /// Gives the file `name` the name `newName`, replacing what has that name.
    func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError)
    /// Removes the name `name`.
    func remove(_ name: String, role: FileRole) throws(StorageError)
    /// Makes the names in the directory durable.
    func sync() throws(StorageError)
}

/// An open file.
package protocol StorageFile: AnyObject, Sendable {
    /// Which of the store's files this is.
    var role: FileRole { get }
    /// The file's identity.
    var identity: FileIdentity { get }
    /// The file's size in bytes.
    func size() throws(StorageError) -> UInt64
    /// Reads up to `buffer.count` bytes at `offset`; fewer only at the end of the file or by chance, 0 at its end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
    /// The first offset from `offset` on that may hold other bytes than zeros, at most the size of the file.
    func nextData(from offset: UInt64) throws(StorageError) -> UInt64
    /// Writes up to `buffer.count` bytes at `offset`, at least one; extends the file if needed.
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
    /// Makes what was written durable.
    ///
    /// After an error nothing is known about it.
    func sync(_ level: SyncLevel) throws(StorageError)
    /// Cuts the file, or extends it with zeros.
    func truncate(to byteCount: UInt64) throws(StorageError)
    /// Reserves space up to `byteCount`, extending the file with zeros.
    ///
    /// Throws `diskFull`, and then changes nothing
    /// that matters.
    func allocate(to byteCount: UInt64) throws(StorageError)
    /// How many names the file has: 0 after it was removed, more than 1 if there are hard links.
    func linkCount() throws(StorageError) -> UInt64
    /// Takes the lock that a writing process holds.
    ///
    /// Throws `storeBusy`.
    func lockForWriting() throws(StorageError)
    /// Whether someone else holds the lock that a writing process takes.
    var isLockedByWriter: Bool { get }
    /// Gives up all locks and the descriptor.
    func close() throws(StorageError)
}

extension StorageFile {
    /// Where files have one name each.
    package func linkCount() throws(StorageError) -> UInt64 { 1 }

    /// Where no other process can be, nobody holds the lock.
    package var isLockedByWriter: Bool { false }

    /// Where holes are not known, every byte may be one.
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

    /// The error of a failed call: `diskFull` where the reason is want of space.
    package func failure(_ operation: IOOperation, errno: Int32) -> StorageError {
        let isFull = errno == Platform.noSpace || errno == Platform.quotaExceeded || errno == Platform.fileTooBig
        return isFull ? .diskFull : .io(IOFailure(operation: operation, file: role, errno: errno))
    }
}

/// Byte positions of locks, far beyond the end of any store file.
package enum LockByte {
    /// Where lock bytes begin: 2^62.
    package static let base: UInt64 = 1 << 62
    /// Held exclusively by the process that may write.
    package static let writer = base
    /// Marked by a lock that names the writing process.
    package static let processMark = base + 8
    // Reserved for stores that several processes write: base + 2 checkpointer, base + 16 and following reader slots.
}
