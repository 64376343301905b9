// A file as bytes at offsets, opened for reading only: what page images and the audit look at.

import EspalierAudit
import EspalierEngine
import Foundation

/// The bytes of a file.
final class FileBytes {
    /// The path as it was given.
    let path: String
    private let file: FileHandle

    /// Opens the file.
    ///
    /// - Throws: `ToolError.storage` if it is missing, a directory or empty.
    init(path: String) throws(ToolError) {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else { throw .storage(.noSuchStore, path: path) }
        let kind = try? URL(fileURLWithPath: path).resourceValues(forKeys: [.isDirectoryKey])
        guard kind?.isDirectory != true else { throw .storage(.notAStore(.directory), path: path) }
        do {
            file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        } catch {
            throw .file(path: path, reason: FileFailure.reason(error))
        }
        guard try count() > 0 else { throw .storage(.notAStore(.empty), path: path) }
    }

    /// How many bytes the file has now.
    func count() throws(ToolError) -> UInt64 {
        do { return try file.seekToEnd() } catch { throw .file(path: path, reason: FileFailure.reason(error)) }
    }

    /// Up to `count` bytes from `offset` on.
    func bytes(from offset: UInt64, count: Int) throws(ToolError) -> [UInt8] {
        do {
            try file.seek(toOffset: offset)
            return [UInt8](try file.read(upToCount: count) ?? Data())
        } catch {
            throw .file(path: path, reason: FileFailure.reason(error))
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

/// What Foundation says of a failed file operation, in one sentence.
enum FileFailure {
    /// The operating system's words where there are some.
    static func reason(_ error: any Error) -> String {
        let cocoa = error as NSError
        guard let system = cocoa.userInfo[NSUnderlyingErrorKey] as? NSError, system.domain == NSPOSIXErrorDomain else {
            return cocoa.localizedDescription
        }
        return Platform.message(of: Int32(system.code))
    }
}
