// SQLite as a contender: WAL, prepared statements, explicit transactions, a cache of the same size, memory-only
// temporary tables; `synchronous=FULL` where every commit must survive power loss, `NORMAL` where none waits.

import Peers

final class SQLiteContender: KeyValueContender {
    static let name = "sqlite"
    private let library: SQLite
    private let connection: SQLiteConnection
    private let shape: KeyShape
    private let folder: String
    private let cacheByteCount: Int
    private let begin, commit, insert, delete, select, forward, backward, from: SQLite.Statement

    init(folder: String, shape: KeyShape, sync: Sync, cacheByteCount: Int) throws {
        guard let library = SQLite.shared else { throw PeerError(peer: "sqlite", code: -1, message: "not installed") }
        self.library = library
        self.shape = shape
        (self.folder, self.cacheByteCount) = (folder, cacheByteCount)
        connection = try library.open(folder + "/bench.sqlite")
        try connection.execute("PRAGMA page_size=4096")
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("PRAGMA synchronous=\(sync == .everyCommit ? "FULL" : "NORMAL")")
        try connection.execute("PRAGMA cache_size=-\(cacheByteCount >> 10)")
        try connection.execute("PRAGMA temp_store=MEMORY")
        switch shape {
        case .integer: try connection.execute("CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v BLOB)")
        case .bytes: try connection.execute("CREATE TABLE IF NOT EXISTS t(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
        }
        begin = try connection.prepare("BEGIN")
        commit = try connection.prepare("COMMIT")
        insert = try connection.prepare("INSERT OR REPLACE INTO t(k, v) VALUES(?, ?)")
        delete = try connection.prepare("DELETE FROM t WHERE k = ?")
        select = try connection.prepare("SELECT v FROM t WHERE k = ?")
        forward = try connection.prepare("SELECT v FROM t ORDER BY k")
        backward = try connection.prepare("SELECT v FROM t ORDER BY k DESC")
        from = try connection.prepare("SELECT v FROM t WHERE k >= ? ORDER BY k")
    }

    private func bind(_ key: UInt64, to statement: SQLite.Statement, _ body: () throws -> Void) rethrows {
        switch shape {
        case .integer:
            _ = library.bindInt64(statement, 1, Int64(bitPattern: key))
            try body()
        case .bytes:
            var bytes = keyBytes(key)
            try withUnsafeBytes(of: &bytes) {
                _ = library.bindBlob(statement, 1, $0.baseAddress, 16, nil)
                try body()
            }
        }
    }

    func put(_ keys: [UInt64], value: [UInt8], batch: Int) throws {
        try value.withUnsafeBytes { value in
            _ = library.bindBlob(insert, 2, value.baseAddress, Int32(value.count), nil)
            var index = 0
            while index < keys.count {
                try connection.run(begin)
                let end = min(index + batch, keys.count)
                while index < end {
                    try bind(keys[index], to: insert) { try connection.run(insert) }
                    index += 1
                }
                try connection.run(commit)
            }
        }
    }

    func remove(_ keys: [UInt64], batch: Int) throws {
        var index = 0
        while index < keys.count {
            try connection.run(begin)
            let end = min(index + batch, keys.count)
            while index < end {
                try bind(keys[index], to: delete) { try connection.run(delete) }
                index += 1
            }
            try connection.run(commit)
        }
    }

    func get(_ keys: [UInt64], transactionPerRead: Bool) throws -> UInt64 {
        if !transactionPerRead { try connection.run(begin) }
        var sum: UInt64 = 0
        for key in keys {
            bind(key, to: select) {
                if library.step(select) == SQLite.row { sum &+= value(of: select) }
                _ = library.reset(select)
            }
        }
        if !transactionPerRead { try connection.run(commit) }
        return sum
    }

    private func value(of statement: SQLite.Statement) -> UInt64 {
        firstBytes(library.columnBlob(statement, 0), Int(library.columnBytes(statement, 0)))
    }

    func scan(backward isBackward: Bool) throws -> (count: Int, sum: UInt64) {
        let statement = isBackward ? backward : forward
        var (count, sum): (Int, UInt64) = (0, 0)
        while library.step(statement) == SQLite.row {
            sum &+= value(of: statement)
            count += 1
        }
        _ = library.reset(statement)
        return (count, sum)
    }

    func seek(_ keys: [UInt64], length: Int) throws -> UInt64 {
        try connection.run(begin)
        var sum: UInt64 = 0
        for key in keys {
            bind(key, to: from) {
                var left = length
                while left > 0, library.step(from) == SQLite.row {
                    sum &+= value(of: from)
                    left -= 1
                }
                _ = library.reset(from)
            }
        }
        try connection.run(commit)
        return sum
    }

    /// A connection of its own, because connections without mutexes belong to one thread.
    func reader() throws -> any KeyValueContender {
        try SQLiteContender(folder: folder, shape: shape, sync: .never, cacheByteCount: cacheByteCount)
    }

    func checkpoint() throws { try connection.execute("PRAGMA wal_checkpoint(RESTART)") }

    func compactAndClose() throws {
        try connection.execute("VACUUM")
        try close()
    }

    func close() throws {
        for statement in [begin, commit, insert, delete, select, forward, backward, from] {
            _ = library.finalize(statement)
        }
    }
}
