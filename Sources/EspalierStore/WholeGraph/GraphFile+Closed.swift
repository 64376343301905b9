// Uses of a whole store's file that need no store: reading its bytes, and removing it.
//
// Invariants
//   1. Only a file that begins as one of its kind does is removed, and not another one that has got the name meanwhile.

package import EspalierEngine

extension GraphFile {
    /// The number of bytes by which a kind of file is recognized.
    static let beginningByteCount = 4096

    /// A file's first bytes, or all of them.
    ///
    /// - Throws: `StoreError.storage`, also for a missing file.
    package static func bytes(
        ofFileAt path: String, atMost countMax: Int = .max, in fileSystem: any FileSystem = PosixFileSystem.shared
    ) throws(StoreError) -> [UInt8] {
        do throws(StorageError) {
            let file = try fileSystem.open(path, role: .store, mode: .readOnly)
            let content = try bytes(of: file, atMost: countMax)
            try file.close()
            return content
        } catch {
            throw .storage(error, path: path)
        }
    }

    /// Removes the file of a whole store (PS-03).
    ///
    /// A process that has the store open cannot save it any more: it finds that the name has no file, or another one.
    ///
    /// - Parameter isBeginning: whether bytes are the first ones of a file of the kind.
    /// - Throws: `StoreError.storage`, also for a missing file; `.malformedFile` for one that is of another kind, which
    ///   stays.
    package static func remove(
        at path: String, in fileSystem: any FileSystem = PosixFileSystem.shared,
        ifBytesBegin isBeginning: ([UInt8]) -> Bool
    ) throws(StoreError) {
        var isStore = false
        do throws(StorageError) {
            let entry = try fileSystem.entry(at: path)
            let file = try entry.open(role: .store, mode: .readOnly)
            let beginning = try bytes(of: file, atMost: beginningByteCount)
            assert(beginning.count <= beginningByteCount, "a beginning of \(beginning.count) bytes")
            isStore = isBeginning(beginning)
            if isStore {
                guard try entry.identity(role: .store) == file.identity else {
                    throw StorageError.database(.storeReplaced)
                }
                try entry.remove(role: .store)
                try entry.directory.sync()
            }
            try file.close()
        } catch {
            throw .storage(error, path: path)
        }
        guard isStore else {
            throw .malformedFile(path: path, place: "byte 0", reason: "it does not begin as a store of this kind does")
        }
    }
}
