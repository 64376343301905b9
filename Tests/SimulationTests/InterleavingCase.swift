// A few threads with a few steps each over a small store, and the conditions that hold for every order of the steps.
//
// Transaction t writes its number to every key, so a reader that sees two numbers has seen parts of two commits. Cache,
// segments and log cap have their minimum: within two commits pages are evicted and read again from store and log, and
// segments are recycled.

import EspalierEngine
import Synchronization
import TestSupport

/// The work of one thread of a case.
enum Part: Equatable, Sendable, CustomStringConvertible {
    /// Begins a snapshot, reads everything twice and ends the snapshot; does so this many times.
    case reader(Int)
    /// Runs one transaction for each element: commits it with that durability, or rolls it back for `nil`.
    case writer([Durability?])
    /// Makes checkpoints of these kinds.
    case checkpointer([CheckpointMode])

    var description: String {
        switch self {
        case .reader: "a reader"
        case .writer: "a writer"
        case .checkpointer: "a checkpoint"
        }
    }
}

/// A small case of concurrent threads.
struct InterleavingCase: Sendable {
    /// The set of actions before which a decision says which thread continues.
    enum Grain: Sendable {
        /// Changes of files, and the beginning of every transaction and read.
        case changes
        /// In addition, every acquisition and release of a lock.
        case locks
        /// In addition, every read of a file.
        case everything
    }

    var parts: [Part]
    var grain = Grain.changes
    /// The number of overflow pages that each value fills; 1: the value is in the leaf.
    var valuePageCount = 1
    var keyCount: UInt64 = 2
    /// The number of commits before the threads begin; the last of them is not synced.
    var commitsBefore = 1
    /// Whether the log may have only two segments, so that old snapshots expire.
    var isLogCapped = false

    var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 0
        options.logSegmentByteCount = 64 << 10
        options.logByteCountMax = isLogCapped ? (128 << 10) + 4096 : 16 << 20
        options.logSoftCap = 128 << 10
        options.checkpointThreshold = 8 << 20
        return options
    }

    /// The number of the other thread, for each thread that does the same work as an earlier one.
    var twins: [Int: Int] {
        var twins: [Int: Int] = [:]
        for (number, part) in parts.enumerated() {
            if let other = parts[..<number].lastIndex(of: part) { twins[number] = other }
        }
        return twins
    }

    func isStep(_ step: Step) -> Bool {
        switch step {
        case .start, .named, .resume, .yield, .atomic: true
        case .monitor, .release: grain != .changes
        case .file(.read, _), .file(.size, _), .file(.open, _): grain == .everything
        case .file: true
        }
    }
}

/// The facts and problems that a run of a case recorded.
final class InterleavingLedger: Sendable {
    struct State: Sendable {
        var acknowledged: UInt64 = 0
        var durable: UInt64 = 0
        var promised: Set<UInt64> = []
        var problems: [String] = []
        var expiredCount = 0
    }

    let state = Mutex(State())

    func report(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    /// Records that a transaction must be durable before it is visible.
    func promise(_ transaction: UInt64) { state.withLock { _ = $0.promised.insert(transaction) } }

    /// Records that a snapshot showed a transaction.
    func show(_ transaction: UInt64) {
        state.withLock { state in
            if state.promised.contains(transaction) { state.durable = max(state.durable, transaction) }
        }
    }

    /// Records that a commit returned.
    func acknowledge(_ transaction: UInt64, isDurable: Bool) {
        state.withLock { state in
            state.acknowledged = max(state.acknowledged, transaction)
            if isDurable { state.durable = max(state.durable, transaction) }
        }
    }

    var acknowledged: UInt64 { state.withLock { $0.acknowledged } }
    var durable: UInt64 { state.withLock { $0.durable } }
    var problems: [String] { state.withLock { $0.problems } }
}

/// The work of the threads on one open store.
struct InterleavingRun: Sendable {
    static let path = "store"

    let test: InterleavingCase
    let database: Database
    let ledger: InterleavingLedger
    let step: @Sendable (String) -> Void

    /// The body of a thread.
    func body(of part: Part) -> @Sendable () -> Void {
        {
            do throws(StorageError) {
                switch part {
                case .reader(let count): for _ in 0..<count { try read() }
                case .writer(let commits): for durability in commits { try write(durability) }
                case .checkpointer(let modes): for mode in modes { try checkpoint(mode) }
                }
            } catch {
                ledger.report("\(part) failed: \(error)")
            }
        }
    }

    /// Runs one transaction: commits it, or rolls it back if `durability` is `nil`.
    func write(_ durability: Durability?) throws(StorageError) {
        step("begin write")
        var write = try database.beginWrite()
        let number = write.transactionID
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        if number > 1 {
            let before = try write.get(0, from: tree).map(Self.number) ?? 0
            if before != number - 1 { ledger.report("transaction \(number) builds on \(before)") }
        }
        for key in 0..<test.keyCount { try write.put(value(number), for: key, in: tree) }
        guard let durability else { return write.rollback() }
        if durability == .durable { ledger.promise(number) }
        let receipt = try write.commit(durability)
        if receipt.transactionID != number { ledger.report("transaction \(number) became \(receipt.transactionID)") }
        ledger.acknowledge(number, isDurable: durability == .durable)
    }

    /// Begins one snapshot and reads it twice.
    private func read() throws(StorageError) {
        step("begin read")
        let acknowledged = ledger.acknowledged
        let read = try database.beginRead()
        ledger.show(read.transactionID)
        if read.transactionID < acknowledged {
            ledger.report("a snapshot of \(read.transactionID) began when \(acknowledged) was committed")
        }
        do throws(StorageError) {
            for _ in 0..<2 {
                step("read")
                try compare(read)
            }
        } catch .transaction(.snapshotExpired)
            where test.isLogCapped && database.statistics.transactionID > read.transactionID
        {
            ledger.state.withLock { $0.expiredCount += 1 }
        }
        step("end read")
    }

    /// Expects that a snapshot shows its own commit and no other.
    func compare(_ read: borrowing ReadTransaction) throws(StorageError) {
        guard let tree = try read.tree(named: "t", keys: UInt64.self) else {
            if read.transactionID > 0 { ledger.report("the tree is gone") }
            return
        }
        for key in 0..<test.keyCount {
            let value = try read.get(key, from: tree)
            if value != self.value(read.transactionID) {
                let other = value.map { "\(Self.number($0))" } ?? "nothing"
                ledger.report("key \(key) of a snapshot of \(read.transactionID) is of \(other)")
            }
        }
    }

    private func checkpoint(_ mode: CheckpointMode) throws(StorageError) {
        step("begin checkpoint")
        do throws(StorageError) {
            let result = try database.checkpoint(mode)
            if mode != .passive, !result.isComplete { ledger.report("a \(mode) checkpoint is not complete") }
        } catch .transaction(.logFull) where mode != .passive {
            // A snapshot prevents the completion.
        }
    }

    func value(_ transaction: UInt64) -> [UInt8] {
        var value = [UInt8](repeating: UInt8(truncatingIfNeeded: transaction), count: test.valueByteCount)
        value[0] = UInt8(truncatingIfNeeded: transaction >> 8)
        return value
    }

    private static func number(_ value: [UInt8]) -> UInt64 {
        value.count > 1 ? UInt64(value[0]) << 8 | UInt64(value[1]) : 0
    }
}

extension InterleavingCase {
    /// The length of a value in bytes: 900 in the leaf, or 4,000 for each overflow page.
    var valueByteCount: Int { valuePageCount == 1 ? 900 : valuePageCount * 4000 }
}
