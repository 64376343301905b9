// A store that is open: the entrance to the engine.

/// An open store: an embedded, transactional, ordered key-value store in one file and its log.
public final class Database: Sendable {
    /// Opens the store at `path`, creating it if the options allow.
    public static func open(_ path: String, options: DatabaseOptions = .init()) throws(StorageError) -> Database {
        throw .closed
    }

    /// Makes an empty store in memory, on the same engine.
    public static func inMemory(options: DatabaseOptions = .init()) throws(StorageError) -> Database {
        throw .closed
    }

    /// Begins a read transaction on the newest commit.
    ///
    /// Never waits.
    public func beginRead() throws(StorageError) -> ReadTransaction { throw .closed }

    /// Begins the write transaction; waits until the one before it has ended.
    public func beginWrite() throws(StorageError) -> WriteTransaction { throw .closed }

    /// Moves committed pages from the log into the store file.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) throws(StorageError) -> CheckpointResult {
        throw .closed
    }

    /// Moves everything into the store file, marks it as cleanly closed and releases it.
    public func close() throws(StorageError) { throw .closed }

    /// Walks the whole store and reports all that is wrong with it.
    ///
    /// - Parameter progress: called now and then; returning `false` ends the check.
    public func check(progress: ((CheckProgress) -> Bool)? = nil) throws(StorageError) -> CheckReport {
        throw .closed
    }

    /// The path the store was opened with; empty for a store in memory.
    public let path: String
    /// 16 random bytes that name this store.
    public let storeIdentifier: [UInt8]
    /// Whether nothing can be written through this database.
    public let isReadOnly: Bool
    /// Bytes per page.
    public let pageSize: Int
    /// The application's file type, as it was given on creation.
    public let applicationID: UInt32
    /// The application's schema version, as it was given on creation.
    public let applicationVersion: UInt32
    /// Numbers about the open store.
    public var statistics: DatabaseStatistics { DatabaseStatistics() }

    init() throws(StorageError) { throw .closed }
}
