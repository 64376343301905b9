// The store on the engine: rows, indexes and links as trees of one file.
//
// Invariants
//   1. A fetch is one read transaction: it sees one commit and never waits. A save is one write transaction.
//   2. Nothing is changed if anything throws: a write transaction that is not committed rolls back.
//   3. A primary key is given out once, even if the save that asked for it fails: `lastKeys` is never turned back, and
//      reserved keys are on disk before they are told.
// Lock order: the engine's write transaction, then `state`.

public import EspalierEngine
public import EspalierModel
public import FoundationEssentials
internal import Synchronization

/// A store in a B-tree file (semantics PS-17).
public final class BTreeStore: PersistentStore {
    struct State {
        /// The greatest primary key given out by this process, by index of the root entity.
        var lastKeys: [UInt64]
        var isClosed = false
    }

    /// The file type the store marks its files with: "ESPL".
    public static let applicationID: UInt32 = 0x4553_504C

    /// The UUID of the file.
    public let identifier: UUID
    /// The file; `nil` for a store in memory.
    public let path: String?
    /// The engine below, for tools.
    package let database: Database
    let catalog: StoreCatalog
    /// Guards key counters and the end of the store.
    let state: Mutex<State>

    init(database: Database, catalog: StoreCatalog, identifier: UUID, path: String?) {
        self.database = database
        self.catalog = catalog
        self.identifier = identifier
        self.path = path
        state = Mutex(State(lastKeys: Array(repeating: 0, count: catalog.model.entities.count)))
    }

    /// `StoreType.btree`.
    public var type: StoreType { .btree }
    /// Whether the file was opened for reading only.
    public var isReadOnly: Bool { database.isReadOnly }
    /// The model the store was opened with.
    public var model: ManagedObjectModel { catalog.model }
    /// Sizes and counters of the engine below.
    public var statistics: DatabaseStatistics { database.statistics }

    /// Permanent IDs for objects that will be inserted (MC-37).
    ///
    /// They are on disk, in order, before they are returned.
    public func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract, count >= 0 else {
            throw .invalidRequest(reason: "cannot reserve \(count) IDs for \(entity.name)")
        }
        var transaction = try beginWrite()
        try raiseLastKey(ofRoot: entity.root, transaction)
        let first = newKeys(ofRoot: entity.root, count: count)
        try persistLastKey(ofRoot: entity.root, &transaction)
        try transaction.commit(.ordered)
        return (0..<UInt64(count)).map {
            ObjectID(storeTag: catalog.context.storeTag, entityTag: entity.tag, key: first + $0)
        }
    }

    /// Values the application keeps with the store.
    public func metadata() throws(StoreError) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        let transaction = try beginRead()
        try transaction.forEach(in: catalog.metadata, from: [], below: nil) { key, value throws(StoreError) in
            guard let name = String(validating: key, as: UTF8.self), let value = TaggedValue.decode(value) else {
                throw .damagedContent(path: path, entity: "", key: 0, reason: "an entry of the metadata is no value")
            }
            values[name] = value
            return true
        }
        return values
    }

    /// Replaces the application's values.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {
        var transaction = try beginWrite()
        var old: [[UInt8]] = []
        try transaction.forEach(in: catalog.metadata, from: [], below: nil) { key, _ in
            old.append(key)
            return true
        }
        for key in old { try transaction.remove(key, from: catalog.metadata) }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            var bytes: [UInt8] = []
            TaggedValue.append(value, to: &bytes)
            try transaction.put(bytes, for: Array(name.utf8), in: catalog.metadata)
        }
        try transaction.commit()
    }

    /// Writes everything into the file, marks it as cleanly closed and releases it.
    public func close() throws(StoreError) {
        let wasClosed = state.withLock { state in
            defer { state.isClosed = true }
            return state.isClosed
        }
        guard !wasClosed else { throw .closed }
        do {
            try database.close()
        } catch {
            // With transactions still open the engine stays open, and so does the store.
            if case .transactionsOpen = error { state.withLock { $0.isClosed = false } }
            throw .storage(error, path: path)
        }
    }

    func beginRead() throws(StoreError) -> StoreTransaction<ReadTransaction> {
        try checkOpen()
        do { return StoreTransaction(try database.beginRead(), path: path) } catch { throw .storage(error, path: path) }
    }

    func beginWrite() throws(StoreError) -> StoreTransaction<WriteTransaction> {
        try checkOpen()
        guard !isReadOnly else { throw .readOnly(path: path) }
        do { return StoreTransaction(try database.beginWrite(), path: path) } catch {
            throw .storage(error, path: path)
        }
    }

    /// Takes note of keys given out by others.
    ///
    /// The caller holds the write transaction and calls this before `newKeys`.
    func raiseLastKey(ofRoot root: Int, _ transaction: borrowing StoreTransaction<WriteTransaction>) throws(StoreError)
    {
        let counter = Counter.lastKey(rootNumber: catalog.context.entityNumbers[root])
        let stored = try transaction.counter(counter, catalog)
        state.withLock { $0.lastKeys[root] = max($0.lastKeys[root], stored) }
    }

    /// The first of `count` consecutive primary keys never given out before.
    func newKeys(ofRoot root: Int, count: Int) -> UInt64 {
        state.withLock { state in
            defer { state.lastKeys[root] += UInt64(count) }
            return state.lastKeys[root] + 1
        }
    }

    /// The greatest key given out so far by this process, in a hierarchy.
    func lastKey(ofRoot root: Int) -> UInt64 { state.withLock { $0.lastKeys[root] } }

    /// Writes the greatest key given out so far, if it is not on disk yet.
    func persistLastKey(
        ofRoot root: Int, _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let counter = Counter.lastKey(rootNumber: catalog.context.entityNumbers[root])
        let last = lastKey(ofRoot: root)
        guard try transaction.counter(counter, catalog) < last else { return }
        try transaction.setCounter(counter, to: last, catalog)
    }

    private func checkOpen() throws(StoreError) {
        guard !state.withLock({ $0.isClosed }) else { throw .closed }
    }
}
