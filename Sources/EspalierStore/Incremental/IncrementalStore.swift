// A store on the data of an application: requests are translated, and every answer is checked.
//
// Invariants
//   1. Every answer of the store keeps the contract of all stores, or the call throws: no answer of the source is
//      trusted (ContractChecks).
//   2. Saves come one after the other, and the source is asked once for each: it writes everything or nothing.
//   3. An error of the source's own arrives as `StoreError.outside`; its `StoreError`s arrive unchanged.

public import EspalierModel
public import FoundationEssentials
internal import Synchronization

/// A store whose rows the code of an application loads when they are asked for (PS-13).
///
/// The store remembers the version of every row that it has read, which is how it notices a row that goes back to an
/// earlier version: about 40 bytes for each row, and a bit for each one that was deleted. A row that is deleted and
/// inserted again under its ID, after the store was opened anew, begins at version 1 again. Derived attributes (MD-27)
/// have the values that the data give them. A save computes only those that follow from one row alone; in a new row,
/// values that are derived across relationships are those of a row without destinations.
public final class IncrementalStore: PersistentStore, BuiltInStore {
    /// The last version of a row that was read.
    private struct SeenVersion {
        var version: UInt64
        /// The generation in which it was read.
        var generation: UInt64
    }
    private struct State {
        var generation: UInt64 = 1
        var isClosed = false
        var seen = ObjectIDTable<SeenVersion>()
        /// The rows that were deleted by saves.
        var gone = RowSet()
        /// By index of the root entity: the greatest version at which one of its rows was deleted.
        var goneVersions: [UInt64]
    }

    /// The data.
    public let source: any IncrementalSource
    /// The UUID of the data.
    public let identifier: UUID
    /// The kind of this store.
    public let type: StoreType
    /// The model that the store was made with.
    public let model: ManagedObjectModel
    let schema: StoreSchema
    let storeTag: UInt32
    let checks: ContractChecks
    /// Guards the number of the generation and the versions that were read.
    private let state: Mutex<State>
    /// Held during a save, and while metadata are set: whether the store accepts no changes any more
    /// (`holdChanges`).
    private let changesHaveEnded = Mutex(false)

    /// Makes a store of the data.
    ///
    /// - Parameter type: the kind, by which descriptions name such stores (`StoreType.register`).
    public init(_ source: any IncrementalSource, type: StoreType, model: ManagedObjectModel) {
        (self.source, self.type, self.model) = (source, type, model)
        identifier = source.identifier
        schema = StoreSchema(model: model)
        storeTag = Interned.stores.tag(of: identifier)
        checks = ContractChecks(
            schema: schema, identifier: identifier, path: source.path, type: type, allowsStoredRows: false)
        ReferenceTable.open(forStore: storeTag)
        state = Mutex(State(goneVersions: Array(repeating: 0, count: model.entities.count)))
        assert(schema.roots.allSatisfy { model.entities.indices.contains($0) }, "roots \(schema.roots) are no entities")
    }

    /// The place of the data.
    public var path: String? { source.path }
    /// Whether the store refuses to save.
    public var isReadOnly: Bool { source.isReadOnly }

    /// Tells the store that its data have changed by other means than a save: contexts then move to a new generation
    /// where they would after a save of others.
    public func contentsDidChange() { state.withLock { $0.generation += 1 } }

    /// A snapshot of the store's present contents, as far as the source's readers are of one moment.
    public func snapshot() throws(StoreError) -> any StoreSnapshot { try incrementalSnapshot() }

    func incrementalSnapshot() throws(StoreError) -> IncrementalSnapshot {
        let generation = try openGeneration()
        return IncrementalSnapshot(self, try ask { try source.makeReader() }, generation: generation)
    }

    /// Permanent IDs for objects that will be inserted (MC-37).
    public func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract, count >= 0 else {
            throw .invalidRequest(reason: "cannot reserve \(count) IDs for \(entity.name)")
        }
        guard !isReadOnly else { throw .readOnly(path: path) }
        _ = try openGeneration()
        return try newKeys(for: entity, count: count).map {
            ObjectID(storeTag: storeTag, entityTag: entity.tag, key: $0)
        }
    }

    /// Keys that stand for new references of the source.
    func newKeys(for entity: Entity, count: Int) throws(StoreError) -> [UInt64] {
        assert(!entity.isAbstract, "\(count) rows of \(entity.name) get keys, which is abstract")
        guard count > 0 else { return [] }
        let references = try ask { try source.newReferences(for: entity, count: count) }
        guard references.count == count, Set(references).count == count else {
            throw broken(
                "\(count) new references for \(entity.name) were asked for; it has returned "
                    + "\(references.count), of which \(Set(references).count) differ")
        }
        return references.map { ReferenceTable.key(of: $0, inStore: storeTag) }
    }

    /// The values that the application keeps with the store.
    public func metadata() throws(StoreError) -> [String: AttributeValue] {
        _ = try openGeneration()
        return try ask { try source.metadata() }
    }

    /// Replaces the application's values.
    ///
    /// - Throws: `.invalidRequest` if composites nest more than 15 deep.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {
        try SaveChecks.check(metadata: metadata)
        try holdChanges(endsChanges: false) { () throws(StoreError) in
            _ = try openGeneration()
            try ask { try source.setMetadata(metadata) }
        }
    }

    /// Ends the store, and closes the source after the save that is running.
    public func close() throws(StoreError) {
        let wasClosed = changesHaveEnded.withLock { _ in
            state.withLock { state in
                defer { state.isClosed = true }
                return state.isClosed
            }
        }
        guard !wasClosed else { throw .closed }
        try ask { try source.close() }
    }

    package func holdChanges<Answer: Sendable>(
        endsChanges: Bool, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let outcome = changesHaveEnded.withLock { haveEnded -> Result<Answer, StoreError> in
            guard !haveEnded else { return .failure(.closed) }
            do throws(StoreError) {
                let answer = try body()
                haveEnded = endsChanges
                return .success(answer)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    // MARK: For snapshots and saves

    /// Calls the code of the application.
    func ask<Answer>(_ body: () throws -> Answer) throws(StoreError) -> Answer {
        do { return try body() } catch let error as StoreError { throw error } catch {
            throw .outside(path: path, underlying: error)
        }
    }

    /// The error for a source that breaks a rule.
    func broken(_ reason: String) -> StoreError { checks.broken(reason) }

    /// Requires that rows can be used with the model, and have not gone back to earlier versions.
    func check(_ rows: [ObjectSnapshot], in generation: UInt64) throws(StoreError) {
        try checks.check(rows)
        try checkVersions(of: rows, in: generation)
    }

    /// Requires that rows have not gone back to earlier versions.
    func checkVersions(of rows: [ObjectSnapshot], in generation: UInt64) throws(StoreError) {
        if let (row, former) = note(rows, in: generation) {
            throw broken("\(row.id) has gone back from version \(former) to version \(row.version)")
        }
    }

    /// The number of the generation.
    ///
    /// - Throws: `.closed`.
    func openGeneration() throws(StoreError) -> UInt64 {
        guard let generation = state.withLock({ $0.isClosed ? nil : $0.generation }) else { throw .closed }
        return generation
    }

    /// Whether this generation is the newest one, and the store is open.
    func isNewest(_ generation: UInt64) -> Bool { state.withLock { $0.generation == generation && !$0.isClosed } }

    /// Notes the versions of rows that were read in a generation; returns the first one that is less than an earlier
    /// generation had it, with the version there.
    func note(_ rows: [ObjectSnapshot], in generation: UInt64) -> (row: ObjectSnapshot, former: UInt64)? {
        state.withLock { state in
            for row in rows {
                let seen = state.seen[row.id]
                assert(row.version > 0, "\(row.id) passed the checks at version 0")
                if let seen, seen.generation <= generation, row.version < seen.version { return (row, seen.version) }
                if let seen, seen.version >= row.version { continue }
                state.seen.set(SeenVersion(version: row.version, generation: generation), for: row.id)
            }
            return nil
        }
    }

    /// The greatest version at which a row of a hierarchy was deleted: a row with a reserved ID begins after it, so
    /// that no row that had the ID before was at the same version.
    func goneVersion(of entity: Entity) -> UInt64 { state.withLock { $0.goneVersions[entity.root] } }

    /// Whether there was a row with this ID.
    func wasUsed(_ id: ObjectID) -> Bool { state.withLock { $0.seen[id] != nil || $0.gone.contains(id) } }

    /// Begins the next generation, which a save has made; returns its number.
    func advance(writing written: [ObjectSnapshot], deleting gone: [ObjectSnapshot]) -> UInt64 {
        state.withLock { state in
            for row in written {
                state.seen.set(SeenVersion(version: row.version, generation: state.generation + 1), for: row.id)
            }
            for row in gone {
                let root = schema.roots[schema.entityIndex(of: row.id)]
                assert(schema.roots[root] == root, "entity \(root) is below \(schema.roots[root]), and no root")
                state.goneVersions[root] = max(state.goneVersions[root], row.version)
                state.seen.remove(row.id)
                state.gone.insert(row.id)
            }
            state.generation += 1
            return state.generation
        }
    }
}
