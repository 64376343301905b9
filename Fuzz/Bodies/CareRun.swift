// Maintenance of a store between transactions (the body "care"), read from a fuzzer's bytes: shrinking, copies of every
// kind, compaction.
//
// Promises
//   1. Every copy contains the content of the store at the moment of the copy.
//   2. A copy that an increment or the stream of changes has brought forward is equivalent to a new one.
//   3. Shrinking and compaction change no entry.
//   4. The engine's own check and the independent audit find the store and every copy whole.

import EspalierAudit
import EspalierEngine
import TestSupport

/// A run of operations with maintenance between them.
final class CareRun {
    private static let copyPath = "copy"

    private let system: SimulatedFileSystem
    private let operations: OperationRun
    /// The content of the full copy that is brought forward, if there is one.
    private var copied: ModelContent?
    /// The stream of changes after that copy, once it has begun.
    private var feed: ChangeFeed?

    /// Opens a new store.
    init(_ input: FuzzInput, in system: SimulatedFileSystem) throws(StorageError) {
        self.system = system
        operations = try OperationRun(input, in: system)
    }

    /// Runs the decisions of all bytes.
    func run() throws(StorageError) {
        while !operations.input.isAtEnd {
            switch operations.input.number(below: 16) {
            case 0: try shrink()
            case 1: try backUp()
            case 2: try continueWithIncrement(restoring: false)
            case 3: try continueWithIncrement(restoring: true)
            case 4: try continueWithFeed()
            case 5: try compactToFile()
            case 6: try compactInPlace()
            case 7: try restore()
            case 8: try examineStore()
            case 9: try operations.checkpoint()
            case 10:
                feed = nil
                try operations.reopen()
            default: try operations.transact()
            }
        }
        feed = nil
        if let copied { try examine(Self.copyPath, copied) }
        try examineStore()
        try operations.finish()
    }

    // MARK: The store

    private func shrink() throws(StorageError) {
        var write = try operations.database.beginWrite()
        do throws(StorageError) {
            let receipt = try write.shrink(movingAtMost: 1 + operations.input.number(below: 64))
            precondition(receipt.pageCount <= receipt.pageCountBefore, "a shrink makes the store larger")
            if operations.input.number(below: 4) == 0 { return write.rollback() }
            let number = write.transactionID
            try write.commit()
            operations.note(number)
        } catch .transaction(.logFull) {
            // As documented: each page that a shrink moves needs space in the log.
        }
    }

    private func compactInPlace() throws(StorageError) {
        // Neither a stream nor an increment can continue across a compaction.
        (feed, copied) = (nil, nil)
        try remove(Self.copyPath)
        let system = system
        try operations.reopen { () throws(StorageError) in
            try Database.compact(at: OperationRun.path, in: system, options: OperationRun.options)
        }
        try operations.compareWithNewest()
    }

    private func examineStore() throws(StorageError) {
        try operations.check()
        try operations.compareWithNewest()
        audit(OperationRun.path, operations.content)
    }

    // MARK: Copies

    private func backUp() throws(StorageError) {
        try remove(Self.copyPath)
        feed = nil
        try operations.database.backUp(to: Self.copyPath)
        copied = operations.content
        try examine(Self.copyPath, operations.content)
    }

    /// Brings the copy forward by an increment; if `restoring`, first makes a new store from the copy and the
    /// increment.
    private func continueWithIncrement(restoring: Bool) throws(StorageError) {
        guard copied != nil else { return }
        feed = nil
        try operations.database.backUpChanges(since: try BackupPoint(of: Self.copyPath, in: system), to: "increment")
        if restoring {
            try Database.restore(Self.copyPath, increments: ["increment"], to: "restored", in: system)
            try examine("restored", operations.content)
            try remove("restored")
        }
        try Database.bringForward(Self.copyPath, by: "increment", in: system)
        try remove("increment")
        copied = operations.content
        try examine(Self.copyPath, operations.content)
    }

    private func continueWithFeed() throws(StorageError) {
        guard copied != nil else { return }
        let feed: ChangeFeed
        if let begun = self.feed {
            feed = begun
        } else {
            feed = try operations.database.changes(after: try BackupPoint(of: Self.copyPath, in: system))
            self.feed = feed
        }
        do throws(StorageError) {
            let changes = try feed.next(upTo: 1000 * operations.input.number(below: 256))
            guard let last = changes.last else { return }
            try Database.bringForward(Self.copyPath, by: changes, in: system)
            guard let content = operations.history[last.point.transactionID] else {
                preconditionFailure("transaction \(last.point.transactionID) was never committed")
            }
            copied = content
            try examine(Self.copyPath, content)
        } catch .maintenance(.changesGone) {
            // The log no longer has the changes that the stream should deliver, so an increment brings the copy
            // forward.
            try continueWithIncrement(restoring: false)
        }
    }

    private func restore() throws(StorageError) {
        guard let copied else { return }
        try Database.restore(Self.copyPath, increments: [], to: "restored", in: system)
        try examine("restored", copied)
        try remove("restored")
    }

    private func compactToFile() throws(StorageError) {
        try operations.database.compact(to: "compact")
        try examine("compact", operations.content)
        try remove("compact")
    }

    private func remove(_ path: String) throws(StorageError) {
        guard try system.identity(of: path, role: .store) != nil else { return }
        try system.remove(path)
        // Syncs, because the monitor of write order treats every unsynced change of a name as relevant.
        try system.sync()
    }

    // MARK: Examining

    /// Opens a closed store and requires it to be whole and to contain `content`.
    private func examine(_ path: String, _ content: ModelContent) throws(StorageError) {
        var options = OperationRun.options
        (options.access, options.createIfMissing) = (.immutable, false)
        let database = try Database.open(path, in: system, options: options)
        do {
            let read = try database.beginRead()
            try OperationRun.compare(read, with: content)
        }
        let report = try database.check()
        precondition(report.isOK, "the check of \(path) finds \(report.findings)")
        try database.close()
        audit(path, content)
    }

    private func audit(_ path: String, _ content: ModelContent) {
        guard let store = system.contents(of: path) else { preconditionFailure("\(path) is gone") }
        do throws(AuditFailure) {
            let report = try StoreAudit.run(store: store, log: system.contents(of: path + "-wal"))
            precondition(report.isOK, "the audit of \(path) finds \(report.findings.list)")
            precondition(report.trees.count == content.count, "the audit of \(path) counts other trees")
        } catch {
            preconditionFailure("the audit of \(path): \(error)")
        }
    }
}
