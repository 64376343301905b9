// The data of an application in dictionaries, with texts as references: it filters and sorts nothing, and a reader has
// a copy of one moment.

import EspalierModel
import EspalierStore
import Foundation
import Synchronization

/// A source for stores that run the suites of all stores.
final class DictionarySource: IncrementalSource {
    private struct ListName: Hashable, Sendable {
        let owner: ObjectID
        let name: String
    }

    private struct Content: IncrementalReader {
        let model: ManagedObjectModel
        var rows: [ObjectID: ObjectSnapshot] = [:]
        var lists: [ListName: [ObjectID]] = [:]
        var metadata: [String: AttributeValue] = [:]
        var lastNumber = 0

        func find(_ query: IncrementalQuery) throws -> FoundRows {
            let names = Set(query.entities(in: model).map(\.name))
            let found = rows.values.filter { names.contains($0.id.entityName) }
            // Half of the answers are rows, and half are IDs, which make the store load the rows.
            return found.count.isMultiple(of: 2) ? FoundRows(found) : FoundRows(ids: found.map(\.id))
        }

        func rows(_ ids: [ObjectID]) throws -> [ObjectSnapshot?] { ids.map { rows[$0] } }

        func destinations(of relationship: Relationship, for owner: ObjectID) throws -> [ObjectID] {
            lists[ListName(owner: owner, name: relationship.name)] ?? []
        }
    }

    let identifier = UUID()
    private let content: Mutex<Content>

    init(model: ManagedObjectModel) { content = Mutex(Content(model: model)) }

    var isReadOnly: Bool { false }

    func makeReader() throws -> any IncrementalReader { content.withLock { $0 } }

    func newReferences(for entity: Entity, count: Int) throws -> [RowReference] {
        content.withLock { content in
            (0..<count).map { _ in
                content.lastNumber += 1
                return .text("\(entity.name) Nº \(content.lastNumber)")
            }
        }
    }

    func save(_ changes: IncrementalChanges) throws {
        content.withLock { content in
            for row in changes.inserted + changes.updated { content.rows[row.id] = row }
            for list in changes.lists {
                content.lists[ListName(owner: list.owner, name: list.relationship.name)] = list.destinations
            }
            let gone = Set(changes.deleted)
            guard !gone.isEmpty else { return }
            for id in gone { content.rows[id] = nil }
            content.lists = content.lists.filter { !gone.contains($0.key.owner) }
        }
    }

    func metadata() throws -> [String: AttributeValue] { content.withLock(\.metadata) }

    func setMetadata(_ metadata: [String: AttributeValue]) throws { content.withLock { $0.metadata = metadata } }
}
