// An open file of the simulated file system.

import EspalierEngine
import Synchronization

/// An open file: refers to a file of the simulated disk by its number.
final class SimulatedFile: StorageFile {
    let role: FileRole
    private let system: SimulatedFileSystem
    private let file: Int
    private let holdsLock = Atomic(false)

    init(system: SimulatedFileSystem, file: Int, role: FileRole) {
        (self.system, self.file, self.role) = (system, file, role)
    }

    deinit { unlock() }

    var identity: FileIdentity { system.identity(ofFile: file) }

    func size() throws(StorageError) -> UInt64 {
        try system.perform(.size, role, file, changes: false) { state throws(StorageError) in
            UInt64(state.disk.files[file].current.count)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        let count = buffer.count
        let bytes = try system.perform(.read, role, Int(offset), changes: false) {
            state throws(StorageError) -> [UInt8] in
            let current = state.disk.files[file].current
            guard offset < UInt64(current.count) else { return [] }
            let isShort = state.fault(at: state.operationCount)?.kind == .short
            let length = min(isShort ? max(1, count / 2) : count, current.count - Int(offset))
            return Array(current[Int(offset)..<Int(offset) + length])
        }
        // SAFETY: at most `buffer.count` bytes are copied.
        unsafe buffer.copyBytes(from: bytes)
        return bytes.count
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid during the call.
        let bytes = unsafe [UInt8](buffer)
        return try system.perform(.write, role, Int(offset), changes: true) { state throws(StorageError) in
            let isShort = state.fault(at: state.operationCount)?.kind == .short
            let written = isShort ? Array(bytes.prefix(max(1, bytes.count / 2))) : bytes
            try state.useSpace(Int(offset) + written.count - state.disk.files[file].current.count)
            state.disk.write(written, to: file, at: Int(offset))
            state.note(written)
            state.monitor.didWrite(
                written, at: Int(offset), to: role,
                beginning: Array(state.disk.files[file].current.prefix(SuperblockLayout.usedByteCount)),
                hasUnsyncedNames: !state.disk.nameChanges.isEmpty)
            return written.count
        }
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        try system.perform(.sync, role, file, changes: true) { state throws(StorageError) in
            if state.fault(at: state.operationCount)?.kind == .syncForgets {
                state.disk.failSync(file)
                throw .io(IOFailure(operation: .sync, file: role, errno: Platform.ioError))
            }
            state.disk.sync(file)
            state.monitor.didSync(role, hasUnsyncedNames: !state.disk.nameChanges.isEmpty)
        }
    }

    func truncate(to byteCount: UInt64) throws(StorageError) {
        try system.perform(.truncate, role, Int(byteCount), changes: true) { state throws(StorageError) in
            let isShorter = byteCount < UInt64(state.disk.files[file].current.count)
            state.disk.resize(file, to: Int(byteCount))
            state.monitor.didResize(role, to: Int(byteCount), isShorter: isShorter)
        }
    }

    func allocate(to byteCount: UInt64) throws(StorageError) {
        try system.perform(.allocate, role, Int(byteCount), changes: true) { state throws(StorageError) in
            let size = state.disk.files[file].current.count
            guard byteCount > UInt64(size) else { return }
            try state.useSpace(Int(byteCount) - size)
            state.disk.resize(file, to: Int(byteCount))
        }
    }

    func linkCount() throws(StorageError) -> UInt64 { UInt64(system.nameCount(ofFile: file)) }

    func lockForWriting() throws(StorageError) {
        try system.lock(file)
        holdsLock.store(true, ordering: .relaxed)
    }

    func close() throws(StorageError) { unlock() }

    private func unlock() {
        if holdsLock.exchange(false, ordering: .relaxed) { system.unlock(file) }
    }
}
