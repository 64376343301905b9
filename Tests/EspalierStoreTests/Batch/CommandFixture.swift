// Stores that carry commands out in each of the three ways, and a model for commands: constraints, indexes, rules,
// lists that are ordered or not, a subentity.

import EspalierModel
import EspalierStore
import Foundation
import Testing

/// The ways in which commands are carried out.
enum CommandStoreKind: CaseIterable, CustomTestStringConvertible {
    case memory, tree, byDefault

    var testDescription: String {
        switch self {
        case .memory: "dictionaries"
        case .tree: "B-tree"
        case .byDefault: "a store of an application"
        }
    }

    func make(_ model: ManagedObjectModel) throws -> any PersistentStore {
        switch self {
        case .memory: InMemoryStore(model: model)
        case .tree: try BTreeStore.inMemory(model: model)
        case .byDefault: ForwardingStore(InMemoryStore(model: model))
        }
    }
}

/// A store of an application: it saves, and leaves commands to the default implementation.
final class ForwardingStore: PersistentStore {
    let base: any PersistentStore
    /// Called before each save.
    let beforeSave = SingleThreaded<(() -> Void)?>(nil)

    init(_ base: any PersistentStore) { self.base = base }

    var identifier: UUID { base.identifier }
    var type: StoreType { base.type }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { try base.snapshot() }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        beforeSave.value?()
        return try base.save(request)
    }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

/// A value that only one thread of a test uses.
// SAFETY: the test that has it runs on one thread.
final class SingleThreaded<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// Shelves with cards; a card may be a photo.
enum ShelfModel {
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Shelf",
                attributes: [AttributeDescription("name", .string), AttributeDescription("factor", .integer64)],
                relationships: [
                    RelationshipDescription("cards", to: "Card", inverse: "shelf", .toMany, deleteRule: .cascade),
                    RelationshipDescription("line", to: "Card", inverse: "place", .ordered),
                    RelationshipDescription("guarded", to: "Card", inverse: "guard", .toMany, deleteRule: .deny),
                ]),
            EntityDescription(
                "Card",
                attributes: [
                    AttributeDescription("number", .integer64, isIndexed: true),
                    AttributeDescription(
                        "name", .string, isOptional: false,
                        validationRules: [ValidationRule(.maximumLength(300))]),
                    AttributeDescription("size", .integer16, isIndexed: true),
                    AttributeDescription("weight", .double), AttributeDescription("note", .string),
                    AttributeDescription("shown", .boolean, isTransient: true),
                ],
                relationships: [
                    RelationshipDescription("shelf", to: "Shelf", inverse: "cards"),
                    RelationshipDescription("place", to: "Shelf", inverse: "line"),
                    RelationshipDescription("guard", to: "Shelf", inverse: "guarded"),
                    RelationshipDescription("pair", to: "Card", inverse: "pair"),
                    RelationshipDescription("marks", to: "Mark", inverse: "cards", .toMany),
                ],
                uniquenessConstraints: [["number"], ["name", "shelf"]]),
            EntityDescription("Photo", superentity: "Card", attributes: [AttributeDescription("year", .integer32)]),
            EntityDescription(
                "Mark", attributes: [AttributeDescription("text", .string)],
                relationships: [
                    RelationshipDescription("cards", to: "Card", inverse: "marks", .toMany),
                    RelationshipDescription("best", to: "Card", deleteRule: .nullify),
                ]),
        ])
    }
}

extension PersistentStore {
    /// The ID of a row by its key.
    func id(_ entityName: String, _ key: UInt64) -> ObjectID {
        ObjectID(entityName: entityName, storeIdentifier: identifier, key: key)
    }

    func entity(_ name: String) throws -> Entity { try #require(model.entity(named: name)) }

    /// Rows of an entity that match a condition.
    func rows(_ name: String, _ format: String? = nil, sort: [SortKey] = [], offset: Int = 0, limit: Int? = nil)
        throws -> StoreCommand.Rows
    {
        let entity = try entity(name)
        let predicate = try format.map {
            try ResolvedPredicate(try FetchPredicate(format: $0), for: entity, in: model)
        }
        return .matching(
            StoreFetch(
                entity: entity, predicate: predicate,
                sort: try sort.map { try ResolvedSortKey($0, for: entity, in: model) },
                offset: offset, limit: limit))
    }

    /// Assignments by name.
    func assignments(_ name: String, _ values: KeyValuePairs<String, any PredicateArgument>) throws
        -> [ResolvedAssignment]
    {
        let entity = try entity(name)
        return try values.map { try ResolvedAssignment($0, $1.predicateExpression, for: entity, in: model) }
    }

    /// A new row by names.
    func newRow(
        _ name: String, _ values: [String: AttributeValue], to destinations: [String: ObjectID] = [:]
    ) throws -> StoreCommand.NewRow {
        let entity = try entity(name)
        return StoreCommand.NewRow(
            values: entity.attributes.map { values[$0.name] ?? .null },
            destinations: entity.relationships.map { destinations[$0.name] })
    }

    /// A command that inserts these rows.
    func insertion(_ name: String, _ rows: [StoreCommand.NewRow]) throws -> StoreCommand {
        var rest = rows.makeIterator()
        return StoreCommand(.insert(try entity(name)) { rest.next() })
    }

    /// Everything in the store, as a text for each row.
    ///
    /// - Parameters:
    ///   - withVersions: whether the versions are part of it.
    ///   - inOrder: whether the order of lists is part of it.
    func content(withVersions: Bool = true, inOrder: Bool = true) throws -> [String] {
        var lines: [String] = []
        for entity in model.entities where !entity.isAbstract {
            for row in try fetch(StoreFetch(entity: entity, includesSubentities: false)) {
                var parts = ["\(entity.name) \(row.id.key)" + (withVersions ? " v\(row.version)" : "")]
                for attribute in entity.attributes {
                    parts.append("\(attribute.name)=\(row.value(at: attribute.slot))")
                }
                for relationship in entity.relationships {
                    let ids =
                        relationship.isToMany
                        ? try destinations(of: relationship, for: [row.id])[0]
                        : row.destination(at: relationship.slot).map { [$0] } ?? []
                    parts.append("\(relationship.name)=\(inOrder ? ids.map(\.key) : ids.map(\.key).sorted())")
                }
                lines.append(parts.joined(separator: " | "))
            }
        }
        return lines
    }

    /// The findings of the check of a tree store; none for other stores.
    func findings() throws -> [String] {
        guard let tree = self as? BTreeStore else { return [] }
        let report = try tree.check()
        return report.findings.map { "\($0)" } + report.dangling.map { "\($0)" }
    }
}
