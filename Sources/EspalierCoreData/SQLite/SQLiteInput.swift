// A file that is only read, at any offset, through the engine's file systems: tests and fuzzers have files in memory.

import EspalierEngine

/// An open file.
struct SQLiteInput {
    let path: String
    let byteCount: UInt64
    private let file: any StorageFile

    /// Opens the file at `path`; `nil` if there is none.
    init?(_ path: String, in fileSystem: any FileSystem) throws(SQLiteFileError) {
        do throws(StorageError) {
            guard let file = try fileSystem.entry(at: path).openIfPresent(role: .copy, mode: .readOnly) else {
                return nil
            }
            (self.path, self.file, byteCount) = (path, file, try file.size())
        } catch {
            throw SQLiteFileError(path: path, .readable, "the file cannot be opened: \(error)")
        }
    }

    /// The bytes from `offset` on, at most `count` of them: fewer only at the end of the file.
    func bytes(at offset: UInt64, count: Int) throws(SQLiteFileError) -> [UInt8] {
        let available = offset < byteCount ? Int(min(UInt64(count), byteCount - offset)) : 0
        do throws(StorageError) {
            var failure: StorageError?
            // SAFETY: the buffer has room for `available` bytes, and as many of them count as were read.
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: available) { buffer, filled in
                do throws(StorageError) {
                    filled = try unsafe file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return bytes
        } catch {
            throw SQLiteFileError(path: path, .readable, "\(count) bytes at \(offset) cannot be read: \(error)")
        }
    }

    /// Closes the file.
    func close() {
        // The file was only read: nothing is lost if closing it fails.
        try? file.close()
    }
}
