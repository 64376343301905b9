// A file that gets its name only when it is whole: what reads the name finds all of it or nothing.
//
// Invariants
//   1. The content is durable before the file is renamed, and the name before `write` returns.
//   2. A failure leaves nothing under the final name that was not there before, unless making the name durable failed.
//   3. A crash can leave a file named `PATH.tmp-...` behind, which nothing ever reads. It is never removed unasked: it
//      cannot be told from what another process is writing at the moment.

/// Writing files that are there completely or not at all.
enum WholeFile {
    /// Writes a file by `body`, and gives it the name `path`.
    ///
    /// - Parameter replacing: whether a file that has the name is replaced.
    /// - Throws: `destinationExists`, what `body` throws, `diskFull`, `io`.
    static func write<R>(
        _ path: String, replacing: Bool, in fileSystem: any FileSystem,
        _ body: (any StorageFile) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        // Asked before the work as well as after it.
        if !replacing, try fileSystem.identity(of: path) != nil { throw .destinationExists }
        let temporary = path + ".tmp-" + String(fileSystem.random(), radix: 36)
        let file = try fileSystem.open(temporary, role: .copy, mode: .createExclusively)
        do throws(StorageError) {
            let result = try body(file)
            try file.sync(.durable)
            if replacing {
                try fileSystem.rename(temporary, to: path)
            } else if try !fileSystem.renameExclusively(temporary, to: path) {
                throw StorageError.destinationExists
            }
            try fileSystem.syncDirectory(of: path)
            try file.close()
            return result
        } catch {
            // What cannot be removed does no harm (invariant 3).
            do throws(StorageError) { try fileSystem.remove(temporary) } catch {}
            do throws(StorageError) { try file.close() } catch {}
            throw error
        }
    }
}
