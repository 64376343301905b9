// The abilities of each contender of the engine lines: whole loops, each written as a careful user of the library
// would.
//
// Invariants
//   1. All contenders have the same keys in the same order, the same value bytes, and the same number of
//      operations in a transaction.
//   2. Reads return a sum over the first bytes of each value, so that no contender can skip the value.

/// The two shapes of keys.
enum KeyShape: String, CaseIterable {
    /// 64-bit integers: rowid tables, `MDB_INTEGERKEY`, integer trees.
    case integer = "u64"
    /// 16 bytes: `WITHOUT ROWID` blob keys, plain LMDB, bytes trees.
    case bytes = "16 B"
}

/// How a commit is synced.
enum Sync {
    /// Every commit survives power loss.
    case everyCommit
    /// No commit waits for the disk; order is kept where the library can.
    case never
}

/// A store with one tree of keys and values.
protocol KeyValueContender: AnyObject {
    static var name: String { get }
    /// Creates or opens the store in `folder`.
    init(folder: String, shape: KeyShape, sync: Sync, cacheByteCount: Int) throws
    /// Stores `value` under each key, `batch` keys a transaction.
    func put(_ keys: [UInt64], value: [UInt8], batch: Int) throws
    /// Deletes each key, `batch` keys a transaction.
    func remove(_ keys: [UInt64], batch: Int) throws
    /// Reads each key, all in one read transaction, or each in a transaction of its own.
    func get(_ keys: [UInt64], transactionPerRead: Bool) throws -> UInt64
    /// Reads every cache line of the value of each integer key, all in one read transaction.
    func getLarge(_ keys: [UInt64]) throws -> UInt64
    /// Walks the whole tree.
    func scan(backward: Bool) throws -> (count: Int, sum: UInt64)
    /// Seeks each key and reads `length` entries from there on, all in one read transaction.
    func seek(_ keys: [UInt64], length: Int) throws -> UInt64
    /// The same store, for another thread that reads.
    func reader() throws -> any KeyValueContender
    /// Moves the content of a log into the store file, so that the log is filled from its beginning.
    func checkpoint() throws
    /// Makes the file as small as the library can, and closes it.
    func compactAndClose() throws
    /// Closes the store as an application would.
    func close() throws
}

extension KeyValueContender {
    func getLarge(_ keys: [UInt64]) throws -> UInt64 { try get(keys, transactionPerRead: false) }
}

/// The first 8 bytes of a value, or fewer; of a large value, the sum of 8 bytes of every cache line.
@inline(__always)
func firstBytes(_ base: UnsafeRawPointer?, _ count: Int) -> UInt64 {
    guard let base, count >= 8 else { return UInt64(count) }
    if count > 8192 { return sumOfLines(base, count) }
    return base.loadUnaligned(as: UInt64.self)
}

/// The sum of 8 bytes of every cache line.
func sumOfLines(_ base: UnsafeRawPointer?, _ count: Int) -> UInt64 {
    guard let base else { return 0 }
    var sum: UInt64 = 0
    for offset in stride(from: 0, through: count - 8, by: 64) {
        sum &+= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
    return sum
}

/// The 16 bytes of a key: 8 fixed bytes, then the number in big-endian order, so that byte order is numeric order.
@inline(__always)
func keyBytes(_ key: UInt64) -> (UInt64, UInt64) { (0x6B65_795F_6B65_795F, key.bigEndian) }
