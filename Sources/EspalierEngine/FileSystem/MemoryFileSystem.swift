// Files in memory, for a store without a path. The engine above is the same.
//
// Invariants
//   1. A file is a list of chunks of equal size; bytes that were never written are zero.
//   2. Syncs do nothing: such a store ends with its process.
//   3. There is one directory, and a path is a name in it.

import Synchronization

/// Files in memory.
package final class MemoryFileSystem: FileSystem, StorageDirectory {
    private let files = Mutex<[String: MemoryFile]>([:])
    private static let instanceCount = Atomic<UInt64>(0)
    private static let fileCount = Atomic<UInt64>(0)
    private let device: UInt64

    /// An empty file system.
    package init() {
        // High numbers, which no device of the operating system has.
        device = ~Self.instanceCount.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    package func entry(at path: String) throws(StorageError) -> DirectoryEntry { DirectoryEntry(self, path) }

    package func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        let found = files.withLock { files -> MemoryFile? in
            if let file = files[name] { return mode == .createExclusively ? nil : file }
            guard mode == .createExclusively else { return nil }
            let inode = Self.fileCount.wrappingAdd(1, ordering: .relaxed).newValue
            let file = MemoryFile(role: role, identity: FileIdentity(device: device, inode: inode))
            files[name] = file
            return file
        }
        if let found { return found }
        if mode != .createExclusively { throw .opening(.noSuchStore) }
        throw .io(IOFailure(operation: .open, file: role, errno: Platform.exists))
    }

    package func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        files.withLock { $0[name]?.identity }
    }

    package func names(beginningWith prefix: String) throws(StorageError) -> [String] {
        files.withLock { $0.keys.filter { $0.hasPrefix(prefix) }.sorted() }
    }

    package func renameExclusively(
        _ name: String, to newName: String, role: FileRole
    ) throws(StorageError) -> Bool {
        guard files.withLock({ $0[newName] == nil }) else { return false }
        try rename(name, to: newName, role: role)
        return true
    }

    package func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError) {
        let found = files.withLock { files -> Bool in
            guard let file = files.removeValue(forKey: name) else { return false }
            files[newName] = file
            return true
        }
        if !found { throw .io(IOFailure(operation: .rename, file: role, errno: Platform.noEntry)) }
    }

    package func remove(_ name: String, role: FileRole) throws(StorageError) {
        let found = files.withLock { $0.removeValue(forKey: name) != nil }
        if !found { throw .io(IOFailure(operation: .remove, file: role, errno: Platform.noEntry)) }
    }

    package func sync() throws(StorageError) {}

    package func now() -> UInt64 { Platform.now() }

    package func random() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

// SAFETY: @unchecked Sendable, because `content` is touched only while `lock` is held.
/// A file in memory.
final class MemoryFile: StorageFile, @unchecked Sendable {
    private static let chunkByteCount = 64 << 10

    /// The chunks, all of equal size, and the number of their bytes that are in use.
    @safe
    private struct Content: ~Copyable {
        var chunks: [UnsafeMutableRawPointer]
        var byteCount = 0

        // SAFETY: no chunk yet.
        init() { unsafe chunks = [] }

        deinit {
            // SAFETY: only this value refers to the chunks.
            let count = unsafe chunks.count
            for index in 0..<count { unsafe chunks[index].deallocate() }
        }
    }

    let role: FileRole
    let identity: FileIdentity
    private let lock = Mutex(())
    private var content = Content()

    init(role: FileRole, identity: FileIdentity) {
        self.role = role
        self.identity = identity
    }

    func size() throws(StorageError) -> UInt64 { lock.withLock { _ in UInt64(content.byteCount) } }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        lock.withLock { _ in
            guard offset < UInt64(content.byteCount) else { return 0 }
            let count = min(buffer.count, content.byteCount - Int(offset))
            var done = 0
            while done < count {
                let position = Int(offset) + done
                let piece = min(Self.chunkByteCount - position % Self.chunkByteCount, count - done)
                // SAFETY: `position + piece` is within one chunk, `done + piece` within the buffer.
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + piece]).copyMemory(
                    from: UnsafeRawBufferPointer(
                        start: content.chunks[position / Self.chunkByteCount] + position % Self.chunkByteCount,
                        count: piece))
                done += piece
            }
            assert(done == count, "\(done) bytes of \(count) were read")
            return count
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        lock.withLock { _ in
            Self.extend(&content, to: Int(offset) + buffer.count)
            var done = 0
            while done < buffer.count {
                let position = Int(offset) + done
                let piece = min(Self.chunkByteCount - position % Self.chunkByteCount, buffer.count - done)
                // SAFETY: `position + piece` is within one chunk, `done + piece` within the buffer.
                unsafe UnsafeMutableRawBufferPointer(
                    start: content.chunks[position / Self.chunkByteCount] + position % Self.chunkByteCount, count: piece
                ).copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[done..<done + piece]))
                done += piece
            }
            assert(done == buffer.count, "\(done) bytes of \(buffer.count) were written")
            return buffer.count
        }
    }

    func sync(_ level: SyncLevel) throws(StorageError) {}

    func truncate(to byteCount: UInt64) throws(StorageError) {
        lock.withLock { _ in
            let byteCount = Int(byteCount)
            guard byteCount < content.byteCount else { return Self.extend(&content, to: byteCount) }
            let chunkCount = (byteCount + Self.chunkByteCount - 1) / Self.chunkByteCount
            // SAFETY: each chunk is removed from the list when it is freed.
            while unsafe content.chunks.count > chunkCount {
                unsafe content.chunks.removeLast().deallocate()
            }
            let used = byteCount % Self.chunkByteCount
            if used > 0 {
                // SAFETY: the last chunk exists because `used` of its bytes are in use; the rest becomes zero again.
                unsafe (content.chunks[chunkCount - 1] + used)
                    .initializeMemory(as: UInt8.self, repeating: 0, count: Self.chunkByteCount - used)
            }
            content.byteCount = byteCount
            assert(unsafe byteCount <= content.chunks.count * Self.chunkByteCount, "a byte is in no chunk")
        }
    }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        lock.withLock { _ in Self.extend(&content, to: Int(byteCount)) }
    }

    func lockForWriting() throws(StorageError) {}

    func close() throws(StorageError) {}

    private static func extend(_ content: inout Content, to byteCount: Int) {
        assert(byteCount >= 0, "a file of \(byteCount) bytes")
        // SAFETY: `truncate` or the content's `deinit` frees the chunks.
        while unsafe content.chunks.count * chunkByteCount < byteCount {
            let chunk = UnsafeMutableRawPointer.allocate(byteCount: chunkByteCount, alignment: 4096)
            unsafe chunk.initializeMemory(as: UInt8.self, repeating: 0, count: chunkByteCount)
            unsafe content.chunks.append(chunk)
        }
        content.byteCount = max(content.byteCount, byteCount)
        assert(unsafe content.byteCount <= content.chunks.count * chunkByteCount, "a byte is in no chunk")
    }
}
