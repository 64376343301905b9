// Tables of SQLite and their statements, as a careful hand-written program keeps them: prepared once and run often.
//
// WAL and `synchronous=FULL`, so that a transaction is as durable as a save of Espalier. Both libraries make
// checkpoints as often as they do by default, and both cache 32 MiB of pages.

import Peers

class SQLiteTables {
    let library: SQLite
    let connection: SQLiteConnection
    private var statements: [String: SQLite.Statement] = [:]

    init(path: String) throws {
        guard let library = SQLite.shared else { throw PeerError(peer: "sqlite", code: -1, message: "not installed") }
        self.library = library
        connection = try library.open(path)
        for text in ["PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-32768"] {
            try connection.execute(text)
        }
    }

    /// The statement, prepared at the first call; look it up outside loops.
    func statement(_ text: String) throws -> SQLite.Statement {
        if let statement = statements[text] { return statement }
        let statement = try connection.prepare(text)
        statements[text] = statement
        return statement
    }

    func bind(_ text: String, _ statement: SQLite.Statement, _ column: Int32) {
        // The destructor -1 is SQLITE_TRANSIENT: SQLite copies the text, because a String lends it for the call only.
        var text = text
        text.withUTF8 {
            _ = library.bindText(
                statement, column, $0.baseAddress, Int32($0.count), UnsafeMutableRawPointer(bitPattern: -1))
        }
    }

    func text(_ statement: SQLite.Statement, _ column: Int32) -> String {
        let bytes = UnsafeBufferPointer(
            start: library.columnText(statement, column), count: Int(library.columnBytes(statement, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    func close() throws { for statement in statements.values { _ = library.finalize(statement) } }
}
