// The store on the engine: rows, indexes and links as trees of one file.
//
// Invariants
//   1. A snapshot is one read transaction: it sees one commit and never waits. A save is one write transaction.
//   2. An error changes nothing: a write transaction that is not committed rolls back.
//   3. The last primary key of each hierarchy is a counter in the file. Reserved keys are committed before the caller
//      gets them. A failed save returns no keys: those of its rows roll back with its transaction.
//   4. Open snapshots do not delay closing, which ends them, and do not keep the engine's log above its cap.
//   5. No transaction uses the catalog for a file whose model, trees or layouts others have changed (BTreeStore+Model).

public import EspalierEngine
public import EspalierModel
public import FoundationEssentials
internal import Synchronization

/// A store in a B-tree file (Behaviour PS-17).
public final class BTreeStore: PersistentStore, BuiltInStore {
    /// The application ID that marks the files of this store: "ESPL".
    public static let applicationID: UInt32 = 0x4553_504C

    /// The UUID of the file.
    public let identifier: UUID
    /// The file; `nil` for a store in memory.
    public let path: String?
    /// The engine below, for tools.
    package let database: Database
    let catalog: StoreCatalog
    let transactionUse: TransactionUse
    /// The memory of sorts; every snapshot shares it.
    let sortSpace: SortSpace
    /// The model in the file, if the store was opened for reading only and has another one of the same rows.
    let fileModel: ManagedObjectModel?
    /// The stamp of the trees with which the catalog was compared last.
    let knownStamp: Atomic<UInt32>
    private let isClosed = Atomic(false)
    /// Whether the store accepts no changes any more (`holdChanges`, `endChanges`); set while no other one is made.
    private let changesHaveEnded = Atomic(false)
    /// Guards the newest planner statistics and their commit: most fetches have no save between them.
    let plannerStatistics = Mutex<(commit: UInt64, statistics: PlannerStatistics)?>(nil)
    /// Guards the rows with cut unique values that the last save has read.
    let knownCutKeys = Mutex(KnownCutKeys())
    /// Guards the samples of indexes that planners have asked for.
    let indexSamples = Mutex(KnownSamples())
    /// The plans of fetches that contexts repeat.
    let knownPlans = KnownPlans()
    /// Guards the sessions of all open snapshots.
    private let openSessions = Mutex<[ObjectIdentifier: SharedSession]>([:])

    /// The transactions in which a store reads and writes its database.
    enum TransactionUse {
        /// Each snapshot and each save has a transaction of its own. Closing the store closes the database.
        case ownTransactions
        /// Each snapshot has a transaction of its own, and there are no saves: a migration replaces the contents of the
        /// database, which it owns.
        case migrationSource
        /// Every snapshot and save uses the one write transaction of a migration, which owns the database.
        case migrationTransaction(MigrationTransaction)
    }

    /// - Parameter treeStamp: the stamp of the transaction from which the catalog was loaded; a store of a migration
    ///   needs none.
    init(
        database: Database, catalog: StoreCatalog, identifier: UUID, path: String?,
        transactionUse: TransactionUse = .ownTransactions, treeStamp: UInt32 = 0, fileModel: ManagedObjectModel? = nil
    ) {
        self.database = database
        knownStamp = Atomic(treeStamp)
        self.fileModel = fileModel
        self.transactionUse = transactionUse
        self.catalog = catalog
        self.identifier = identifier
        self.path = path
        sortSpace = SortSpace(database)
        assert(catalog.numbering.storeTag == Interned.stores.tag(of: identifier), "the trees are not of \(identifier)")
    }

    /// `StoreType.btree`.
    public var type: StoreType { .btree }
    /// Whether the file was opened for reading only.
    public var isReadOnly: Bool { if case .migrationSource = transactionUse { true } else { database.isReadOnly } }
    /// The model the store was opened with.
    public var model: ManagedObjectModel { catalog.model }
    /// The number of bytes that the rows and keys of one sort may take in memory, 64 MiB by default; less than 4,096
    /// count as 4,096.
    ///
    /// A sort that needs more writes sorted parts into a temporary file without a name, in the folder of the store, or
    /// in the temporary folder of the system if the store is open for reading only, and merges them. The file of a
    /// store in memory is in memory, too. If no file can be made, or its first rows cannot be written, as on a full
    /// disk, the sort goes on in memory, whatever it needs. Later errors of the file are `StoreError.storage` with the
    /// role `scratch`; neither an error nor the end of the process leaves bytes there. `analyze` tells how many bytes a
    /// sort has written.
    ///
    /// The number bounds the work of the sort, not its result: a fetch of objects keeps all of its rows, one of IDs 16
    /// bytes for each row. The limit and the offset of a fetch count together, because rows that are skipped are sorted
    /// as well. A new number applies to the fetches that begin afterwards, also in open snapshots.
    public var sortByteCountMax: Int {
        get { sortSpace.byteCountMax }
        set { sortSpace.byteCountMax = newValue }
    }
    /// Sizes and counters of the engine below.
    public var statistics: DatabaseStatistics { database.statistics }

    /// Permanent IDs for objects that will be inserted (MC-37).
    ///
    /// The reservation is committed with `Durability.ordered` before the IDs are returned. In the
    /// work of a migration it is part of the migration's transaction.
    public func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract, count >= 0 else {
            throw .invalidRequest(reason: "cannot reserve \(count) IDs for \(entity.name)")
        }
        let counter = Counter.lastKey(rootNumber: catalog.numbering.entityNumbers[entity.root])
        let last = try write(.ordered) { transaction throws(StoreError) in
            let last = try transaction.counter(counter, catalog)
            try catalog.checkKeys(after: last, count: count, of: entity)
            assert(UInt64.max - last >= UInt64(count), "keys after \(last) were not checked")
            try transaction.setCounter(counter, to: last + UInt64(count), catalog)
            return last
        }
        return (0..<UInt64(count)).map {
            ObjectID(storeTag: catalog.numbering.storeTag, entityTag: entity.tag, key: last + 1 + $0)
        }
    }

    /// Reserves all keys of a hierarchy up to `key`, for rows that keep the keys they have elsewhere.
    ///
    /// The reservation is as durable as the saves of these rows: both have the default durability of the database.
    package func reserveKeys(upTo key: UInt64, for root: Entity) throws(StoreError) {
        try withPath { () throws(StoreError) in
            var transaction = try beginWrite()
            try reserveKeys(upTo: key, for: root, in: &transaction)
            try transaction.commit()
        }
    }

    private func reserveKeys(
        upTo key: UInt64, for root: Entity, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(root.root == root.index, "\(root.name) has no keys of its own")
        let counter = Counter.lastKey(rootNumber: catalog.numbering.entityNumbers[root.root])
        guard try transaction.counter(counter, catalog) < key else { return }
        try transaction.setCounter(counter, to: key, catalog)
    }

    /// Saves rows that keep the keys they have elsewhere, and metadata, in one transaction.
    ///
    /// - Parameter lastKeys: the greatest key of the rows of each hierarchy.
    func fill(
        _ request: SaveRequest, lastKeys: [(root: Entity, key: UInt64)], metadata: [String: AttributeValue]
    ) throws(StoreError) {
        try SaveChecks.check(metadata: metadata)
        assert(Set(lastKeys.map(\.root.index)).count == lastKeys.count, "a hierarchy has two last keys")
        try withPath { () throws(StoreError) in
            var transaction = try beginWrite()
            for (root, key) in lastKeys { try reserveKeys(upTo: key, for: root, in: &transaction) }
            if !metadata.isEmpty { try put(metadata, in: &transaction) }
            _ = try SaveExecution(transaction, catalog).run(request, for: self)
        }
    }

    /// The values that the application keeps with the store.
    public func metadata() throws(StoreError) -> [String: AttributeValue] {
        try withPath { () throws(StoreError) in
            guard case .migrationTransaction(let migration) = transactionUse else {
                // Under the lock, so that this transaction cannot make closing fail.
                return try openSessions.withLock { _ throws(StoreError) in
                    let transaction = try beginRead()
                    return try metadata(in: transaction)
                }
            }
            let transaction = try beginRead()
            guard migration.servesWork else { throw Self.busyWithMigration }
            return try migration.exclusively { () throws(StoreError) in try metadata(in: transaction) }
        }
    }

    private func metadata(
        in transaction: borrowing StoreTransaction<ReadSource>
    ) throws(StoreError) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        try transaction.forEach(in: catalog.metadata, from: [], below: nil) { key, value throws(StoreError) in
            guard let name = String(validating: key.copy(0..<key.byteCount), as: UTF8.self),
                let value = TaggedValue.decode(value.copy(0..<value.byteCount))
            else {
                throw .damaged(reason: "an entry of the metadata is not a value")
            }
            values[name] = value
            return true
        }
        return values
    }

    /// Replaces the application's values.
    ///
    /// - Throws: `.invalidRequest` if composites nest more than 15 deep.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {
        try SaveChecks.check(metadata: metadata)
        try write { transaction throws(StoreError) in try put(metadata, in: &transaction) }
    }

    private func put(
        _ metadata: [String: AttributeValue], in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        var old: [[UInt8]] = []
        try transaction.forEach(in: catalog.metadata, from: [], below: nil) { key, _ in
            old.append(key.copy(0..<key.byteCount))
            return true
        }
        assert(Set(old).count == old.count, "a name of metadata is stored twice")
        for key in old { try transaction.remove(key, from: catalog.metadata) }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            var bytes: [UInt8] = []
            TaggedValue.append(value, to: &bytes)
            try transaction.put(bytes, for: Array(name.utf8), in: catalog.metadata)
        }
    }

    /// Writes everything into the file, marks it as cleanly closed and releases it; ends all snapshots.
    ///
    /// - Throws: `.closed`; `.storage`. With the engine's `transactionsOpen`, as while the file is written, checked or
    ///   rebuilt, the store stays open, and its snapshots have ended; else the file is released, and the next opening
    ///   recovers what was committed.
    public func close() throws(StoreError) {
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { throw .closed }
        openSessions.withLock { sessions in
            for session in sessions.values { session.end() }
            sessions.removeAll()
        }
        guard case .ownTransactions = transactionUse else { return }
        do {
            try closeDatabase()
        } catch {
            // The engine refuses to close while transactions are open; then the store stays open too.
            if case .database(.transactionsOpen) = error { isClosed.store(false, ordering: .sequentiallyConsistent) }
            throw .storage(error, path: path)
        }
    }

    private func closeDatabase() throws(StorageError) {
        guard changesHaveEnded.load(ordering: .sequentiallyConsistent) else { return try database.close() }
        // Saves that waited while their changes ended are refused at once, and none begins any more: each attempt
        // waits for the turn of one of them. One that has committed has left the gate, and ends when it is synced.
        for _ in 0..<1000 {
            do throws(StorageError) { return try database.close() } catch {
                guard case .database(.transactionsOpen) = error else { throw error }
                // The error stands if this thread would wait for itself.
                guard (try? database.betweenWriters()) != nil else { throw error }
                try? database.waitForCommits()
                Platform.pause(milliseconds: 1)
            }
        }
        try database.close()
    }

    // MARK: Snapshots

    /// A snapshot of the newest commit.
    ///
    /// While the snapshot exists, the engine's log keeps the pages that it reads. When the log reaches its cap
    /// (`logByteCountMax`), the engine expires the oldest snapshots.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        // Under the lock, because closing reads the list only once.
        try openSessions.withLock { sessions throws(StoreError) in
            let transaction = try withPath { () throws(StoreError) in try beginRead() }
            let session = SharedSession(ReadSession(transaction, catalog, sortSpace))
            assert(sessions[ObjectIdentifier(session)] == nil, "a session is listed twice")
            sessions[ObjectIdentifier(session)] = session
            return BTreeSnapshot(self, session)
        }
    }

    /// Ends the read transaction of a snapshot.
    func end(_ session: SharedSession) {
        // Under the lock: a transaction that has left the list must have ended, because closing does not end it any
        // more.
        openSessions.withLock { sessions in
            session.end()
            sessions[ObjectIdentifier(session)] = nil
        }
    }

    /// Whether a commit is the newest one.
    func isNewest(_ commit: UInt64) -> Bool {
        // Under the lock, so that this transaction cannot make closing fail. The next snapshot reports the error
        // ignored here.
        openSessions.withLock { _ in
            guard let newest = try? beginRead() else { return false }
            return newest.number == commit
        }
    }

    // MARK: Transactions

    func beginRead() throws(StoreError) -> StoreTransaction<ReadSource> {
        try checkOpen()
        if case .migrationTransaction(let migration) = transactionUse { return try migration.beginRead() }
        let transaction = try StoreTransaction(reading: database)
        if case .ownTransactions = transactionUse { try checkModel(transaction.treeStamp, in: transaction) }
        return transaction
    }

    func beginWrite() throws(StoreError) -> StoreTransaction<WriteTransaction> {
        try checkOpen()
        switch transactionUse {
        case .ownTransactions:
            let transaction = try StoreTransaction(writing: database)
            // Changes may have ended while this one waited for its turn.
            guard !changesHaveEnded.load(ordering: .sequentiallyConsistent) else { throw .closed }
            try checkModel(transaction.treeStamp, in: transaction)
            return transaction
        case .migrationSource: throw .readOnly(path: nil)
        case .migrationTransaction: throw Self.busyWithMigration
        }
    }

    package func holdChanges<Answer: Sendable>(
        endsChanges: Bool, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        // In a migration the owner of the database decides who changes it.
        guard case .ownTransactions = transactionUse, !isReadOnly else { return try body() }
        let transaction = try withPath { () throws(StoreError) in try beginWrite() }
        // This transaction sees commits whose sync still runs; the snapshots that `body` takes must see them, too.
        try withPath { () throws(StoreError) in try withStoreErrors(try database.waitForCommits()) }
        assert(!changesHaveEnded.load(ordering: .sequentiallyConsistent), "changes begin after they have ended")
        let answer = try body()
        if endsChanges { changesHaveEnded.store(true, ordering: .sequentiallyConsistent) }
        _ = consume transaction
        return answer
    }

    package func endChanges() {
        guard case .ownTransactions = transactionUse, !isReadOnly else { return }
        // No transaction: a file that nobody has written is closed as it is.
        try? database.betweenWriters { changesHaveEnded.store(true, ordering: .sequentiallyConsistent) }
    }

    /// Changes the store in a transaction of its own; in the work of a migration, in that of the migration, which
    /// commits it.
    private func write<Answer: Sendable>(
        _ durability: Durability? = nil,
        _ body: (inout StoreTransaction<WriteTransaction>) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try withPath { () throws(StoreError) in
            try checkOpen()
            if case .migrationTransaction(let migration) = transactionUse, migration.servesWork {
                return try migration.change(body)
            }
            var transaction = try beginWrite()
            let answer = try body(&transaction)
            try transaction.commit(durability)
            return answer
        }
    }

    private static var busyWithMigration: StoreError {
        .invalidRequest(
            reason: "while a migration runs, its objects can be fetched and saved, but mappings can neither reserve "
                + "IDs nor read or set metadata, and the store cannot be rebuilt: do that after the migration")
    }

    /// Runs `body`, and adds the path of the file to its errors.
    func withPath<Answer: ~Copyable>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
        try StoreError.withPath(path, body)
    }

    func checkOpen() throws(StoreError) {
        guard !isClosed.load(ordering: .sequentiallyConsistent) else { throw .closed }
    }
}
