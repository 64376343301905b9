// The shared parts of tests with threads: a store whose content shows whether it is of one whole commit, threads whose
// errors reach the test, and a file system that syncs slowly or appears as another process's.
//
// Invariants
//   1. After transaction t every stamp is t, repeated, and the sum of the accounts is unchanged, so `verify` detects a
//      mixture of two commits.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

/// A store whose contents prove that they belong to one commit.
struct Ledger: Sendable {
    static let accountCount: UInt64 = 300
    static let stampCount = 30
    static let opening: UInt64 = 1000

    let database: Database
    let accounts: Tree<UInt64>
    let stamps: Tree<[UInt8]>

    /// Fills an empty store with the first commit.
    init(filling database: Database) throws {
        self.database = database
        var write = try database.beginWrite()
        accounts = try write.createTree(named: "accounts", keys: UInt64.self)
        stamps = try write.createTree(named: "stamps", keys: [UInt8].self)
        for account in 0..<Self.accountCount {
            try write.put(Self.balance(Self.opening), for: account, in: accounts)
        }
        try stamp(&write)
        try write.commit()
    }

    /// The store of `ledger` as another database shows it.
    init(_ ledger: Ledger, in database: Database) {
        self.database = database
        accounts = ledger.accounts
        stamps = ledger.stamps
    }

    /// A store that another ledger has filled, as `database` shows it.
    init(opening database: Database) throws {
        self.database = database
        let read = try database.beginRead()
        accounts = try #require(try read.tree(named: "accounts", keys: UInt64.self))
        stamps = try #require(try read.tree(named: "stamps", keys: [UInt8].self))
    }

    private static func balance(_ amount: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: amount >> (8 * $0)) } + [UInt8](repeating: 0xEE, count: 80)
    }

    private static func number(_ bytes: [UInt8], at offset: Int = 0) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
    }

    /// Writes the number of the transaction to every stamp; some are longer than a page.
    private func stamp(_ write: inout WriteTransaction) throws {
        let number = write.transactionID
        let word = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        for place in 0..<Self.stampCount {
            let wordCount = 1 + Int((number &* 31 &+ UInt64(place) &* 7) % 90) * (place % 10 == 0 ? 9 : 1)
            let value = [UInt8]((0..<wordCount).map { _ in word }.joined())
            try write.put(value, for: bytes("stamp \(place)"), in: stamps)
        }
    }

    /// Moves money between accounts and stamps the transaction; sometimes rolls back another transaction first.
    @discardableResult
    func commit(
        _ chance: inout SeededGenerator, _ durability: Durability = .ordered
    ) throws -> CommitReceipt {
        if UInt8.random(in: 0..<8, using: &chance) == 0 {
            var write = try database.beginWrite()
            for account in 0..<Self.accountCount where account % 3 == 0 { try write.remove(account, from: accounts) }
            try stamp(&write)
            write.rollback()
        }
        var write = try database.beginWrite()
        for _ in 0..<3 {
            let from = UInt64.random(in: 0..<Self.accountCount, using: &chance)
            let to = UInt64.random(in: 0..<Self.accountCount, using: &chance)
            let rich = Self.number(try #require(try write.get(from, from: accounts)))
            let amount = UInt64.random(in: 0...rich, using: &chance)
            try write.put(Self.balance(rich - amount), for: from, in: accounts)
            let poor = Self.number(try #require(try write.get(to, from: accounts)))
            try write.put(Self.balance(poor + amount), for: to, in: accounts)
        }
        try stamp(&write)
        return try write.commit(durability)
    }

    /// Reads the whole snapshot, expects that it is one whole commit, and returns a digest of it.
    func verify(_ read: borrowing ReadTransaction) throws -> UInt64 {
        var (sum, count, digest): (UInt64, UInt64, UInt64) = (0, 0, 0)
        var cursor = try read.cursor(over: accounts)
        while try cursor.next() {
            let amount = Self.number(try cursor.value())
            sum += amount
            count += 1
            digest = (digest ^ amount) &* 0x9E37_79B9_7F4A_7C15 &+ (try cursor.key)
        }
        let transaction = read.transactionID
        var stampCount = 0
        var stampCursor = try read.cursor(over: stamps)
        while try stampCursor.next() {
            let value = try stampCursor.value()
            let isWhole = stride(from: 0, to: value.count, by: 8).allSatisfy {
                Self.number(value, at: $0) == transaction
            }
            if !isWhole {
                Issue.record("stamp \(stampCount) of transaction \(transaction) is of \(Self.number(value))")
            }
            stampCount += 1
        }
        #expect(count == Self.accountCount && sum == Self.accountCount * Self.opening, "transaction \(transaction)")
        #expect(stampCount == Self.stampCount)
        return digest
    }
}

/// Runs `body` on `count` threads at the same time, each with its number, and throws the first error.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failures = Mutex<[any Error]>([])
    let shared = Shared(failures)
    let done = DispatchGroup()
    for number in 0..<count {
        done.enter()
        let thread = Thread {
            do { try body(number) } catch { shared.value.withLock { $0.append(error) } }
            done.leave()
        }
        thread.stackSize = 4 << 20
        thread.start()
    }
    done.wait()
    if let first = shared.value.withLock({ $0.first }) { throw first }
}

/// A noncopyable value that several threads share.
final class Shared<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}

/// The operating system's files with slow syncs, or with other identities, so that the engine treats them as files
/// that another process has opened.
final class DisguisedFileSystem: FileSystem {
    private let system = PosixFileSystem.shared
    private let device: UInt64
    private let syncDelay: TimeInterval
    private let willOpen: @Sendable (FileRole) -> Void

    /// - Parameter willOpen: called before each file is opened.
    init(
        device: UInt64 = 0, syncDelay: TimeInterval = 0, willOpen: @escaping @Sendable (FileRole) -> Void = { _ in }
    ) {
        self.device = device
        self.syncDelay = syncDelay
        self.willOpen = willOpen
    }

    private func disguise(_ identity: FileIdentity) -> FileIdentity {
        FileIdentity(device: identity.device ^ device, inode: identity.inode)
    }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try WrappedDirectory.entry(
            at: path, of: system, identity: { [self] in disguise($0) }, willOpen: willOpen
        ) { [self] _, file in
            DisguisedFile(file, identity: disguise(file.identity), syncDelay: syncDelay)
        }
    }

    func now() -> UInt64 { system.now() }
    func random() -> UInt64 { system.random() }
}

/// A file of a `DisguisedFileSystem`.
private final class DisguisedFile: StorageFile {
    private let file: any StorageFile
    private let syncDelay: TimeInterval
    let identity: FileIdentity

    init(_ file: any StorageFile, identity: FileIdentity, syncDelay: TimeInterval) {
        self.file = file
        self.identity = identity
        self.syncDelay = syncDelay
    }

    var role: FileRole { file.role }
    func size() throws(StorageError) -> UInt64 { try file.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        unsafe try file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        unsafe try file.write(buffer, at: offset)
    }

    func sync(_ level: SyncLevel) throws(StorageError) {
        if syncDelay > 0 { Thread.sleep(forTimeInterval: syncDelay) }
        try file.sync(level)
    }

    func truncate(to byteCount: UInt64) throws(StorageError) { try file.truncate(to: byteCount) }
    func allocate(to byteCount: UInt64) throws(StorageError) { try file.allocate(to: byteCount) }
    func linkCount() throws(StorageError) -> UInt64 { try file.linkCount() }
    func lockForWriting() throws(StorageError) { try file.lockForWriting() }
    var isLockedByWriter: Bool { file.isLockedByWriter }
    func close() throws(StorageError) { try file.close() }
}
