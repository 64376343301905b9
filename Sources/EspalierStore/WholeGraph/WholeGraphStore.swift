// A store that is loaded when it is opened, answers from memory, and is saved as a whole with each change.
//
// Invariants
//   1. The state in memory is the one that the source has saved: a save that the source refuses changes nothing.
//   2. Changes come one after the other; while the source writes, snapshots are taken and read as usual.
//   3. A key that a caller has received is saved as given out before: a margin of keys is, so that not every
//      reservation writes everything.

public import EspalierModel
public import FoundationEssentials
internal import Synchronization

/// A store whose rows are all in memory, and are read and written together (PS-12).
public final class WholeGraphStore: PersistentStore, BuiltInStore {
    /// The keys that are saved as given out in advance.
    private static let margin: UInt64 = 1024

    /// The data.
    public let source: any GraphSource
    /// The kind of this store.
    public let type: StoreType
    private let base: InMemoryStore
    /// Held during a change; the greatest keys that the source has as given out, by index of the root entity.
    private let savedKeys: Mutex<[UInt64]>
    /// Whether the store accepts no changes any more (`holdChanges`); set and read during a change.
    private let changesHaveEnded = Atomic(false)

    /// Loads the data, and makes a store of them.
    ///
    /// - Parameter type: the kind, by which descriptions name such stores (`StoreType.register`).
    /// - Throws: `StoreError.damagedContent` for rows, lists and counters that do not fit the model or each other;
    ///   `.invalidRequest` for metadata that nest too deep; the errors of the source, as `.outside` if they are no
    ///   `StoreError`s.
    /// - Complexity: O(n log n) in rows and destinations.
    public convenience init(
        _ source: any GraphSource, type: StoreType, model: ManagedObjectModel
    ) throws(StoreError) {
        let graph = try Self.ask(source.path) { try source.load(model) }
        try self.init(source, holding: graph, type: type, model: model)
    }

    /// Makes a store of data that were loaded.
    ///
    /// - Parameter graph: everything that the source has; `nil` if there is nothing yet.
    init(
        _ source: any GraphSource, holding graph: StoredGraph?, type: StoreType, model: ManagedObjectModel
    ) throws(StoreError) {
        (self.source, self.type) = (source, type)
        let schema = StoreSchema(model: model)
        let identifier = graph?.identifier ?? UUID()
        let path = source.path
        let state = try StoreError.withPath(path) { () throws(StoreError) in
            try graph.map { graph throws(StoreError) in try MemoryState(graph, schema: schema) }
                ?? MemoryState(schema: schema)
        }
        base = InMemoryStore(schema, state, identifier: identifier, hasSharedKeys: source.hasSharedKeys)
        savedKeys = Mutex(state.lastKeys)
        assert(state.lastKeys.count == model.entities.count, "\(state.lastKeys.count) keys of \(model.entities.count)")
        if graph == nil, !source.isReadOnly { try change { _ throws(StoreError) in } }
    }

    /// The UUID of the store.
    public var identifier: UUID { base.identifier }
    /// The place of the data.
    public var path: String? { source.path }
    /// Whether the store refuses to save.
    public var isReadOnly: Bool { source.isReadOnly }
    /// The model that the store was made with.
    public var model: ManagedObjectModel { base.model }

    /// A snapshot of the store's present contents.
    public func snapshot() throws(StoreError) -> any StoreSnapshot { try base.snapshot() }

    /// Permanent IDs for objects that will be inserted (MC-37).
    ///
    /// - Complexity: O(n) in all rows, for one of 1,024 IDs.
    public func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        guard model.entity(named: entity.name) === entity, !entity.isAbstract, count >= 0 else {
            throw .invalidRequest(reason: "cannot reserve \(count) IDs for \(entity.name)")
        }
        return try change(onlyKeys: true) { state throws(StoreError) in
            try base.newKeys(for: entity, count: count, &state).map {
                ObjectID(storeTag: base.storeTag, entityTag: entity.tag, key: $0)
            }
        }
    }

    /// Checks versions and constraints, then saves everything.
    ///
    /// - Complexity: O(n) in all rows.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try change { state throws(StoreError) in try base.carryOut(request, on: &state) }
    }

    /// The values that the application keeps with the store.
    public func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }

    /// Replaces the application's values, and saves everything.
    ///
    /// - Throws: `.invalidRequest` if composites nest more than 15 deep.
    public func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {
        try SaveChecks.check(metadata: metadata)
        try change { state throws(StoreError) in state.metadata = metadata }
    }

    /// Ends the store, after the save that is running.
    public func close() throws(StoreError) {
        let result = savedKeys.withLock { _ in
            do throws(StoreError) { return Result<Void, StoreError>.success(try base.close()) } catch {
                return .failure(error)
            }
        }
        try result.get()
        try Self.ask(path) { try source.close() }
    }

    /// Everything in the store.
    ///
    /// - Complexity: O(n log n) in rows and lists.
    public func graph() throws(StoreError) -> StoredGraph {
        try base.withState { state throws(StoreError) in state }.graph(identifier: identifier)
    }

    // MARK: Changing

    /// Replaces everything but the UUID.
    func replaceContent(by graph: StoredGraph) throws(StoreError) {
        try change { state throws(StoreError) in try base.replace(&state, by: graph) }
    }

    /// Changes a copy of the state, has the source save it, and publishes it.
    ///
    /// - Parameter onlyKeys: whether the change only gives out keys, which may have been saved as given out already.
    private func change<Answer>(
        onlyKeys: Bool = false, _ body: (inout MemoryState) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let outcome = savedKeys.withLock { saved -> Result<Answer, StoreError> in
            do throws(StoreError) {
                var state = try base.withState { state throws(StoreError) in state }
                guard !isReadOnly else { throw .readOnly(path: path) }
                guard !changesHaveEnded.load(ordering: .relaxed) else { throw .closed }
                let answer = try body(&state)
                assert(state.lastKeys.count == saved.count, "\(state.lastKeys.count) keys, \(saved.count) are saved")
                let isSaved = zip(state.lastKeys, saved).allSatisfy { $0 <= $1 }
                if !onlyKeys || !isSaved {
                    let keys = zip(state.lastKeys, saved).map { key, former in
                        key > former ? min(key + (onlyKeys ? Self.margin : 0), MemoryState.keys.upperBound) : former
                    }
                    var graph = state.graph(identifier: identifier)
                    for entity in model.entities where entity.root == entity.index {
                        graph.counters[entity.name]?.lastKey = keys[entity.index]
                    }
                    assert(
                        zip(state.lastKeys, keys).allSatisfy { $0 <= $1 },
                        "invariant 3: \(state.lastKeys) are given out, and \(keys) are saved")
                    try Self.ask(path) { try source.save(graph, model) }
                    saved = keys
                }
                try base.withState { present throws(StoreError) in present = state }
                return .success(answer)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    package func holdChanges<Answer: Sendable>(
        endsChanges: Bool, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let outcome = savedKeys.withLock { _ -> Result<Answer, StoreError> in
            guard !changesHaveEnded.load(ordering: .relaxed) else { return .failure(.closed) }
            do throws(StoreError) {
                let answer = try body()
                changesHaveEnded.store(endsChanges, ordering: .relaxed)
                return .success(answer)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private static func ask<Answer>(_ path: String?, _ body: () throws -> Answer) throws(StoreError) -> Answer {
        do { return try body() } catch let error as StoreError { throw error } catch {
            throw .outside(path: path, underlying: error)
        }
    }
}
