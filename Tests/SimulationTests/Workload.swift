// Scripted workloads over a simulated file system, with the oracle that knows the content of every commit.
//
// Invariants
//   1. A workload is one seed: the same seed makes the same calls.
//   2. The oracle holds the content after each transaction, and the number of the newest certainly durable one.

import EspalierEngine
import Synchronization
import TestSupport

/// The content of a store: name of the tree -> key -> value.
///
/// Integer keys are 8 big-endian bytes.
typealias StoreContent = [String: [[UInt8]: [UInt8]]]

/// The contents that a store may have.
final class Oracle: Sendable {
    struct State: Sendable {
        var contents: [UInt64: StoreContent] = [0: [:]]
        var durable: UInt64 = 0
    }

    let state = Mutex(State())

    /// Records the content of the store after a transaction, in case it is committed.
    func willCommit(_ transaction: UInt64, _ content: StoreContent) {
        state.withLock { $0.contents[transaction] = content }
    }

    /// Records that a transaction and all before it will survive.
    func isDurable(_ transaction: UInt64) { state.withLock { $0.durable = max($0.durable, transaction) } }

    /// The content after a transaction; `nil` if no such transaction was announced.
    func content(_ transaction: UInt64) -> StoreContent? { state.withLock { $0.contents[transaction] } }
    /// The newest transaction that must survive.
    var durable: UInt64 { state.withLock { $0.durable } }
}

/// A scripted run over a store.
struct Workload {
    static let path = "store"

    /// The kind of a workload's transactions.
    enum Profile {
        /// Transactions of all sizes, some with savepoints.
        case mixed
        /// Transactions of several times the cache, each with rollbacks to savepoints.
        case spilling
        /// Values of 1 to 64 MiB in small caches, and pages of all sizes.
        case large
    }

    let seed: UInt64
    let profile: Profile
    let oracle = Oracle()
    var chance: SeededGenerator
    var content: StoreContent = [:]
    private var snapshots: [(transaction: UInt64, content: StoreContent)] = []

    init(seed: UInt64, profile: Profile = .mixed) {
        self.seed = seed
        self.profile = profile
        chance = SeededGenerator(seed: seed)
    }

    /// Small sizes throughout, so that a few transactions recycle segments, evict pages and reuse free space.
    static func options(seed: UInt64) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.pageSize = seed % 4 == 3 ? 8192 : 4096
        options.cacheByteCount = seed % 3 == 0 ? 16 * options.pageSize : 64 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 256 << 10
        options.logByteCountMax = 64 << 20
        options.checkpointThreshold = seed % 2 == 0 ? 16 << 10 : 100 << 10
        return options
    }

    /// The options of seed and profile, with the smallest cache for the profile `spilling`.
    var options: DatabaseOptions {
        if profile == .large { return LargeValues.options(seed: seed) }
        var options = Self.options(seed: seed)
        if profile == .spilling { options.cacheByteCount = 16 * options.pageSize }
        return options
    }

    /// Runs `count` transactions, with checkpoints, rollbacks, snapshots and reopenings between them.
    mutating func run(_ count: Int, in system: SimulatedFileSystem) throws(StorageError) {
        let options = options
        var database = try Database.open(Self.path, in: system, options: options)
        if profile == .large { try moveLargeValue(database) }
        for _ in 0..<count {
            switch Int.random(in: 0..<12, using: &chance) {
            case 0: try database.checkpoint(.passive)
            case 1:
                try database.checkpoint(Bool.random(using: &chance) ? .full : .truncate)
            case 2:
                try database.close()
                database = try Database.open(Self.path, in: system, options: options)
            case 3: try transaction(database, commits: false)
            // Later transactions write again to the log space that a rollback frees.
            case 4...6 where profile == .spilling: try transaction(database, commits: false)
            default: try transaction(database, commits: true)
            }
        }
        try database.close()
    }

    /// One write transaction.
    mutating func transaction(_ database: Database, commits: Bool) throws(StorageError) {
        let before = content
        var write = try database.beginWrite()
        let size =
            switch profile {
            case .mixed: [1, 3, 10, 60].randomElement(using: &chance) ?? 1
            case .spilling: 120
            case .large: 2
            }
        for _ in 0..<Int.random(in: 1...size, using: &chance) { try change(&write) }
        if profile == .spilling || Int.random(in: 0..<4, using: &chance) == 0 { try goBackAndForth(&write, size) }
        guard commits else {
            content = before
            return write.rollback()
        }
        let number = write.transactionID
        oracle.willCommit(number, content)
        let durability: Durability = Int.random(in: 0..<4, using: &chance) == 0 ? .ordered : .durable
        let receipt = try write.commit(durability)
        if durability == .durable, receipt.transactionID == number { oracle.isDurable(number) }
    }

    /// One change of one tree.
    mutating func change(_ write: inout WriteTransaction) throws(StorageError) {
        if profile == .large { return try changeLarge(&write) }
        let name = ["songs", "albums"].randomElement(using: &chance) ?? "songs"
        let kind: KeyKind = name == "songs" ? .bytes : .integer
        let tree = try write.tree(named: name, orCreate: kind)
        if content[name] == nil { content[name] = [:] }
        let number = UInt64.random(in: 0..<400, using: &chance)
        let key = kind == .integer ? Self.bytes(of: number) : [UInt8]("song \(number)".utf8)
        switch Int.random(in: 0..<20, using: &chance) {
        case 0:
            try write.dropTree(tree)
            content[name] = nil
        case 1: try removeRange(number, tree, &write)
        case 2...5:
            let existed = try write.remove(key, from: tree)
            let expected = content[name]?.removeValue(forKey: key) != nil
            precondition(existed == expected, "removing answered \(existed)")
        default:
            let value = makeValue()
            try write.put(value, for: key, in: tree)
            content[name]?[key] = value
        }
    }

    private mutating func makeValue() -> [UInt8] {
        let size = [0, 20, 300, 900, 5000, 20000][[0, 1, 1, 1, 2, 2, 3, 4, 5].randomElement(using: &chance) ?? 1]
        let byte = UInt8.random(in: 0...255, using: &chance)
        let count = size == 0 ? 0 : Int.random(in: 1...size, using: &chance)
        return [UInt8](repeating: byte, count: count)
    }

    /// An integer key as 8 big-endian bytes.
    static func bytes(of key: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: key >> (56 - 8 * $0)) } }

    /// The whole content of a store, read by cursors, with the number of its newest transaction.
    static func content(of database: Database) throws(StorageError) -> (transaction: UInt64, content: StoreContent) {
        let read = try database.beginRead()
        var content: StoreContent = [:]
        for summary in try read.trees() {
            var entries: [[UInt8]: [UInt8]] = [:]
            var cursor = try read.cursor(over: summary.tree)
            var isOnEntry = try cursor.first()
            while isOnEntry {
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                entries[key] = try cursor.value()
                isOnEntry = try cursor.next()
            }
            precondition(UInt64(entries.count) == summary.entryCount, "the catalog's count is wrong")
            content[summary.tree.name] = entries
        }
        return (read.transactionID, content)
    }
}
