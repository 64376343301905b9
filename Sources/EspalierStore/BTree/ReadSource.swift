// The source of a session's answers: a read transaction, or the write transaction of a migration.

internal import EspalierEngine

/// A reader of a write transaction, and the number that stands for the newest save in it.
struct MigrationReader: ~Copyable {
    let reader: WriteReader
    let number: UInt64
}

/// The transaction that a session reads.
enum ReadSource: ~Copyable {
    /// A read transaction: one commit.
    case committed(ReadTransaction)
    /// The write transaction of a migration.
    case migration(MigrationReader)

    /// The newest commit, or the number that stands for the newest save.
    var number: UInt64 {
        switch self {
        case .committed(let transaction): transaction.transactionID
        case .migration(let migration): migration.number
        }
    }
}

extension ReadSource {
    /// The stamp of the trees; 0 in a migration, whose trees nobody else changes.
    var treeStamp: UInt32 {
        switch self {
        case .committed(let transaction): transaction.treeStamp
        case .migration: 0
        }
    }
}

extension ReadSource: TreeReading {
    func tree(named name: String) throws(StorageError) -> AnyTree? {
        switch self {
        case .committed(let transaction): try transaction.tree(named: name)
        case .migration(let migration): try migration.reader.tree(named: name)
        }
    }

    func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>? {
        switch self {
        case .committed(let transaction): try transaction.tree(named: name, keys: keys)
        case .migration(let migration): try migration.reader.tree(named: name, keys: keys)
        }
    }

    func trees() throws(StorageError) -> [TreeSummary] {
        switch self {
        case .committed(let transaction): try transaction.trees()
        case .migration(let migration): try migration.reader.trees()
        }
    }

    func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64 {
        switch self {
        case .committed(let transaction): try transaction.count(of: tree)
        case .migration(let migration): try migration.reader.count(of: tree)
        }
    }

    func count(of tree: AnyTree) throws(StorageError) -> UInt64 {
        switch self {
        case .committed(let transaction): try transaction.count(of: tree)
        case .migration(let migration): try migration.reader.count(of: tree)
        }
    }

    @inline(__always)
    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]? {
        switch self {
        case .committed(let transaction): try transaction.get(key, from: tree)
        case .migration(let migration): try migration.reader.get(key, from: tree)
        }
    }

    @inline(__always)
    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        switch self {
        case .committed(let transaction): try transaction.get(key, from: tree)
        case .migration(let migration): try migration.reader.get(key, from: tree)
        }
    }

    @inline(__always)
    func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R? {
        switch self {
        case .committed(let transaction): try transaction.withValue(of: key, in: tree, body)
        case .migration(let migration): try migration.reader.withValue(of: key, in: tree, body)
        }
    }

    @inline(__always)
    func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key> {
        switch self {
        case .committed(let transaction): try transaction.lookup(in: tree)
        case .migration(let migration): try migration.reader.lookup(in: tree)
        }
    }

    @inline(__always)
    func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key> {
        switch self {
        case .committed(let transaction): try transaction.cursor(over: tree)
        case .migration(let migration): try migration.reader.cursor(over: tree)
        }
    }
}
