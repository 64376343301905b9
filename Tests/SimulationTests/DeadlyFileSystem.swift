// The operating system's files, of whose calls one kills the process: before the call, after it, or with half of its
// bytes written.
//
// Invariants
//   1. Every call of a directory or a file counts, reads included, so an operation can end at any moment.
//   2. Calls outside `deadly` neither count nor kill.

import EspalierEngine
import Foundation
import Synchronization

/// Files that kill the process.
final class DeadlyFileSystem: FileSystem {
    /// The moment of the call at which the process ends.
    enum Moment: CaseIterable { case before, within, after }

    private let system = PosixFileSystem.shared
    private let callsLeft = Atomic<Int>(.max)
    private let isDeadly = Atomic(false)
    private let moment: Moment

    /// - Parameter calls: the number of calls before the one that kills the process; `nil`: no call does.
    init(after calls: Int? = nil, _ moment: Moment = .before) {
        self.moment = moment
        if let calls { callsLeft.store(calls, ordering: .relaxed) }
    }

    /// Runs `body` and counts its calls.
    @discardableResult
    func deadly<R>(_ body: () throws -> R) rethrows -> R {
        isDeadly.store(true, ordering: .relaxed)
        defer { isDeadly.store(false, ordering: .relaxed) }
        return try body()
    }

    /// Makes the call `body`; `half` is the part of it that is done if the process ends within it.
    fileprivate func call<R>(
        half: () throws(StorageError) -> Void = {}, _ body: () throws(StorageError) -> R
    ) throws(StorageError) -> R {
        guard isDeadly.load(ordering: .relaxed),
            callsLeft.wrappingSubtract(1, ordering: .relaxed).oldValue == 0
        else { return try body() }
        switch moment {
        case .before: break
        case .within: try half()
        case .after: _ = try body()
        }
        kill(getpid(), SIGKILL)
        // Do not return: the signal may reach another thread first.
        while true { usleep(1000) }
    }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        let entry = try call { () throws(StorageError) in try system.entry(at: path) }
        return DirectoryEntry(DeadlyDirectory(entry.directory, in: self), entry.name)
    }

    func now() -> UInt64 { system.now() }
    func random() -> UInt64 { system.random() }
}

private final class DeadlyDirectory: StorageDirectory {
    private let directory: any StorageDirectory
    private let system: DeadlyFileSystem

    init(_ directory: any StorageDirectory, in system: DeadlyFileSystem) {
        (self.directory, self.system) = (directory, system)
    }

    func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try system.call { () throws(StorageError) in
            DeadlyFile(try directory.open(name, role: role, mode: mode), in: system)
        }
    }

    func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        try system.call { () throws(StorageError) in try directory.identity(of: name, role: role) }
    }

    func names(beginningWith prefix: String) throws(StorageError) -> [String] {
        try system.call { () throws(StorageError) in try directory.names(beginningWith: prefix) }
    }

    func renameExclusively(_ name: String, to newName: String, role: FileRole) throws(StorageError) -> Bool {
        try system.call { () throws(StorageError) in
            try directory.renameExclusively(name, to: newName, role: role)
        }
    }

    func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError) {
        try system.call { () throws(StorageError) in try directory.rename(name, to: newName, role: role) }
    }

    func remove(_ name: String, role: FileRole) throws(StorageError) {
        try system.call { () throws(StorageError) in try directory.remove(name, role: role) }
    }

    func sync() throws(StorageError) { try system.call { () throws(StorageError) in try directory.sync() } }
}

private final class DeadlyFile: StorageFile {
    private let file: any StorageFile
    private let system: DeadlyFileSystem

    init(_ file: any StorageFile, in system: DeadlyFileSystem) { (self.file, self.system) = (file, system) }

    var role: FileRole { file.role }
    var identity: FileIdentity { file.identity }
    var isLockedByWriter: Bool { file.isLockedByWriter }
    func size() throws(StorageError) -> UInt64 { try system.call { () throws(StorageError) in try file.size() } }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        try system.call { () throws(StorageError) in unsafe try file.read(into: buffer, at: offset) }
    }

    func nextData(from offset: UInt64) throws(StorageError) -> UInt64 {
        try system.call { () throws(StorageError) in try file.nextData(from: offset) }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call, and its half is in it.
        let half = unsafe UnsafeRawBufferPointer(rebasing: buffer.prefix((buffer.count + 1) / 2))
        return try system.call(half: { () throws(StorageError) in _ = unsafe try file.write(half, at: offset) }) {
            () throws(StorageError) in unsafe try file.write(buffer, at: offset)
        }
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        try system.call { () throws(StorageError) in try file.sync(level) }
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        try system.call { () throws(StorageError) in try file.truncate(to: byteCount) }
    }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        try system.call { () throws(StorageError) in try file.allocate(to: byteCount) }
    }

    func linkCount() throws(StorageError) -> UInt64 {
        try system.call { () throws(StorageError) in try file.linkCount() }
    }

    func lockForWriting() throws(StorageError) {
        try system.call { () throws(StorageError) in try file.lockForWriting() }
    }

    func close() throws(StorageError) { try system.call { () throws(StorageError) in try file.close() } }
}
