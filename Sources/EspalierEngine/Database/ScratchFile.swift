// A file without a name, for data of one operation that do not fit into memory, such as the rows of a large sort.
//
// Invariants
//   1. The file loses its name before its first byte is written, so the system frees it when it is closed, and also
//      when the process is killed. A process that is killed between the two leaves an empty file `PATH.tmp-...`; a
//      power loss may leave one with any bytes, because removals are not synced. No code ever reads such a file.
//   2. Nothing in it is synced: no later process needs it.
//   3. Only the owner of the process may read the file, and its name is random: in a folder that users share, nobody
//      can open it, or make a link of that name before, which would lead it elsewhere.

/// A file without a name.
package final class ScratchFile: Sendable {
    private let file: any StorageFile

    fileprivate init(_ file: any StorageFile) { self.file = file }

    // An error of closing does no harm: the bytes are not needed any more.
    deinit { do throws(StorageError) { try file.close() } catch {} }

    /// Writes `bytes` at `offset`.
    ///
    /// - Throws: `diskFull`, `io`.
    package func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
        guard !bytes.isEmpty else { return }
        let copy = ScratchBytes(byteCount: bytes.count)
        copy.store(bytes, at: 0)
        try copy.write(0..<bytes.count, to: file, at: offset)
    }

    /// Reads `count` bytes that were written at `offset`.
    ///
    /// - Throws: `io`, also if the file has become shorter.
    package func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8] {
        assert(count >= 0, "\(count) bytes are read")
        guard count > 0 else { return [] }
        let bytes = ScratchBytes(byteCount: count)
        guard try bytes.read(0..<count, from: file, at: offset) == count else {
            throw .io(IOFailure(operation: .read, file: .scratch, errno: 0))
        }
        return bytes.with(0..<count) { $0.loadBytes(at: 0, count: count) }
    }
}

extension Database {
    /// Makes an empty file without a name.
    ///
    /// The file is in the folder of the store, or in `folder` if the database is open for reading only: then nothing is
    /// written beside the store. The file of a store in memory is in memory.
    ///
    /// - Throws: `closed`, `path`, `diskFull`, `io`.
    package func makeScratchFile(elsewhere folder: String) throws(StorageError) -> ScratchFile {
        try checkOpen()
        let files = engine.fileSystem
        let random = files.random()
        let suffix = "tmp-" + String(random, radix: 36)
        let entry = isReadOnly ? try files.entry(at: "\(folder)/espalier.\(suffix)") : engine.entry.temporary(random)
        let scratch = ScratchFile(try entry.open(role: .scratch, mode: .createExclusively))
        try entry.remove(role: .scratch)
        return scratch
    }
}
