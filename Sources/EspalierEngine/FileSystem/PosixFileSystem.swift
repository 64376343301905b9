// The operating system's files.
//
// Invariants
//   1. One descriptor per role for the life of a store: an error of delayed writing is reported to the descriptor that
//      wrote (engine rule F9).
//   2. Errors of close are errors (F6).

import Synchronization

/// Files of the operating system.
package final class PosixFileSystem: FileSystem {
    /// The one instance; it has no state.
    package static let shared = PosixFileSystem()

    private init() {}

    package func open(_ path: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        let code = Platform.open(path, writable: mode != .readOnly, createExclusively: mode == .createExclusively)
        guard code >= 0 else {
            let errno = Int32(-code)
            if errno == Platform.noEntry { throw .noSuchStore }
            if errno == Platform.isDirectory { throw .notAStore(.directory) }
            throw .io(IOFailure(operation: .open, file: role, errno: errno))
        }
        let descriptor = Int32(code)
        var status: Platform.FileStatus?
        let answer = Platform.status(descriptor, into: &status)
        guard let status else {
            _ = Platform.close(descriptor)
            throw .io(IOFailure(operation: .open, file: role, errno: Int32(-answer)))
        }
        guard status.isRegular else {
            _ = Platform.close(descriptor)
            throw .notAStore(status.isDirectory ? .directory : .notAFile)
        }
        return PosixFile(
            descriptor: descriptor, role: role, identity: FileIdentity(device: status.device, inode: status.inode))
    }

    package func identity(of path: String) throws(StorageError) -> FileIdentity? {
        var status: Platform.FileStatus?
        let code = Platform.status(of: path, into: &status)
        if code == -Int(Platform.noEntry) { return nil }
        guard let status else { throw .io(IOFailure(operation: .open, file: .store, errno: Int32(-code))) }
        return FileIdentity(device: status.device, inode: status.inode)
    }

    package func renameExclusively(_ path: String, to newPath: String) throws(StorageError) -> Bool {
        let linked = Platform.link(path, newPath)
        if linked == -Int(Platform.exists) { return false }
        if linked < 0 {
            // File systems without hard links: the window between the look and the rename is the price.
            guard try identity(of: newPath) == nil else { return false }
            try rename(path, to: newPath)
            return true
        }
        try remove(path)
        return true
    }

    package func rename(_ path: String, to newPath: String) throws(StorageError) {
        let code = Platform.rename(path, newPath)
        guard code >= 0 else { throw .io(IOFailure(operation: .rename, file: .directory, errno: Int32(-code))) }
    }

    package func remove(_ path: String) throws(StorageError) {
        let code = Platform.remove(path)
        guard code >= 0 else { throw .io(IOFailure(operation: .remove, file: .directory, errno: Int32(-code))) }
    }

    package func syncDirectory(of path: String) throws(StorageError) {
        let code = Platform.syncDirectory(Self.directory(of: path))
        guard code >= 0 else { throw .io(IOFailure(operation: .sync, file: .directory, errno: Int32(-code))) }
    }

    package func now() -> UInt64 { Platform.now() }

    package func random() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// The directory part of `path`.
    private static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }
}

/// An open file of the operating system.
final class PosixFile: StorageFile {
    let role: FileRole
    let identity: FileIdentity
    private let descriptor: Int32
    private let isClosed = Atomic(false)

    init(descriptor: Int32, role: FileRole, identity: FileIdentity) {
        self.descriptor = descriptor
        self.role = role
        self.identity = identity
    }

    deinit {
        if !isClosed.load(ordering: .relaxed) { _ = release() }
    }

    /// Gives up lock and descriptor.
    ///
    /// The lock goes first and by itself: a child process that was forked and does not yet run its own program has the
    /// same open file, and would keep the lock beyond this process's close.
    private func release() -> Int {
        _ = Platform.unlock(descriptor, byte: LockByte.writer)
        return Platform.close(descriptor)
    }

    /// Throws what a negative answer of the operating system means.
    private func check(_ code: Int, _ operation: IOOperation) throws(StorageError) {
        if code < 0 { throw failure(operation, errno: Int32(-code)) }
    }

    func size() throws(StorageError) -> UInt64 {
        var status: Platform.FileStatus?
        let code = Platform.status(descriptor, into: &status)
        guard let status else { throw failure(.size, errno: Int32(-code)) }
        return status.byteCount
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        let count = unsafe Platform.read(descriptor, into: buffer, at: offset)
        try check(count, .read)
        return count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        let count = unsafe Platform.write(descriptor, buffer, at: offset)
        try check(count, .write)
        return count
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        try check(Platform.sync(descriptor, barrierOnly: level == .barrier), .sync)
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        try check(Platform.truncate(descriptor, to: byteCount), .truncate)
    }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        let current = try size()
        guard byteCount > current else { return }
        let code = Platform.allocate(descriptor, from: current, byteCount: byteCount - current)
        // A file system that cannot reserve space still can extend the file.
        if code == -Int(Platform.notSupported) || code == -Int(Platform.invalid) { return try truncate(to: byteCount) }
        try check(code, .allocate)
    }

    func lockForWriting() throws(StorageError) {
        let code = Platform.lock(descriptor, byte: LockByte.writer, exclusive: true)
        if code < 0 {
            // EAGAIN and EACCES both say "held by someone else".
            let isHeld = code == -Int(Platform.tryAgain) || code == -Int(Platform.accessDenied)
            guard isHeld else { throw failure(.lock, errno: Int32(-code)) }
            throw .storeBusy(pid: Platform.markedProcess(descriptor, byte: LockByte.processMark))
        }
        // Only for the message others get; the lock above is what excludes them.
        _ = Platform.markProcess(descriptor, byte: LockByte.processMark)
    }

    var isLockedByWriter: Bool { Platform.isLocked(descriptor, byte: LockByte.writer) }

    func close() throws(StorageError) {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        try check(release(), .write)
    }
}
