// A store of an application on the contract itself, on rows in memory, which can break each rule of the contract on
// demand.

import Espalier
import Foundation
import Synchronization

final class RawStore: PersistentStore {
    /// The rules that the store can break.
    enum Lie: String, CaseIterable, Sendable {
        case rowTwice, unknownEntity, otherEntity, otherStore, wrongType, tooFewValues, versionZero, unsorted
        case unfiltered, overLimit, idTwice, negativeCount, countOverLimit, otherRow, tooFewRows
        case destinationTwice, destinationOfOtherEntity, tooFewLists, tooFewIDs, reservedTwice, tooFewSaved
        case versionTooGreat, destinationOfRow, listWithoutOrder, reservedUsed, endlessBatch, otherBatch
    }

    private let base: InMemoryStore
    let lie = Mutex<Lie?>(nil)
    /// The change of each answer to a save.
    let answer = Mutex<(@Sendable (SaveResult) -> SaveResult)?>(nil)
    /// The refusal of the next save.
    let refusal = Mutex<StoreError?>(nil)
    /// The number of each generation; `nil` = that of the rows in memory.
    let generation = Mutex<UInt64?>(nil)

    init(model: ManagedObjectModel) { base = InMemoryStore(model: model) }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Raw") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot {
        let base = try base.snapshot()
        return RawSnapshot(
            base, model, identifier, lie.withLock { $0 }, generation: generation.withLock { $0 } ?? base.generation)
    }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        let ids = try base.reserveIDs(for: entity, count: count)
        return switch lie.withLock({ $0 }) {
        case .tooFewIDs: Array(ids.dropLast())
        case .reservedTwice: ids.map { _ in ids[0] }
        case .reservedUsed: Array(try base.fetchIDs(StoreFetch(entity: entity)).prefix(count))
        default: ids
        }
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        if let refusal = refusal.withLock({ $0.take() }) { throw refusal }
        let result = try base.save(request)
        if let answer = answer.withLock({ $0 }) { return answer(result) }
        return lie.withLock { $0 } == .tooFewSaved ? SaveResult() : result
    }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

/// The rows at one moment, as the store tells them.
private final class RawSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let model: ManagedObjectModel
    private let identifier: UUID
    private let lie: RawStore.Lie?
    let generation: UInt64

    init(
        _ base: any StoreSnapshot, _ model: ManagedObjectModel, _ identifier: UUID, _ lie: RawStore.Lie?,
        generation: UInt64
    ) {
        (self.base, self.model, self.identifier, self.lie) = (base, model, identifier, lie)
        self.generation = generation
    }

    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        var fetch = fetch
        if lie == .overLimit { fetch.limit = nil }
        if lie == .unfiltered { fetch.predicate = nil }
        let rows = Array(try base.fetch(fetch))
        switch lie {
        case .rowTwice: return SnapshotList(rows + rows.prefix(1))
        case .unknownEntity: return SnapshotList([emptyRow(try stranger)])
        case .otherEntity: return SnapshotList(try strangersOf(fetch.entity).map(emptyRow))
        case .otherStore:
            return SnapshotList([emptyRow(ObjectID(.number(1), of: fetch.entity, inStore: UUID()))])
        case .wrongType: return SnapshotList(rows.map { changed($0, first: .boolean(true)) })
        case .tooFewValues: return SnapshotList(rows.map { emptyRow($0.id) })
        case .versionZero: return SnapshotList(rows.map { changed($0, version: 0) })
        case .versionTooGreat: return SnapshotList(rows.map { changed($0, version: .max) })
        case .destinationOfRow: return SnapshotList(rows.map { changed($0, destination: $0.id) })
        case .unsorted: return SnapshotList(rows.reversed())
        default: return SnapshotList(rows)
        }
    }

    func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        let rows = try self.fetch(fetch)
        switch lie {
        case .endlessBatch: return FetchBatch(rows, rest: fetch)
        case .otherBatch:
            var rest = fetch
            if let other = model.entities.first(where: { $0.name != fetch.entity.name }) { rest.entity = other }
            return FetchBatch(rows, rest: rest)
        default: return FetchBatch(rows)
        }
    }

    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        let ids = try base.fetchIDs(fetch)
        return lie == .idTwice ? ids + ids : ids
    }

    func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        switch lie {
        case .negativeCount: -1
        case .countOverLimit: 1000
        default: try base.count(fetch)
        }
    }

    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        switch lie {
        case .tooFewRows: return []
        case .otherRow:
            var others: [ObjectID] = []
            for id in ids {
                guard let entity = model.entity(named: id.entityName) else { continue }
                others += try strangersOf(entity).prefix(1)
            }
            return try base.snapshots(of: others)
        default: return try base.snapshots(of: ids)
        }
    }

    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        let lists = try base.destinations(of: relationship, for: owners)
        return switch lie {
        case .destinationTwice: lists.map { $0 + $0 }
        case .destinationOfOtherEntity: owners.map { [$0] }
        case .listWithoutOrder: lists.map { $0.reversed() }
        case .tooFewLists: []
        default: lists
        }
    }

    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }

    /// The IDs of the rows of all other entities.
    private func strangersOf(_ entity: Entity) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        for other in model.entities where other.name != entity.name {
            ids += try base.fetchIDs(StoreFetch(entity: other))
        }
        return ids
    }

    /// An ID of an entity that the model does not have.
    private var stranger: ObjectID {
        get throws(StoreError) {
            do {
                let other = try ManagedObjectModel(entities: [EntityDescription("Stranger")])
                return ObjectID(.number(1), of: other.entities[0], inStore: identifier)
            } catch {
                throw .outside(path: nil, underlying: error)
            }
        }
    }

    private func emptyRow(_ id: ObjectID) -> ObjectSnapshot {
        ObjectSnapshot(id: id, version: 1, values: [], destinations: [])
    }

    private func changed(
        _ row: ObjectSnapshot, version: UInt64? = nil, first: AttributeValue? = nil, destination: ObjectID? = nil
    ) -> ObjectSnapshot {
        guard let entity = model.entity(named: row.id.entityName) else { return row }
        var values = entity.attributes.map { row.value(at: $0.slot) }
        if let first { values[0] = first }
        return ObjectSnapshot(
            id: row.id, version: version ?? row.version, values: values,
            destinations: entity.relationships.map { destination ?? row.destination(at: $0.slot) })
    }
}
