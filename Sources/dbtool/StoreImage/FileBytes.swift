// A file as bytes at offsets, opened read-only: the input of page images and of the audit.

import EspalierAudit
import EspalierEngine
import Foundation

/// The bytes of a file.
final class FileBytes {
    /// The path as given on the command line.
    let path: String
    private let entry: DirectoryEntry
    private let file: any StorageFile

    /// Opens the file at `path`, and follows symbolic links.
    ///
    /// - Throws: `ToolError.storage` if it is missing, empty or not a regular file.
    convenience init(path: String) throws(ToolError) {
        let entry = try withPath(path) { () throws(StorageError) in try PosixFileSystem.shared.entry(at: path) }
        let file = try withPath(path) { () throws(StorageError) in try entry.open(role: .store, mode: .readOnly) }
        self.init(file, entry, path: path)
        if try count() == 0 { throw .storage(.opening(.notAStore(.empty)), path: path) }
    }

    private init(_ file: any StorageFile, _ entry: DirectoryEntry, path: String) {
        (self.file, self.entry, self.path) = (file, entry, path)
    }

    /// The log next to the file itself, not next to a symbolic link to it; `nil` if there is none.
    ///
    /// A crash can leave an empty log.
    func log() throws(ToolError) -> FileBytes? {
        let log = try withPath(path) { () throws(StorageError) in
            try entry.log.openIfPresent(role: .log, mode: .readOnly)
        }
        return log.map { FileBytes($0, entry.log, path: path + "-wal") }
    }

    /// Whether there is a log next to the file.
    func hasLog() throws(ToolError) -> Bool {
        try withPath(path) { () throws(StorageError) in try entry.log.identity(role: .log) != nil }
    }

    /// The current size of the file in bytes.
    func count() throws(ToolError) -> UInt64 {
        try withPath(path) { () throws(StorageError) in try file.size() }
    }

    /// The first offset at or after `offset` that is not in a hole of the file; its size if there is none.
    func nextData(from offset: UInt64) throws(ToolError) -> UInt64 {
        try withPath(path) { () throws(StorageError) in try file.nextData(from: offset) }
    }

    /// Up to `count` bytes at `offset`.
    func bytes(from offset: UInt64, count: Int) throws(ToolError) -> [UInt8] {
        try withPath(path) { () throws(StorageError) in
            let scratch = ScratchBytes(byteCount: count)
            let found = try scratch.read(0..<count, from: file, at: offset)
            return scratch.with(0..<found) { $0.loadBytes(at: 0, count: found) }
        }
    }
}

extension FileBytes: ByteSource {
    func byteCount() throws(AuditFailure) -> UInt64 {
        do throws(ToolError) { return try count() } catch { throw .unreadable("\(error)") }
    }

    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        do throws(ToolError) { return try bytes(from: offset, count: count) } catch { throw .unreadable("\(error)") }
    }
}

/// Foundation's reason for a failed file operation, in one sentence.
enum FileFailure {
    /// The operating system's message if there is one, otherwise Foundation's.
    static func reason(_ error: any Error) -> String {
        let cocoa = error as NSError
        guard let system = cocoa.userInfo[NSUnderlyingErrorKey] as? NSError, system.domain == NSPOSIXErrorDomain else {
            return cocoa.localizedDescription
        }
        return Platform.message(of: Int32(system.code))
    }
}
