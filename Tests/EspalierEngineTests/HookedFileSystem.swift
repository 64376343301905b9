// Files, in memory by default, whose calls a test can delay, count or make fail.

import EspalierEngine
import Synchronization
import TestSupport

/// Files with a hook before each read, write, sync and reservation.
final class HookedFileSystem: FileSystem {
    enum Call { case read, write, sync, allocate }
    typealias Hook = @Sendable (Call, FileRole) throws(StorageError) -> Void

    private let files: any FileSystem
    private let hook = Mutex<Hook?>(nil)
    private let isLocked = Mutex<(@Sendable () -> Bool)?>(nil)

    init(over files: any FileSystem = MemoryFileSystem()) { self.files = files }

    /// Calls `hook` before each later call, which fails with the error that `hook` throws.
    func arm(_ hook: Hook?) { self.hook.withLock { $0 = hook } }

    /// Makes `isLocked` answer from now on whether another process holds the lock for writing.
    func answerLock(_ isLocked: @escaping @Sendable () -> Bool) { self.isLocked.withLock { $0 = isLocked } }

    var isLockedByWriter: Bool? { isLocked.withLock { $0 }?() }

    func will(_ call: Call, _ role: FileRole) throws(StorageError) {
        if let hook = hook.withLock({ $0 }) { try hook(call, role) }
    }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try WrappedDirectory.entry(at: path, of: files) { [self] _, file in HookedFile(file, in: self) }
    }

    func now() -> UInt64 { files.now() }
    func random() -> UInt64 { files.random() }
}

private final class HookedFile: StorageFile {
    private let file: any StorageFile
    private let system: HookedFileSystem

    init(_ file: any StorageFile, in system: HookedFileSystem) {
        self.file = file
        self.system = system
    }

    var role: FileRole { file.role }
    var identity: FileIdentity { file.identity }
    func size() throws(StorageError) -> UInt64 { try file.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        try system.will(.read, role)
        // SAFETY: the caller's buffer is valid for the length of the call.
        return unsafe try file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        try system.will(.write, role)
        // SAFETY: the caller's buffer is valid for the length of the call.
        return unsafe try file.write(buffer, at: offset)
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        try system.will(.sync, role)
        try file.sync(level)
    }

    func truncate(to byteCount: UInt64) throws(StorageError) { try file.truncate(to: byteCount) }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        try system.will(.allocate, role)
        try file.allocate(to: byteCount)
    }

    func linkCount() throws(StorageError) -> UInt64 { try file.linkCount() }
    func lockForWriting() throws(StorageError) { try file.lockForWriting() }
    var isLockedByWriter: Bool { system.isLockedByWriter ?? file.isLockedByWriter }
    func close() throws(StorageError) { try file.close() }
}
