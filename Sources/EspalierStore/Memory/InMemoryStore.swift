// The store that keeps everything in memory: for caches and tests, and the oracle that other stores are compared with.
//
// Invariants
//   1. A snapshot is a copy of the state; reading it never waits for a save.
//   2. A save changes a copy of the state and replaces the state at its end: it does everything or nothing.
//   3. A save that fails returns no primary keys; those of its rows may be allocated again.

public import EspalierModel
public import FoundationEssentials
internal import Synchronization

/// A store without a file; closing it discards its rows (Behaviour PS-17).
///
/// It has no index: a fetch tests each row of a hierarchy. A save copies only what it changes, and each list that it
/// changes as a whole. The indexes of the model make nothing faster here. For many rows in memory use
/// `BTreeStore.inMemory`.
public final class InMemoryStore: PersistentStore, BuiltInStore {
    /// The store's UUID, a new one for each store.
    public let identifier: UUID
    /// The model that the store was created with.
    public let model: ManagedObjectModel
    let schema: StoreSchema
    let storeTag: UInt32
    /// Guards all content.
    let state: Mutex<MemoryState>
    /// Held during a change: whether the store accepts no more (`holdChanges`).
    private let changesHaveEnded = Mutex(false)
    /// Whether no two rows may have the same key, also if their entities have nothing in common.
    private let hasSharedKeys: Bool

    /// An empty store.
    public convenience init(model: ManagedObjectModel, identifier: UUID = UUID()) {
        let schema = StoreSchema(model: model)
        self.init(schema, MemoryState(schema: schema), identifier: identifier, hasSharedKeys: false)
    }

    /// A store with this content.
    init(_ schema: StoreSchema, _ state: MemoryState, identifier: UUID, hasSharedKeys: Bool) {
        (model, self.schema, self.identifier, self.hasSharedKeys) = (schema.model, schema, identifier, hasSharedKeys)
        assert(state.rows.count == schema.roots.count, "\(state.rows.count) hierarchies of \(schema.roots.count)")
        assert(state.groups.count == schema.groups.count, "\(state.groups.count) of \(schema.groups.count) groups")
        storeTag = Interned.stores.tag(of: identifier)
        self.state = Mutex(state)
    }

    /// `StoreType.inMemory`.
    public var type: StoreType { .inMemory }
    /// `nil`: there is no file.
    public var path: String? { nil }
    /// `false`.
    public var isReadOnly: Bool { false }

    /// Permanent IDs for objects that will be inserted (MC-37).
    public func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract, count >= 0 else {
            throw .invalidRequest(reason: "cannot reserve \(count) IDs for \(entity.name)")
        }
        return try change { state throws(StoreError) in
            try newKeys(for: entity, count: count, &state).map {
                ObjectID(storeTag: storeTag, entityTag: entity.tag, key: $0)
            }
        }
    }

    /// Keys that were never allocated before.
    ///
    /// - Throws: `.damagedContent` if there are no more: no store has allocated that many.
    func newKeys(for entity: Entity, count: Int, _ state: inout MemoryState) throws(StoreError) -> Range<UInt64> {
        let last = hasSharedKeys ? state.lastKeys.max() ?? 0 : state.lastKeys[entity.root]
        guard UInt64(count) <= MemoryState.keys.upperBound - last else {
            throw .damaged(
                entity: entity.name, key: last,
                reason: "the last allocated key is stated to be \(last), after which there are no \(count) more")
        }
        state.lastKeys[entity.root] = last + UInt64(count)
        assert(last >= 0 && state.lastKeys[entity.root] >= last, "keys after \(last) are reserved")
        return last + 1..<last + 1 + UInt64(count)
    }

    /// A snapshot of the store's present contents.
    public func snapshot() throws(StoreError) -> any StoreSnapshot {
        InMemorySnapshot(self, try withState { state throws(StoreError) in state })
    }

    /// The values that the application keeps with the store.
    public func metadata() throws(StoreError) -> [String: AttributeValue] {
        try withState { state throws(StoreError) in state.metadata }
    }

    /// Replaces the application's values.
    ///
    /// - Throws: `.invalidRequest` if composites nest more than 15 deep.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {
        try SaveChecks.check(metadata: metadata)
        try change { state throws(StoreError) in state.metadata = metadata }
    }

    /// Closes the store and discards its content.
    public func close() throws(StoreError) {
        try withState { state throws(StoreError) in
            state = MemoryState(schema: schema)
            state.isClosed = true
        }
    }

    /// Whether the save with this number is the last one, and the store is open.
    func isNewest(_ generation: UInt64) -> Bool { state.withLock { $0.generation == generation && !$0.isClosed } }

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

    /// Calls `body` with the state, to change it; one change comes after the other.
    func change<Answer: Sendable>(
        _ body: (inout MemoryState) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try holdChanges(endsChanges: false) { () throws(StoreError) in try withState(body) }
    }

    /// Calls `body` with the state, unless the store was closed.
    func withState<R>(_ body: (inout MemoryState) throws(StoreError) -> R) throws(StoreError) -> R {
        let result = state.withLock { state -> Result<R, StoreError> in
            guard !state.isClosed else { return .failure(.closed) }
            do throws(StoreError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
