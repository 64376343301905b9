// A file that holds a whole store, and is replaced at once.
//
// Invariants
//   1. The new file is complete and durable before it gets the name, and the name is durable before a save returns: a
//      crash leaves the former file or the new one.
//   2. A file that another program has put under the name is not overwritten: a save compares the file's identity with
//      that of the file which was loaded or saved last. Two processes that save in the same moment are not noticed.
//   3. A save keeps the permissions of the file; a save of the superuser also keeps its owner and its group.

package import EspalierEngine
public import EspalierModel
internal import FoundationEssentials
internal import Synchronization

/// A file of some format, as the source of a `WholeGraphStore`.
public final class GraphFile: GraphSource {
    /// The path, as it was given.
    public let path: String?
    /// Whether the file is only read.
    public let isReadOnly: Bool
    private let format: any GraphFormat
    let fileSystem: any FileSystem
    private let entry: DirectoryEntry
    /// Guards the identity of the file that was loaded or saved last; `nil` = there was none.
    private let known = Mutex<FileIdentity?>(nil)

    /// A file at a path; the first save creates it if it does not exist.
    ///
    /// - Throws: `StoreError.storage` if the path leads to no folder.
    public convenience init(_ path: String, _ format: any GraphFormat, isReadOnly: Bool = false) throws(StoreError) {
        try self.init(path, format, isReadOnly: isReadOnly, in: PosixFileSystem.shared)
    }

    package init(
        _ path: String, _ format: any GraphFormat, isReadOnly: Bool = false, in fileSystem: any FileSystem
    ) throws(StoreError) {
        (self.path, self.format, self.isReadOnly, self.fileSystem) = (path, format, isReadOnly, fileSystem)
        do { entry = try fileSystem.entry(at: path) } catch { throw .storage(error, path: path) }
    }

    /// Whether rows have keys of their own over all entities, as the format says.
    public var hasSharedKeys: Bool { format.hasSharedKeys }

    /// The store in the file; `nil` if there is no file.
    ///
    /// - Throws: `StoreError.storage`, also for a file that is only read and does not exist; the errors of the format.
    public func load(_ model: ManagedObjectModel) throws -> StoredGraph? {
        try bytes().map { try format.graph(in: $0, model) }
    }

    /// The bytes of the file, which the next save then replaces; `nil` if there is no file.
    func bytes() throws(StoreError) -> [UInt8]? {
        do throws(StorageError) { return try read() } catch { throw .storage(error, path: path) }
    }

    private func read() throws(StorageError) -> [UInt8]? {
        guard
            let file = try isReadOnly
                ? entry.open(role: .store, mode: .readOnly)
                : entry.openIfPresent(role: .store, mode: .readOnly)
        else { return nil }
        let identity = file.identity
        known.withLock { $0 = identity }
        let bytes = try Self.bytes(of: file)
        try file.close()
        return bytes
    }

    /// The identity of the file that was loaded or saved last; `nil` = there was none.
    var knownIdentity: FileIdentity? { known.withLock(\.self) }

    /// The identity of the file that has the name now; `nil` = there is none.
    func identity() throws(StorageError) -> FileIdentity? { try entry.identity(role: .store) }

    /// The rights to that file; `nil` if there is none, or the file system has no rights.
    func rights() throws(StorageError) -> FileRights? {
        assert(knownIdentity != nil, "a file whose rights count was not read")
        return try entry.rights(role: .store)
    }

    /// The bytes of an open file, or its first `countMax` bytes.
    static func bytes(of file: any StorageFile, atMost countMax: Int = .max) throws(StorageError) -> [UInt8] {
        let size = min(Int(clamping: try file.size()), countMax)
        var bytes = [UInt8](repeating: 0, count: size)
        // SAFETY: the array is not used otherwise during the call.
        let result = unsafe bytes.withUnsafeMutableBytes { buffer -> Result<Int, StorageError> in
            do throws(StorageError) { return .success(unsafe try file.readFully(into: buffer, at: 0)) } catch {
                return .failure(error)
            }
        }
        let count = try result.get()
        assert(count <= size, "\(count) bytes were read into \(size)")
        bytes.removeLast(size - count)
        return bytes
    }

    /// Replaces the file.
    ///
    /// - Throws: `StoreError.storage`, which is `storeReplaced` if another file has the name by now, and the errors of
    ///   the format; the file is as it was.
    public func save(_ graph: StoredGraph, _ model: ManagedObjectModel) throws {
        let bytes = try format.bytes(of: graph, model)
        do throws(StorageError) {
            let former = known.withLock { $0 }
            let identity = try WholeFile.write(entry, replacing: former, in: fileSystem) { file throws(StorageError) in
                try Self.write(bytes, to: file)
                return file.identity
            }
            known.withLock { $0 = identity }
        } catch {
            throw StoreError.storage(error, path: path)
        }
    }

    /// Writes bytes to the beginning of an open file.
    static func write(_ bytes: [UInt8], to file: any StorageFile) throws(StorageError) {
        // SAFETY: the array is not changed during the call.
        let result = unsafe bytes.withUnsafeBytes { buffer -> Result<Void, StorageError> in
            guard unsafe !buffer.isEmpty else { return .success(()) }
            do throws(StorageError) { return .success(unsafe try file.writeFully(buffer, at: 0)) } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}
