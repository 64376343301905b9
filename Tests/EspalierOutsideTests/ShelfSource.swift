// The data of an application that can be changed: rows in memory, under UUIDs. It filters by one kind of condition
// itself, and can break each rule of the contract on demand.

import Espalier
import Foundation
import Synchronization

final class ShelfSource: IncrementalSource {
    /// The rules that the source can break.
    enum Lie: String, CaseIterable, Sendable {
        case rowTwice, unknownEntity, otherEntity, wrongType, tooFewValues, missingRow, versionZero, versionGoesBack
        case otherStore, unsorted, unfiltered, uncut, overLimit, otherRow, tooFewRows, destinationOfOtherEntity
        case destinationTwice, usedReference, tooFewReferences, ownError, versionTooGreat, destinationOfRow
    }

    struct List: Hashable, Sendable {
        let owner: ObjectID
        let name: String
    }

    struct Content: Sendable {
        var rows: [ObjectID: ObjectSnapshot] = [:]
        var lists: [List: [ObjectID]] = [:]
        var metadata: [String: AttributeValue] = [:]
        var lie: Lie?
        /// The calls of the store, for tests.
        var calls: [String] = []
        /// The rows that others have changed since the last save.
        var isOvertaken = false
        /// The refusal of the next save.
        var refusal: StoreError?
        /// The next references of new rows; none = others than ever before.
        var references: [RowReference] = []
    }

    let identifier = UUID()
    let model: ManagedObjectModel
    let content = Mutex(Content())

    init(model: ManagedObjectModel) { self.model = model }

    var isReadOnly: Bool { false }

    func makeReader() throws -> any IncrementalReader { ShelfReader(source: self, content: content.withLock { $0 }) }

    func newReferences(for entity: Entity, count: Int) throws -> [RowReference] {
        let (lie, used) = content.withLock { ($0.lie, $0.rows.keys.first { $0.entityName == entity.name }) }
        if lie == .usedReference, let reference = used?.reference { return Array(repeating: reference, count: count) }
        let prepared = content.withLock { content in
            defer { content.references = [] }
            return content.references
        }
        if !prepared.isEmpty { return prepared }
        return (0..<(lie == .tooFewReferences ? count - 1 : count)).map { _ in .uuid(UUID()) }
    }

    func save(_ changes: IncrementalChanges) throws {
        try content.withLock { content in
            if content.lie == .ownError { throw ShelfError.collapsed }
            if let refusal = content.refusal.take() { throw refusal }
            if content.isOvertaken, let first = changes.expectations.first {
                content.isOvertaken = false
                throw StoreError.conflict([
                    VersionConflict(
                        id: first.id, expectedVersion: first.expectedVersion, stored: content.rows[first.id])
                ])
            }
            for row in changes.inserted + changes.updated { content.rows[row.id] = row }
            for list in changes.lists {
                content.lists[List(owner: list.owner, name: list.relationship.name)] = list.destinations
            }
            for id in changes.deleted {
                content.rows[id] = nil
                content.lists = content.lists.filter { $0.key.owner != id }
            }
        }
    }

    func metadata() throws -> [String: AttributeValue] { content.withLock(\.metadata) }
    func setMetadata(_ metadata: [String: AttributeValue]) throws { content.withLock { $0.metadata = metadata } }
    func close() throws { content.withLock { $0.calls.append("close") } }
}

enum ShelfError: Error { case collapsed }

/// Reads the shelf as it was at one moment.
private struct ShelfReader: IncrementalReader {
    let source: ShelfSource
    let content: ShelfSource.Content

    func find(_ query: IncrementalQuery) throws -> FoundRows {
        if content.lie == .ownError { throw ShelfError.collapsed }
        source.content.withLock { $0.calls.append(query.predicate == nil ? "find all" : "find some") }
        let names = Set(query.entities(in: source.model).map(\.name))
        var rows = content.rows.values.filter { names.contains($0.id.entityName) }
            .sorted { "\($0.value(at: 0))" < "\($1.value(at: 0))" }
        var found = FoundRows(rows)
        switch content.lie {
        case .rowTwice: found = FoundRows(rows + rows.prefix(1))
        case .unknownEntity: found = FoundRows(ids: [try stranger()])
        case .otherEntity:
            found = FoundRows(ids: content.rows.keys.filter { !names.contains($0.entityName) })
        case .missingRow:
            found = FoundRows(ids: [ObjectID(.uuid(UUID()), of: query.entity, inStore: source.identifier)])
        case .otherStore: found = FoundRows(ids: [ObjectID(.number(1), of: query.entity, inStore: UUID())])
        case .unsorted:
            found = FoundRows(rows.reversed(), isSorted: true)
        case .unfiltered: found = FoundRows(rows, isFiltered: true)
        case .uncut: found = FoundRows(rows, isCut: true)
        case .overLimit: found = FoundRows(rows, isFiltered: true, isSorted: true, isCut: true)
        case .wrongType, .tooFewValues, .versionZero, .versionGoesBack, .otherRow, .tooFewRows, .versionTooGreat,
            .destinationOfRow:
            found = FoundRows(ids: rows.map(\.id))
        default:
            // A condition of the form `year == number` is all that this data knows.
            guard case .comparison(let comparison)? = query.predicate, comparison.operator == .equal,
                comparison.left == .keyPath(FetchKeyPath(["year"])), case .value(let year) = comparison.right
            else { break }
            rows = rows.filter { $0.value(at: 1) == year }
            found = FoundRows(rows, isFiltered: true)
        }
        return found
    }

    func rows(_ ids: [ObjectID]) throws -> [ObjectSnapshot?] {
        source.content.withLock { $0.calls.append("rows \(ids.count)") }
        switch content.lie {
        case .tooFewRows: return []
        case .otherRow: return ids.map { _ in content.rows.values.first }
        case .versionGoesBack: return ids.map { content.rows[$0].map { changed($0, version: 1) } }
        case .versionZero: return ids.map { content.rows[$0].map { changed($0, version: 0) } }
        case .versionTooGreat: return ids.map { content.rows[$0].map { changed($0, version: .max) } }
        case .destinationOfRow:
            return ids.map { content.rows[$0].map { changed($0, version: $0.version, destination: $0.id) } }
        case .wrongType:
            return ids.map { content.rows[$0].map { changed($0, version: $0.version, first: .boolean(true)) } }
        case .tooFewValues:
            return ids.map { ObjectSnapshot(id: $0, version: 9, values: [], destinations: []) }
        default: return ids.map { content.rows[$0] }
        }
    }

    func destinations(of relationship: Relationship, for owner: ObjectID) throws -> [ObjectID] {
        source.content.withLock { $0.calls.append("list \(relationship.name)") }
        let list = content.lists[ShelfSource.List(owner: owner, name: relationship.name)] ?? []
        return switch content.lie {
        case .destinationTwice: list + list
        case .destinationOfOtherEntity: [owner]
        default: list
        }
    }

    private func changed(
        _ row: ObjectSnapshot, version: UInt64, first: AttributeValue? = nil, destination: ObjectID? = nil
    ) -> ObjectSnapshot {
        guard let entity = source.model.entity(named: row.id.entityName) else { return row }
        var values = entity.attributes.map { row.value(at: $0.slot) }
        if let first { values[0] = first }
        return ObjectSnapshot(
            id: row.id, version: version, values: values,
            destinations: entity.relationships.map { destination ?? row.destination(at: $0.slot) })
    }

    /// An ID of an entity that the model does not have.
    private func stranger() throws -> ObjectID {
        let other = try ManagedObjectModel(entities: [EntityDescription("Stranger")])
        return ObjectID(.number(1), of: other.entities[0], inStore: source.identifier)
    }
}
