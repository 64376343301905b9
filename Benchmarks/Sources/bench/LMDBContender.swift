// LMDB as a contender: one environment, one unnamed tree, a large enough map, read transactions renewed as its manual
// advises, `MDB_NOSYNC` where no commit waits for the disk.

import Foundation
import Peers

final class LMDBContender: KeyValueContender {
    static let name = "lmdb"
    private let library: LMDB
    private let environment: LMDB.Handle
    private let folder: String
    private let ownsEnvironment: Bool
    private let shape: KeyShape
    private let tree: UInt32
    /// The read transaction, reset between uses.
    private var parked: LMDB.Handle?

    init(folder: String, shape: KeyShape, sync: Sync, cacheByteCount: Int) throws {
        guard let library = LMDB.shared else { throw PeerError(peer: "lmdb", code: -1, message: "not installed") }
        self.library = library
        (self.folder, self.shape) = (folder, shape)
        ownsEnvironment = true
        var environment: LMDB.Handle?
        try LMDB.check(library.envCreate(&environment), "mdb_env_create")
        guard let environment else { throw PeerError(peer: "lmdb", code: -1, message: "no environment") }
        self.environment = environment
        try LMDB.check(library.envSetMapSize(environment, 16 << 30), "mdb_env_set_mapsize")
        // With `noTLS` reader slots belong to transactions. Otherwise a thread that ends after the environment was
        // closed would write into the unmapped lock file.
        let flags = LMDB.noTLS | (sync == .everyCommit ? 0 : LMDB.noSync)
        try LMDB.check(library.envOpen(environment, folder, flags, 0o644), "mdb_env_open")
        var transaction: LMDB.Handle?
        try LMDB.check(library.txnBegin(environment, nil, 0, &transaction), "mdb_txn_begin")
        guard let transaction else { throw PeerError(peer: "lmdb", code: -1, message: "no transaction") }
        var tree: UInt32 = 0
        try LMDB.check(
            library.dbiOpen(transaction, nil, shape == .integer ? LMDB.integerKey : 0, &tree), "mdb_dbi_open")
        try LMDB.check(library.txnCommit(transaction), "mdb_txn_commit")
        self.tree = tree
    }

    private init(sharing other: LMDBContender) {
        (library, environment, folder) = (other.library, other.environment, other.folder)
        (shape, tree) = (other.shape, other.tree)
        ownsEnvironment = false
    }

    private func withReadTransaction<R>(_ body: (LMDB.Handle) throws -> R) throws -> R {
        if let parked {
            try LMDB.check(library.txnRenew(parked), "mdb_txn_renew")
        } else {
            parked = try transaction(readOnly: true)
        }
        guard let parked else { throw PeerError(peer: "lmdb", code: -1, message: "no transaction") }
        defer { library.txnReset(parked) }
        return try body(parked)
    }

    private func transaction(readOnly: Bool) throws -> LMDB.Handle {
        var transaction: LMDB.Handle?
        try LMDB.check(library.txnBegin(environment, nil, readOnly ? LMDB.readOnly : 0, &transaction), "mdb_txn_begin")
        guard let transaction else { throw PeerError(peer: "lmdb", code: -1, message: "no transaction") }
        return transaction
    }

    @inline(__always)
    private func withKey<R>(_ key: UInt64, _ body: (inout LMDB.Value) throws -> R) rethrows -> R {
        switch shape {
        case .integer:
            var number = key
            return try withUnsafeBytes(of: &number) {
                var value = LMDB.Value($0)
                return try body(&value)
            }
        case .bytes:
            var bytes = keyBytes(key)
            return try withUnsafeBytes(of: &bytes) {
                var value = LMDB.Value($0)
                return try body(&value)
            }
        }
    }

    func put(_ keys: [UInt64], value: [UInt8], batch: Int) throws {
        try value.withUnsafeBytes { bytes in
            var index = 0
            while index < keys.count {
                let transaction = try transaction(readOnly: false)
                let end = min(index + batch, keys.count)
                while index < end {
                    try withKey(keys[index]) { key in
                        var value = LMDB.Value(bytes)
                        try LMDB.check(library.put(transaction, tree, &key, &value, 0), "mdb_put")
                    }
                    index += 1
                }
                try LMDB.check(library.txnCommit(transaction), "mdb_txn_commit")
            }
        }
    }

    func remove(_ keys: [UInt64], batch: Int) throws {
        var index = 0
        while index < keys.count {
            let transaction = try transaction(readOnly: false)
            let end = min(index + batch, keys.count)
            while index < end {
                try withKey(keys[index]) { key in
                    let code = library.delete(transaction, tree, &key, nil)
                    if code != LMDB.notFound { try LMDB.check(code, "mdb_del") }
                }
                index += 1
            }
            try LMDB.check(library.txnCommit(transaction), "mdb_txn_commit")
        }
    }

    func get(_ keys: [UInt64], transactionPerRead: Bool) throws -> UInt64 {
        try withReadTransaction { transaction in
            var sum: UInt64 = 0
            for (index, key) in keys.enumerated() {
                if transactionPerRead && index > 0 {
                    library.txnReset(transaction)
                    try LMDB.check(library.txnRenew(transaction), "mdb_txn_renew")
                }
                withKey(key) { key in
                    var value = LMDB.Value()
                    if library.get(transaction, tree, &key, &value) == 0 { sum &+= firstBytes(value.data, value.size) }
                }
            }
            return sum
        }
    }

    private func withCursor<R>(_ body: (LMDB.Handle) throws -> R) throws -> R {
        try withReadTransaction { transaction in
            var cursor: LMDB.Handle?
            try LMDB.check(library.cursorOpen(transaction, tree, &cursor), "mdb_cursor_open")
            guard let cursor else { throw PeerError(peer: "lmdb", code: -1, message: "no cursor") }
            defer { library.cursorClose(cursor) }
            return try body(cursor)
        }
    }

    func scan(backward: Bool) throws -> (count: Int, sum: UInt64) {
        try withCursor { cursor in
            var key = LMDB.Value()
            var value = LMDB.Value()
            var (count, sum): (Int, UInt64) = (0, 0)
            var code = library.cursorGet(cursor, &key, &value, backward ? LMDB.last : LMDB.first)
            while code == 0 {
                sum &+= firstBytes(value.data, value.size)
                count += 1
                code = library.cursorGet(cursor, &key, &value, backward ? LMDB.previous : LMDB.next)
            }
            return (count, sum)
        }
    }

    func seek(_ keys: [UInt64], length: Int) throws -> UInt64 {
        try withCursor { cursor in
            var sum: UInt64 = 0
            for key in keys {
                withKey(key) { key in
                    var value = LMDB.Value()
                    var code = library.cursorGet(cursor, &key, &value, LMDB.setRange)
                    var left = length
                    while code == 0 && left > 0 {
                        sum &+= firstBytes(value.data, value.size)
                        left -= 1
                        if left > 0 { code = library.cursorGet(cursor, &key, &value, LMDB.next) }
                    }
                }
            }
            return sum
        }
    }

    /// The same environment, which a process must not open twice, with a read transaction of its own.
    func reader() throws -> any KeyValueContender { LMDBContender(sharing: self) }

    /// Does nothing: LMDB has no log.
    func checkpoint() {}

    /// Makes a compact copy, which replaces the file.
    func compactAndClose() throws {
        let copy = folder + "/compact"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        try LMDB.check(library.envCopy2(environment, copy, LMDB.compact), "mdb_env_copy2")
        try close()
        try FileManager.default.removeItem(atPath: folder + "/data.mdb")
        try FileManager.default.moveItem(atPath: copy + "/data.mdb", toPath: folder + "/data.mdb")
        try FileManager.default.removeItem(atPath: copy)
    }

    func close() throws {
        if let parked { library.txnAbort(parked) }
        parked = nil
        if ownsEnvironment { library.envClose(environment) }
    }
}
