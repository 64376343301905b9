// The operating system's files.
//
// Invariants
//   1. A store keeps one descriptor per role for its whole life: the system reports an error of a delayed write to the
//      descriptor that wrote (engine rule F9).
//   2. An error of `close` is thrown, not ignored (F6).

import Synchronization

/// Files of the operating system.
package final class PosixFileSystem: FileSystem {
    /// The one instance; it has no state.
    package static let shared = PosixFileSystem()

    private init() {}

    package func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try PosixDirectory.entry(at: path)
    }

    package func now() -> UInt64 { Platform.now() }

    package func random() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

/// An open file of the operating system.
final class PosixFile: StorageFile {
    let role: FileRole
    let identity: FileIdentity
    /// The files that this process, or one that it was forked from, has locked, each with the number of that process:
    /// the system does not report a process's own locks to it.
    private static let locked = Mutex<[FileIdentity: Int32]>([:])

    private let descriptor: Int32
    private let owner = ProcessMark()
    private let isClosed = Atomic(false)
    private let holdsLock = Atomic(false)

    init(descriptor: Int32, role: FileRole, identity: FileIdentity) {
        assert(descriptor >= 0, "descriptor \(descriptor)")
        self.descriptor = descriptor
        self.role = role
        self.identity = identity
    }

    deinit {
        if !isClosed.load(ordering: .relaxed) { _ = release() }
    }

    /// Releases the lock and closes the descriptor.
    ///
    /// Unlocks before `close`, with a call of its own: a forked child that has not yet called `exec` shares the open
    /// file, and would keep the lock after this process's close. In such a child this method leaves the lock alone,
    /// because it belongs to the parent.
    private func release() -> Int {
        if !owner.isForeign {
            _ = Platform.unlock(descriptor, byte: LockByte.writer)
            if holdsLock.exchange(false, ordering: .relaxed) {
                Self.locked.withLock { $0[identity] = nil }
            }
        }
        return Platform.close(descriptor)
    }

    /// Throws the error for a negative result of the operating system.
    private func check(_ code: Int, _ operation: IOOperation) throws(StorageError) {
        if code < 0 { throw failure(operation, errno: Int32(-code)) }
    }

    func size() throws(StorageError) -> UInt64 {
        var status: Platform.FileStatus?
        let code = Platform.status(descriptor, into: &status)
        guard let status else { throw failure(.size, errno: Int32(-code)) }
        assert(code >= 0, "the system's code \(code) and a size")
        return status.byteCount
    }

    func linkCount() throws(StorageError) -> UInt64 {
        var status: Platform.FileStatus?
        let code = Platform.status(descriptor, into: &status)
        guard let status else { throw failure(.size, errno: Int32(-code)) }
        assert(code >= 0, "the system's code \(code) and a number of names")
        return status.linkCount
    }

    func setRights(_ rights: FileRights) throws(StorageError) {
        var status: Platform.FileStatus?
        let code = Platform.status(descriptor, into: &status)
        guard let status else { throw failure(.permissions, errno: Int32(-code)) }
        assert(code >= 0, "the system's code \(code) and rights")
        if status.rights.permissions != rights.permissions {
            let changed = Platform.setPermissions(descriptor, rights.permissions)
            // A file system that keeps neither permissions nor owners refuses the call: nothing can be hidden there.
            try check(Self.isRefusal(changed) ? 0 : changed, .permissions)
        }
        // Other users own what they create, and may not give it away.
        guard Platform.isSuperuser, (status.rights.owner, status.rights.group) != (rights.owner, rights.group) else {
            return
        }
        let given = Platform.setOwner(descriptor, rights.owner, group: rights.group)
        // A container may have no number for the owner (EINVAL): the file stays the superuser's then.
        try check(Self.isRefusal(given) || given == -Int(Platform.invalid) ? 0 : given, .permissions)
    }

    /// Whether a file system has refused to change the rights to a file.
    private static func isRefusal(_ code: Int) -> Bool {
        code == -Int(Platform.notPermitted) || code == -Int(Platform.notSupported)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        let count = unsafe Platform.read(descriptor, into: buffer, at: offset)
        try check(count, .read)
        assert(count >= 0 && count <= buffer.count, "\(count) bytes of \(buffer.count) were read")
        return count
    }

    func nextData(from offset: UInt64) throws(StorageError) -> UInt64 {
        let size = try size()
        guard offset < size else { return size }
        let found = Platform.nextData(descriptor, from: offset)
        if found == -Int(Platform.noSuchAddress) { return size }
        // On a file system that cannot report holes, every byte counts as data.
        assert(found < 0 || UInt64(found) >= offset, "data at \(found), before \(offset)")
        return found < 0 ? offset : UInt64(found)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        let count = unsafe Platform.write(descriptor, buffer, at: offset)
        try check(count, .write)
        assert(count >= 0 && count <= buffer.count, "\(count) bytes of \(buffer.count) were written")
        return count
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        assert(!isClosed.load(ordering: .relaxed), "a file that is closed")
        try check(Platform.sync(descriptor, barrierOnly: level == .barrier), .sync)
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        assert(byteCount <= UInt64(Int64.max), "a file of \(byteCount) bytes")
        assert(!isClosed.load(ordering: .relaxed), "a file that is closed")
        try check(Platform.truncate(descriptor, to: byteCount), .truncate)
    }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        assert(!isClosed.load(ordering: .relaxed), "a file that is closed")
        let current = try size()
        guard byteCount > current else { return }
        let code = Platform.allocate(descriptor, from: current, byteCount: byteCount - current)
        // A file system that cannot reserve space can still extend the file.
        if code == -Int(Platform.notSupported) || code == -Int(Platform.invalid) { return try truncate(to: byteCount) }
        try check(code, .allocate)
    }

    func lockForWriting() throws(StorageError) {
        assert(!isClosed.load(ordering: .relaxed), "a file that is closed")
        let code = Platform.lock(descriptor, byte: LockByte.writer, exclusive: true)
        if code < 0 {
            // EAGAIN and EACCES both mean that another open file holds the lock.
            let isHeld = code == -Int(Platform.tryAgain) || code == -Int(Platform.accessDenied)
            guard isHeld else { throw failure(.lock, errno: Int32(-code)) }
            let marked = Platform.markedProcess(descriptor, byte: LockByte.processMark)
            let known = Self.locked.withLock { $0[identity] } ?? 0
            throw .opening(.storeBusy(pid: marked == 0 ? known : marked))
        }
        holdsLock.store(true, ordering: .relaxed)
        Self.locked.withLock { $0[identity] = owner.processID }
        // Names this process in the error that other processes throw; the lock above is what excludes them.
        _ = Platform.markProcess(descriptor, byte: LockByte.processMark)
    }

    var isLockedByWriter: Bool { Platform.isLocked(descriptor, byte: LockByte.writer) }

    func close() throws(StorageError) {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        try check(release(), .write)
    }
}
