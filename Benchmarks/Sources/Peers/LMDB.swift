// The part of LMDB's C API that the benchmarks call: the fastest embedded reader.

// SAFETY: @unchecked Sendable, because it holds function pointers only, which never change.

/// The loaded library.
package struct LMDB: @unchecked Sendable {
    package typealias Handle = OpaquePointer
    /// LMDB's `MDB_val`.
    package struct Value {
        /// The number of bytes.
        package var size: Int
        /// The address of the first byte.
        package var data: UnsafeMutableRawPointer?
        /// A view of `bytes`.
        package init(_ bytes: UnsafeRawBufferPointer) {
            (size, data) = (bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
        /// An empty value.
        package init() { (size, data) = (0, nil) }
    }

    package let envCreate: @convention(c) (UnsafeMutablePointer<Handle?>) -> Int32
    package let envSetMapSize: @convention(c) (Handle, Int) -> Int32
    package let envOpen: @convention(c) (Handle, UnsafePointer<CChar>, UInt32, UInt32) -> Int32
    package let envCopy2: @convention(c) (Handle, UnsafePointer<CChar>, UInt32) -> Int32
    package let envClose: @convention(c) (Handle) -> Void
    package let txnBegin: @convention(c) (Handle, Handle?, UInt32, UnsafeMutablePointer<Handle?>) -> Int32
    package let txnCommit: @convention(c) (Handle) -> Int32
    package let txnAbort: @convention(c) (Handle) -> Void
    package let txnReset: @convention(c) (Handle) -> Void
    package let txnRenew: @convention(c) (Handle) -> Int32
    package let dbiOpen: @convention(c) (Handle, UnsafePointer<CChar>?, UInt32, UnsafeMutablePointer<UInt32>) -> Int32
    package let put: @convention(c) (Handle, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer, UInt32) -> Int32
    package let get: @convention(c) (Handle, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
    package let delete: @convention(c) (Handle, UInt32, UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Int32
    package let cursorOpen: @convention(c) (Handle, UInt32, UnsafeMutablePointer<Handle?>) -> Int32
    package let cursorClose: @convention(c) (Handle) -> Void
    package let cursorGet: @convention(c) (Handle, UnsafeMutableRawPointer, UnsafeMutableRawPointer, Int32) -> Int32
    let versionText:
        @convention(c) (UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>)
            -> UnsafePointer<CChar>

    /// The cursor operation `MDB_FIRST`, then those of the next lines.
    package static let first: Int32 = 0
    package static let last: Int32 = 6
    package static let next: Int32 = 8
    package static let previous: Int32 = 12
    package static let setRange: Int32 = 17
    /// The flag `MDB_RDONLY`, then those of the next lines.
    package static let readOnly: UInt32 = 0x20000
    package static let noSync: UInt32 = 0x10000
    package static let noTLS: UInt32 = 0x200000
    package static let integerKey: UInt32 = 0x08
    package static let append: UInt32 = 0x20000
    package static let notFound: Int32 = -30798
    /// The flag `MDB_CP_COMPACT` of copying.
    package static let compact: UInt32 = 0x01

    /// The library, if the machine has it.
    package static let shared: LMDB? = try? LMDB()

    private init?() throws(PeerError) {
        guard let library = DynamicLibrary(["liblmdb.so.0", "liblmdb.dylib"]) else { return nil }
        envCreate = try library.function("mdb_env_create")
        envSetMapSize = try library.function("mdb_env_set_mapsize")
        envOpen = try library.function("mdb_env_open")
        envCopy2 = try library.function("mdb_env_copy2")
        envClose = try library.function("mdb_env_close")
        txnBegin = try library.function("mdb_txn_begin")
        txnCommit = try library.function("mdb_txn_commit")
        txnAbort = try library.function("mdb_txn_abort")
        txnReset = try library.function("mdb_txn_reset")
        txnRenew = try library.function("mdb_txn_renew")
        dbiOpen = try library.function("mdb_dbi_open")
        put = try library.function("mdb_put")
        get = try library.function("mdb_get")
        delete = try library.function("mdb_del")
        cursorOpen = try library.function("mdb_cursor_open")
        cursorClose = try library.function("mdb_cursor_close")
        cursorGet = try library.function("mdb_cursor_get")
        versionText = try library.function("mdb_version")
    }

    /// The version, such as "0.9.24".
    package var version: String {
        var numbers: (Int32, Int32, Int32) = (0, 0, 0)
        _ = versionText(&numbers.0, &numbers.1, &numbers.2)
        return "\(numbers.0).\(numbers.1).\(numbers.2)"
    }

    /// Throws if `code` is not 0.
    package static func check(_ code: Int32, _ what: String) throws(PeerError) {
        if code != 0 { throw PeerError(peer: "lmdb: \(what)", code: code, message: "see lmdb.h") }
    }
}
