// A file system in memory that loses power and fails on demand and that a test can watch: one seed is one run.
//
// Invariants
//   1. The seed alone decides clock, random numbers, faults and the changes that survive a power loss.
//   2. `operationCount` numbers every call that a fault or a power loss can hit, reads included.
//   3. After a power loss (`cutPower`) every call fails, so a process that continues has no effect.
//   4. The monitor judges the order of all writes and syncs, independently of the seed.

package import EspalierEngine
import Synchronization

/// A call that fails, and the way in which it fails.
package struct SimulatedFault: Sendable {
    /// The ways in which a call fails.
    package enum Kind: String, Sendable, CaseIterable {
        /// The call fails with EIO.
        case inputOutput
        /// A write, allocation or truncation fails because the disk is full; other calls are not affected.
        case noSpace
        /// A read or write does only half of its work; other calls are not affected.
        case short
        /// A sync fails, and the system forgets the changes although the process still reads them; other calls are not
        /// affected.
        case syncForgets
        /// A call that changes something does all of its work and then fails with EIO; other calls are not affected.
        case doneButFailed
    }
    /// The number of the call, from 1.
    package var operation: Int
    /// The way in which it fails.
    package var kind: Kind
    /// Whether all later calls fail in the same way.
    package var isSticky: Bool

    /// A fault at call number `operation`.
    package init(operation: Int, kind: Kind, isSticky: Bool = false) {
        (self.operation, self.kind, self.isSticky) = (operation, kind, isSticky)
    }
}

/// A file system for tests of crashes and faults.
package final class SimulatedFileSystem: FileSystem, StorageDirectory {
    struct State: ~Copyable {
        var disk = SimulatedDisk()
        var chance: SeededGenerator
        var clock: UInt64 = 1_700_000_000_000_000_000
        var operationCount = 0
        var fault: SimulatedFault?
        var hasPower = true
        var spaceLeft: Int?
        var lockedFiles: Set<Int> = []
        var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325
        var changeHash: UInt64 = 0xCBF2_9CE4_8422_2325
        var monitor = OrderMonitor()
        var hook: (@Sendable (Int) -> Void)?
        var callHook: (@Sendable (IOOperation, FileRole) -> Void)?
    }

    private static let instanceCount = Atomic<UInt64>(0)
    private let device: UInt64
    private let state: Mutex<State>

    /// An empty file system whose random decisions follow from `seed`.
    package convenience init(seed: UInt64) { self.init(disk: SimulatedDisk(), seed: seed) }

    init(disk: SimulatedDisk, seed: UInt64) {
        device = 1 << 62 | Self.instanceCount.wrappingAdd(1, ordering: .relaxed).newValue
        var state = State(chance: SeededGenerator(seed: seed))
        state.disk = disk
        self.state = Mutex(state)
    }

    // MARK: Calls of tests

    /// The number of calls so far.
    package var operationCount: Int { state.withLock { $0.operationCount } }
    /// A hash over every call with its arguments: two runs of one seed have equal hashes.
    package var traceHash: UInt64 { state.withLock { $0.traceHash } }
    /// A hash over every change with its arguments, in the order of their effects.
    ///
    /// Two runs with equal hashes have equal files.
    package var changeHash: UInt64 { state.withLock { $0.changeHash } }
    /// The breaches of the order rules F1 to F4, one sentence each.
    package var violations: [String] { state.withLock { $0.monitor.violations } }

    /// Whether a name has changed since the last sync of the directory.
    package var hasUnsyncedNames: Bool { state.withLock { !$0.disk.nameChanges.isEmpty } }

    /// Makes a later call fail as `fault` says; `nil`: no call fails.
    package func arm(_ fault: SimulatedFault?) { state.withLock { $0.fault = fault } }
    /// Calls `hook` before every write, sync, resize, rename and removal, with the number of the call; no lock is held.
    package func beforeEachChange(_ hook: (@Sendable (Int) -> Void)?) { state.withLock { $0.hook = hook } }
    /// Calls `hook` before every call, reads included, with the operation and the role of its file; no lock is held.
    package func beforeEachCall(_ hook: (@Sendable (IOOperation, FileRole) -> Void)?) {
        state.withLock { $0.callHook = hook }
    }
    /// Limits the number of bytes by which all files together may still grow; `nil`: no limit.
    package func limitSpace(to byteCount: Int?) { state.withLock { $0.spaceLeft = byteCount } }
    /// Makes every later call fail.
    package func cutPower() { state.withLock { $0.hasPower = false } }

    /// The file system that the machine finds after a power loss at this moment; this one is not affected.
    ///
    /// - Parameter seed: decides which changes that no sync covers survive.
    package func afterPowerLoss(seed: UInt64) -> SimulatedFileSystem {
        var chance = SeededGenerator(seed: seed)
        return SimulatedFileSystem(disk: state.withLock { $0.disk.afterPowerLoss(&chance) }, seed: chance.next())
    }

    /// The file system that the next process finds if this one is killed at this moment; this one is not affected.
    package func afterKill() -> SimulatedFileSystem {
        state.withLock { SimulatedFileSystem(disk: $0.disk, seed: $0.clock) }
    }

    /// The bytes of a file as a process reads them.
    package func contents(of path: String) -> [UInt8]? {
        state.withLock { state in state.disk.names[path].map { state.disk.files[$0].current } }
    }

    /// The names of all files, sorted.
    package var paths: [String] { state.withLock { $0.disk.names.keys.sorted() } }

    /// Replaces the bytes of a file durably, as a damaged disk would; creates the file if it does not exist.
    package func replaceContents(of path: String, with bytes: [UInt8]) {
        state.withLock { state in
            let file = state.disk.names[path] ?? state.disk.create(path)
            state.disk.files[file] = SimulatedDisk.File(current: bytes, durable: bytes)
            state.disk.syncNames()
        }
    }

    // MARK: FileSystem

    /// The entry at `path`: there is one directory, and every path is a name in it.
    package func entry(at path: String) throws(StorageError) -> DirectoryEntry { DirectoryEntry(self, path) }

    package func open(_ path: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try perform(.open, role, path.utf8.count, changes: mode == .createExclusively) { state throws(StorageError) in
            if let file = state.disk.names[path] {
                if mode == .createExclusively {
                    throw .io(IOFailure(operation: .open, file: role, errno: Platform.exists))
                }
                return SimulatedFile(system: self, file: file, role: role)
            }
            guard mode == .createExclusively else { throw .opening(.noSuchStore) }
            return SimulatedFile(system: self, file: state.disk.create(path), role: role)
        }
    }

    package func identity(of path: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        try perform(.open, role, path.utf8.count, changes: false) { state throws(StorageError) in
            state.disk.names[path].map(identity(ofFile:))
        }
    }

    package func names(beginningWith prefix: String) throws(StorageError) -> [String] {
        try perform(.read, .directory, prefix.utf8.count, changes: false) { state throws(StorageError) in
            state.disk.names.keys.filter { $0.hasPrefix(prefix) }.sorted()
        }
    }

    func nameCount(ofFile file: Int) -> Int {
        state.withLock { state in state.disk.names.values.count { $0 == file } }
    }

    func identity(ofFile file: Int) -> FileIdentity { FileIdentity(device: device, inode: UInt64(file)) }

    package func renameExclusively(
        _ path: String, to newPath: String, role: FileRole
    ) throws(StorageError) -> Bool {
        try perform(.rename, role, path.utf8.count, changes: true) { state throws(StorageError) in
            guard state.disk.names[newPath] == nil else { return false }
            return try Self.rename(path, to: newPath, role, &state)
        }
    }

    package func rename(_ path: String, to newPath: String, role: FileRole) throws(StorageError) {
        _ = try perform(.rename, role, path.utf8.count, changes: true) { state throws(StorageError) in
            try Self.rename(path, to: newPath, role, &state)
        }
    }

    private static func rename(
        _ path: String, to newPath: String, _ role: FileRole, _ state: inout State
    ) throws(StorageError) -> Bool {
        guard state.disk.rename(path, to: newPath) else {
            throw .io(IOFailure(operation: .rename, file: role, errno: Platform.noEntry))
        }
        return true
    }

    package func remove(_ path: String, role: FileRole = .store) throws(StorageError) {
        try perform(.remove, role, path.utf8.count, changes: true) { state throws(StorageError) in
            guard state.disk.remove(path) else {
                throw .io(IOFailure(operation: .remove, file: role, errno: Platform.noEntry))
            }
        }
    }

    package func sync() throws(StorageError) {
        try perform(.sync, .directory, 0, changes: true) { state throws(StorageError) in
            state.disk.syncNames()
        }
    }

    package func now() -> UInt64 {
        state.withLock { state in
            state.clock += 1_000_000
            return state.clock
        }
    }

    package func random() -> UInt64 { state.withLock { $0.chance.next() } }

    // MARK: Locks

    func lock(_ file: Int) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.lockedFiles.insert(file).inserted else { throw .opening(.storeBusy(pid: 0)) }
        }
    }

    func unlock(_ file: Int) { state.withLock { state in _ = state.lockedFiles.remove(file) } }

    // MARK: Every call

    /// Numbers a call, runs the hooks, and then either makes the call fail, if the fault is for it, or runs `body`.
    func perform<R>(
        _ operation: IOOperation, _ role: FileRole, _ detail: Int, changes: Bool,
        _ body: (inout State) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        let number = state.withLock { state in
            state.operationCount += 1
            SimulatedFileSystem.mix(operation, role, detail, into: &state.traceHash)
            return (state.operationCount, changes ? state.hook : nil, state.callHook)
        }
        number.2?(operation, role)
        number.1?(number.0)
        return try state.withLock { state throws(StorageError) in
            guard state.hasPower else {
                throw .io(IOFailure(operation: operation, file: role, errno: Platform.ioError))
            }
            if let fault = state.fault(at: number.0) {
                switch fault.kind {
                case .inputOutput: throw .io(IOFailure(operation: operation, file: role, errno: Platform.ioError))
                case .noSpace:
                    guard [.write, .allocate, .truncate].contains(operation) else { break }
                    throw .diskFull
                case .short, .syncForgets, .doneButFailed: break
                }
            }
            if changes { SimulatedFileSystem.mix(operation, role, detail, into: &state.changeHash) }
            let result = try body(&state)
            if changes, state.fault(at: number.0)?.kind == .doneButFailed {
                throw .io(IOFailure(operation: operation, file: role, errno: Platform.ioError))
            }
            return result
        }
    }
}

extension SimulatedFileSystem {
    private static func mix(_ operation: IOOperation, _ role: FileRole, _ detail: Int, into hash: inout UInt64) {
        let call = UInt64(operation.ordinal) << 8 | UInt64(role.rawValue)
        hash = (hash ^ call) &* 0x0000_0100_0000_01B3
        hash = (hash ^ UInt64(bitPattern: Int64(detail))) &* 0x0000_0100_0000_01B3
    }
}

extension SimulatedFileSystem.State {
    func fault(at operation: Int) -> SimulatedFault? {
        guard let fault, fault.isSticky ? operation >= fault.operation : operation == fault.operation else {
            return nil
        }
        return fault
    }

    /// Mixes the content of a write into both hashes.
    mutating func note(_ bytes: [UInt8]) {
        // SAFETY: the bytes are used only within the closure.
        let content = unsafe bytes.withUnsafeBytes { unsafe Checksum.of($0, seed: 0) }
        traceHash = (traceHash ^ content) &* 0x0000_0100_0000_01B3
        changeHash = (changeHash ^ content) &* 0x0000_0100_0000_01B3
    }

    /// Takes `byteCount` bytes from the space that is left; throws `diskFull` if there is less.
    mutating func useSpace(_ byteCount: Int) throws(StorageError) {
        guard let left = spaceLeft, byteCount > 0 else { return }
        guard byteCount <= left else { throw .diskFull }
        spaceLeft = left - byteCount
    }
}

extension IOOperation {
    /// The position of the case in its declaration: part of the trace hash.
    fileprivate var ordinal: Int {
        switch self {
        case .open: 0
        case .read: 1
        case .write: 2
        case .sync: 3
        case .size: 4
        case .truncate: 5
        case .allocate: 6
        case .lock: 7
        case .rename: 8
        case .remove: 9
        case .random: 10
        case .clock: 11
        case .permissions: 12
        }
    }
}
