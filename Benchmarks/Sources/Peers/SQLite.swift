// The part of SQLite's C API that the benchmarks call: the basis of every Swift library over SQLite.

// SAFETY: @unchecked Sendable, because it holds function pointers only, which never change.

/// The loaded library.
package struct SQLite: @unchecked Sendable {
    package typealias Handle = OpaquePointer
    package typealias Statement = OpaquePointer
    typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void

    let openV2:
        @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<Handle?>, Int32, UnsafePointer<CChar>?) -> Int32
    let closeV2: @convention(c) (Handle) -> Int32
    let prepareV2:
        @convention(c) (
            Handle, UnsafePointer<CChar>, Int32, UnsafeMutablePointer<Statement?>,
            UnsafeMutablePointer<UnsafePointer<CChar>?>?
        ) -> Int32
    let errorMessage: @convention(c) (Handle) -> UnsafePointer<CChar>
    package let finalize: @convention(c) (Statement) -> Int32
    package let step: @convention(c) (Statement) -> Int32
    package let reset: @convention(c) (Statement) -> Int32
    package let bindInt64: @convention(c) (Statement, Int32, Int64) -> Int32
    package let bindDouble: @convention(c) (Statement, Int32, Double) -> Int32
    /// The last argument is the destructor; nil = static memory that stays until the statement is reset.
    package let bindBlob: @convention(c) (Statement, Int32, UnsafeRawPointer?, Int32, UnsafeMutableRawPointer?) -> Int32
    package let bindText: @convention(c) (Statement, Int32, UnsafeRawPointer?, Int32, UnsafeMutableRawPointer?) -> Int32
    package let bindNull: @convention(c) (Statement, Int32) -> Int32
    package let columnInt64: @convention(c) (Statement, Int32) -> Int64
    package let columnDouble: @convention(c) (Statement, Int32) -> Double
    package let columnBlob: @convention(c) (Statement, Int32) -> UnsafeRawPointer?
    package let columnText: @convention(c) (Statement, Int32) -> UnsafePointer<UInt8>?
    package let columnBytes: @convention(c) (Statement, Int32) -> Int32
    let libraryVersion: @convention(c) () -> UnsafePointer<CChar>

    package static let row: Int32 = 100
    package static let done: Int32 = 101

    /// The library, if the machine has it.
    package static let shared: SQLite? = try? SQLite()

    private init?() throws(PeerError) {
        guard let library = DynamicLibrary(["libsqlite3.so.0", "libsqlite3.dylib"]) else { return nil }
        openV2 = try library.function("sqlite3_open_v2")
        closeV2 = try library.function("sqlite3_close_v2")
        prepareV2 = try library.function("sqlite3_prepare_v2")
        errorMessage = try library.function("sqlite3_errmsg")
        finalize = try library.function("sqlite3_finalize")
        step = try library.function("sqlite3_step")
        reset = try library.function("sqlite3_reset")
        bindInt64 = try library.function("sqlite3_bind_int64")
        bindDouble = try library.function("sqlite3_bind_double")
        bindBlob = try library.function("sqlite3_bind_blob")
        bindText = try library.function("sqlite3_bind_text")
        bindNull = try library.function("sqlite3_bind_null")
        columnInt64 = try library.function("sqlite3_column_int64")
        columnDouble = try library.function("sqlite3_column_double")
        columnBlob = try library.function("sqlite3_column_blob")
        columnText = try library.function("sqlite3_column_text")
        columnBytes = try library.function("sqlite3_column_bytes")
        libraryVersion = try library.function("sqlite3_libversion")
    }

    /// The version, such as "3.40.1".
    package var version: String { String(cString: libraryVersion()) }

    /// Opens or creates a database file for one thread, without mutexes, as a careful single-threaded caller does.
    package func open(_ path: String) throws(PeerError) -> SQLiteConnection {
        var handle: Handle?
        let noMutex: Int32 = 0x8000, readWrite: Int32 = 0x2, create: Int32 = 0x4
        let code = openV2(path, &handle, readWrite | create | noMutex, nil)
        guard code == 0, let handle else { throw PeerError(peer: "sqlite3_open_v2", code: code, message: path) }
        return SQLiteConnection(library: self, handle: handle)
    }
}

/// One open database.
package final class SQLiteConnection {
    /// The library.
    package let library: SQLite
    private let handle: SQLite.Handle

    init(library: SQLite, handle: SQLite.Handle) {
        (self.library, self.handle) = (library, handle)
    }

    deinit { _ = library.closeV2(handle) }

    /// Compiles a statement.
    package func prepare(_ text: String) throws(PeerError) -> SQLite.Statement {
        var statement: SQLite.Statement?
        let code = library.prepareV2(handle, text, -1, &statement, nil)
        guard code == 0, let statement else { throw failure(text, code) }
        return statement
    }

    /// Runs a statement to its end, ignoring rows.
    package func execute(_ text: String) throws(PeerError) {
        let statement = try prepare(text)
        defer { _ = library.finalize(statement) }
        var code = library.step(statement)
        while code == SQLite.row { code = library.step(statement) }
        guard code == SQLite.done else { throw failure(text, code) }
    }

    /// Steps a statement that gives no rows, and resets it.
    package func run(_ statement: SQLite.Statement) throws(PeerError) {
        let code = library.step(statement)
        _ = library.reset(statement)
        guard code == SQLite.done else { throw failure("step", code) }
    }

    func failure(_ what: String, _ code: Int32) -> PeerError {
        PeerError(peer: "sqlite: \(what)", code: code, message: String(cString: library.errorMessage(handle)))
    }
}
