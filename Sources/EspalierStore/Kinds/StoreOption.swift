// Options of stores, by key (PS-18, PS-27).

/// The key of an option that a description has for its store.
///
/// A kind of store of an application may have options of its own.
public struct StoreOption: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The key.
    public let rawValue: String
    /// The option with a key.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The option with a key.
    public init(stringLiteral key: String) { rawValue = key }

    /// B-tree files: how many seconds to wait for another process that has the file open for writing; 0 by default.
    public static let timeout: StoreOption = "timeout"
    /// B-tree files: bytes of pages that are kept in memory.
    public static let cacheByteCount: StoreOption = "cacheByteCount"
    /// B-tree files: bytes per page of a file that is created.
    public static let pageSize: StoreOption = "pageSize"
    /// B-tree files: the greatest number of log bytes.
    public static let logByteCountMax: StoreOption = "logByteCountMax"
    /// B-tree files: bytes that one sort may take in memory before it uses a temporary file.
    public static let sortByteCountMax: StoreOption = "sortByteCountMax"
}
