// The source of a session's answers: a read transaction, or a write transaction that another object holds.

internal import EspalierEngine

/// A reader of a write transaction, and the number that stands for the newest save in it.
struct HeldReader: ~Copyable {
    let reader: WriteReader
    let number: UInt64
}

/// The transaction that a session reads.
enum SessionSource: ~Copyable {
    /// A read transaction: one commit.
    case committed(ReadTransaction)
    /// The write transaction of a migration.
    case held(HeldReader)

    /// The newest commit, or the number that stands for the newest save.
    var number: UInt64 {
        switch self {
        case .committed(let transaction): transaction.transactionID
        case .held(let held): held.number
        }
    }
}

extension SessionSource: TreeReading {
    func tree(named name: String) throws(StorageError) -> AnyTree? {
        switch self {
        case .committed(let transaction): try transaction.tree(named: name)
        case .held(let held): try held.reader.tree(named: name)
        }
    }

    func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>? {
        switch self {
        case .committed(let transaction): try transaction.tree(named: name, keys: keys)
        case .held(let held): try held.reader.tree(named: name, keys: keys)
        }
    }

    func trees() throws(StorageError) -> [TreeSummary] {
        switch self {
        case .committed(let transaction): try transaction.trees()
        case .held(let held): try held.reader.trees()
        }
    }

    func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64 {
        switch self {
        case .committed(let transaction): try transaction.count(of: tree)
        case .held(let held): try held.reader.count(of: tree)
        }
    }

    func count(of tree: AnyTree) throws(StorageError) -> UInt64 {
        switch self {
        case .committed(let transaction): try transaction.count(of: tree)
        case .held(let held): try held.reader.count(of: tree)
        }
    }

    @inline(__always)
    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]? {
        switch self {
        case .committed(let transaction): try transaction.get(key, from: tree)
        case .held(let held): try held.reader.get(key, from: tree)
        }
    }

    @inline(__always)
    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        switch self {
        case .committed(let transaction): try transaction.get(key, from: tree)
        case .held(let held): try held.reader.get(key, from: tree)
        }
    }

    @inline(__always)
    func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R? {
        switch self {
        case .committed(let transaction): try transaction.withValue(of: key, in: tree, body)
        case .held(let held): try held.reader.withValue(of: key, in: tree, body)
        }
    }

    @inline(__always)
    func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key> {
        switch self {
        case .committed(let transaction): try transaction.lookup(in: tree)
        case .held(let held): try held.reader.lookup(in: tree)
        }
    }

    @inline(__always)
    func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key> {
        switch self {
        case .committed(let transaction): try transaction.cursor(over: tree)
        case .held(let held): try held.reader.cursor(over: tree)
        }
    }
}
