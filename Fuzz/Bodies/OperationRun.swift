// A sequence of operations on a store, read from a fuzzer's bytes and compared with a sorted array at each step.
//
// Promises
//   1. Every answer equals the oracle's; every snapshot keeps its content during later writes.
//   2. Content that was committed as durable, or closed, survives; a transaction exists whole or not at all.
//   3. The integrity check finds no fault at any time.
// Errors go to the caller: without faults there are none except those that the run itself handles.

import EspalierEngine
import TestSupport

/// The content of a store by the oracle: one tree of each kind; `nil` = the tree does not exist.
typealias ModelContent = [String: SortedModel]

/// A run of operations.
final class OperationRun {
    /// A read transaction and the content that it must see.
    private final class Snapshot {
        let read: ReadTransaction
        let content: ModelContent

        init(_ read: consuming ReadTransaction, _ content: ModelContent) {
            self.read = read
            self.content = content
        }
    }

    static let path = "store"

    private let system: SimulatedFileSystem
    /// The decisions that remain.
    var input: FuzzInput
    /// The store, open.
    private(set) var database: Database
    /// The content of the store.
    private(set) var content: ModelContent
    private var snapshots: [Snapshot] = []
    /// The open savepoints of the transaction, each with the content at that point.
    private var savepoints: [(savepoint: Savepoint, content: ModelContent)] = []
    /// The content after each transaction that may have been committed.
    private(set) var history: [UInt64: ModelContent] = [0: [:]]
    /// The newest transaction that must survive.
    private(set) var durable: UInt64 = 0

    /// Small limits, so that segments, cache and free space turn over within a few transactions.
    static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 16 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 512 << 10
        options.checkpointThreshold = 48 << 10
        return options
    }

    /// Opens a new store.
    init(_ input: FuzzInput, in system: SimulatedFileSystem) throws(StorageError) {
        self.input = input
        self.system = system
        content = [:]
        database = try Database.open(Self.path, in: system, options: Self.options)
    }

    /// Runs the decisions of all bytes.
    func run() throws(StorageError) {
        while !input.isAtEnd {
            switch input.number(below: 12) {
            case 0:
                if snapshots.count == 3 { snapshots.removeFirst() }
                snapshots.append(Snapshot(try database.beginRead(), content))
            case 1: try verifySnapshots()
            case 2: try reopen()
            case 3: try checkpoint()
            case 4: try check()
            default: try transact()
            }
        }
        try finish()
    }

    /// Checks the store that the next process would find, and closes it.
    func finish() throws(StorageError) {
        try verifySnapshots()
        try reopen()
        try compareWithNewest()
        try check()
        try database.close()
    }

    /// Records that transaction `number` was committed and changed no entry.
    func note(_ number: UInt64) { history[number] = content }

    // MARK: Between transactions

    func compareWithNewest() throws(StorageError) {
        let read = try database.beginRead()
        try Self.compare(read, with: content)
    }

    func verifySnapshots() throws(StorageError) {
        for snapshot in snapshots {
            do throws(StorageError) {
                try Self.compare(snapshot.read, with: snapshot.content)
            } catch .transaction(.snapshotExpired) {
                // The log has reached its cap, and the engine may then expire snapshots, as documented.
            }
        }
    }

    /// Closes the store, and opens it again after `work`.
    func reopen(after work: () throws(StorageError) -> Void = {}) throws(StorageError) {
        snapshots.removeAll()
        let newest = try database.beginRead().transactionID
        try database.close()
        durable = newest
        try work()
        database = try Database.open(Self.path, in: system, options: Self.options)
    }

    func checkpoint() throws(StorageError) {
        let mode = [CheckpointMode.passive, .full, .truncate][input.number(below: 3)]
        do throws(StorageError) {
            try database.checkpoint(mode)
        } catch .transaction(.logFull) {
            precondition(!snapshots.isEmpty && mode != .passive, "a checkpoint waits although no reader is open")
        }
    }

    func check() throws(StorageError) {
        let report = try database.check()
        precondition(report.isOK, "the check finds \(report.findings)")
    }

    // MARK: Transactions

    func transact() throws(StorageError) {
        let before = content
        savepoints = []
        var write = try database.beginWrite()
        do throws(StorageError) {
            for _ in 0..<input.number(below: 24) where !input.isAtEnd { try change(&write) }
            let ending = input.number(below: 8)
            if ending == 0 {
                content = before
                write.rollback()
                return
            }
            let number = write.transactionID
            history[number] = content
            let durability: Durability = ending == 1 ? .ordered : ending == 2 ? .none : .durable
            let receipt = try write.commit(durability)
            precondition(receipt.transactionID <= number, "a commit with the number \(receipt.transactionID)")
            if receipt.transactionID == number, durability == .durable { durable = number }
        } catch .transaction(.logFull) {
            content = before
        }
    }

    private func change(_ write: inout WriteTransaction) throws(StorageError) {
        let kind: KeyKind = input.number(below: 2) == 0 ? .integer : .bytes
        let name = kind == .integer ? "numbers" : "words"
        let tree = try write.tree(named: name, orCreate: kind)
        var model = content[name] ?? SortedModel()
        var hasGoneBack = false
        defer { if !hasGoneBack { content[name] = model } }
        switch input.number(below: 16) {
        case 0...5: try put(key(kind), value(), tree, &model, &write)
        case 6...8: try remove(key(kind), tree, &model, &write)
        case 9:
            let key = key(kind)
            let found = try Self.get(key, tree, write)
            precondition(found == model.value(of: key), "another value under \(key)")
            try changeInPlace(key, tree, &model, &write)
        case 10: try walk(tree, model, write)
        case 11:
            // Puts many entries at once, so that pages split.
            let (first, value) = (input.word(), value(limit: 700))
            for number in 0..<input.number(below: 200) {
                try put(Self.key(first + number, kind), value, tree, &model, &write)
            }
        case 12:
            let first = input.word()
            for number in 0..<input.number(below: 200) {
                try remove(Self.key(first + number, kind), tree, &model, &write)
            }
        case 13:
            guard kind == .bytes else { return }
            let long = [UInt8](repeating: input.byte(), count: 900 + input.number(below: 256))
            do throws(StorageError) { try put(long, [1], tree, &model, &write) } catch .argument(.keyTooLong) {}
        case 14:
            let count = try write.count(of: tree)
            precondition(count == UInt64(model.entries.count), "another count")
        default:
            switch input.number(below: 4) {
            case 0:
                try write.dropTree(tree)
                _ = try write.createTree(named: name, kind: kind)
                model = SortedModel()
            case 1: try removeRange(tree, &model, &write)
            case 2: try load(tree, &model, &write)
            default:
                content[name] = model
                hasGoneBack = true
                try moveAlongSavepoints(&write)
            }
        }
    }

    /// Flips the lowest bit of a value's first byte in place.
    private func changeInPlace(
        _ key: [UInt8], _ tree: AnyTree, _ model: inout SortedModel, _ write: inout WriteTransaction
    ) throws(StorageError) {
        func change(_ bytes: inout MutableRawSpan) {
            guard bytes.byteCount > 0 else { return }
            // SAFETY: there is a first byte.
            let first = unsafe bytes.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
            bytes.storeBytes(of: first ^ 1, toByteOffset: 0, as: UInt8.self)
        }
        let existed =
            try write.withMutableValue(of: key, in: tree) { change(&$0) }
        precondition(existed == (model.value(of: key) != nil), "a change of \(key) reports \(existed)")
        guard var value = model.value(of: key), !value.isEmpty else { return }
        value[0] ^= 1
        _ = model.put(value, for: key)
    }

    // MARK: Savepoints, ranges and loads

    /// Opens a savepoint, rolls back to one, or releases one.
    private func moveAlongSavepoints(_ write: inout WriteTransaction) throws(StorageError) {
        let action = input.number(below: 4)
        guard action > 1, !savepoints.isEmpty else { return savepoints.append((try write.savepoint(), content)) }
        let place = input.number(below: savepoints.count)
        let (savepoint, before) = savepoints[place]
        if action == 2 {
            try write.rollback(to: savepoint)
            content = before
            savepoints.removeSubrange((place + 1)...)
        } else {
            try write.release(savepoint)
            savepoints.removeSubrange(place...)
        }
    }

    private func removeRange(
        _ tree: AnyTree, _ model: inout SortedModel, _ write: inout WriteTransaction
    ) throws(StorageError) {
        let (low, high) = (key(tree.kind), key(tree.kind))
        let removed = try write.removeAll(KeyRange(from: .including(low), to: .excluding(high)), from: tree)
        let gone = model.position(of: low)..<max(model.position(of: low), model.position(of: high))
        precondition(removed == UInt64(gone.count), "a removal of \(low)..<\(high) reports \(removed)")
        for entry in model.entries[gone] { _ = model.remove(entry.key) }
    }

    /// Loads neighboring keys; for a tree with entries, or keys that do not ascend, the load must fail and change
    /// nothing.
    private func load(
        _ tree: AnyTree, _ model: inout SortedModel, _ write: inout WriteTransaction
    ) throws(StorageError) {
        let (first, value) = (input.word(), value(limit: 700))
        let keys = (0..<input.number(below: 200)).map { Self.key(first + $0, tree.kind) }
        let ascends = zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
        let isEmpty = model.entries.isEmpty
        do throws(StorageError) {
            try write.load(keys.map { ($0, value) }, into: tree)
            precondition(isEmpty && ascends, "a load succeeds that must fail")
            for key in keys { _ = model.put(value, for: key) }
        } catch .argument(.treeNotEmpty) {
            precondition(!isEmpty, "a load reports entries in an empty tree")
        } catch .argument(.keysNotAscending) {
            precondition(!ascends, "a load reports ascending keys as not ascending")
        }
    }

    private func put(
        _ key: [UInt8], _ value: [UInt8], _ tree: AnyTree, _ model: inout SortedModel, _ write: inout WriteTransaction
    ) throws(StorageError) {
        let didReplace = try write.put(value, for: key, in: tree)
        precondition(didReplace == model.put(value, for: key), "a put of \(key) reports \(didReplace) as replaced")
    }

    private func remove(
        _ key: [UInt8], _ tree: AnyTree, _ model: inout SortedModel, _ write: inout WriteTransaction
    ) throws(StorageError) {
        let wasThere = try write.remove(key, from: tree)
        precondition(wasThere == model.remove(key), "a removal of \(key) reports \(wasThere) as present")
    }

    private func walk(_ tree: AnyTree, _ model: SortedModel, _ write: borrowing WriteTransaction) throws(StorageError) {
        let key = key(tree.kind)
        switch tree {
        case .integers(let tree):
            var cursor = try write.cursor(over: tree)
            try walk(&cursor, isOnEntry: try cursor.seek(UInt64(bigEndian: key)), from: key, model)
        case .bytes(let tree):
            var cursor = try write.cursor(over: tree)
            try walk(&cursor, isOnEntry: try cursor.seek(key), from: key, model)
        }
    }

    private func walk<Key>(
        _ cursor: inout Cursor<Key>, isOnEntry: Bool, from key: [UInt8], _ model: SortedModel
    ) throws(StorageError) {
        var (position, isOnEntry) = (model.position(of: key), isOnEntry)
        for _ in 0..<input.number(below: 64) {
            precondition(isOnEntry == model.entries.indices.contains(position), "the cursor is on another entry")
            if isOnEntry {
                let entry = model.entries[position]
                let found = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                precondition(found == entry.key, "the cursor is on \(found), not \(entry.key)")
                let value = try cursor.value()
                precondition(value == entry.value, "another value under the cursor")
            }
            if input.byte() & 1 == 0 {
                isOnEntry = try cursor.next()
                position = min(position + 1, model.entries.count)
            } else {
                isOnEntry = try cursor.previous()
                position = max(position - 1, -1)
            }
        }
    }

    // MARK: Keys and values

    private func key(_ kind: KeyKind) -> [UInt8] { Self.key(input.word(), kind) }

    private static func key(_ number: Int, _ kind: KeyKind) -> [UInt8] {
        if kind == .integer { return (0..<8).map { UInt8(truncatingIfNeeded: UInt64(number) >> (56 - 8 * $0)) } }
        // The empty key, keys with common prefixes, and keys of very different lengths.
        if number == 0 { return [] }
        let text = [UInt8]("key \(number / 64 % 8) \(number)".utf8)
        return number % 8 == 0 ? text + [UInt8](repeating: UInt8(number % 251), count: number % 700) : text
    }

    private func value(limit: Int = 40_000) -> [UInt8] {
        let word = input.word()
        let count = [0, word % 30, word % 300, word % 1100, word % 5000, word % limit][input.number(below: 6)]
        return [UInt8](repeating: UInt8(truncatingIfNeeded: word), count: min(count, limit))
    }

    private static func get(
        _ key: [UInt8], _ tree: AnyTree, _ write: borrowing WriteTransaction
    ) throws(StorageError) -> [UInt8]? {
        try write.get(key, from: tree)
    }

    // MARK: Comparing

    /// Traps if the transaction sees any other content than `content`.
    static func compare(_ read: borrowing ReadTransaction, with content: ModelContent) throws(StorageError) {
        let trees = try read.trees()
        precondition(trees.map(\.tree.name) == content.keys.sorted(), "other trees: \(trees.map(\.tree.name))")
        for summary in trees {
            let entries = content[summary.tree.name]?.entries ?? []
            precondition(summary.entryCount == UInt64(entries.count), "another count of \(summary.tree.name)")
            var cursor = try read.cursor(over: summary.tree)
            for entry in entries {
                let isOnEntry = try cursor.next()
                precondition(isOnEntry, "an entry of \(summary.tree.name) is missing: \(entry.key)")
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                precondition(key == entry.key, "key \(key) instead of \(entry.key)")
                let value = try cursor.value()
                precondition(value == entry.value, "another value under \(key)")
            }
            let isOnEntry = try cursor.next()
            precondition(!isOnEntry, "\(summary.tree.name) has more entries")
        }
    }
}
