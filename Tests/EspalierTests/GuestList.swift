// Guests whose names and codes are unique, with relationships of every kind, and contexts on their store.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

/// A store of guests.
final class GuestList {
    static let name = ConstraintName("Guest", ["name"])
    static let mergesAll: [ConstraintName: ConstraintAction] = [
        name: .merge, ConstraintName("Guest", ["code"]): .merge, ConstraintName("City", ["name"]): .merge,
    ]
    static let keepsAll = mergesAll.mapValues { _ in ConstraintAction.keep }

    let coordinator: PersistentStoreCoordinator
    let store: any PersistentStore
    let context: ManagedObjectContext
    private let folder: URL
    /// Whether the constraints of the model declare actions, and contexts have no others.
    private let declaresActions: Bool

    /// - Parameter declared: the actions that constraints of guests declare; without, contexts merge all new objects.
    init(_ kind: StoreKind, declared: [[String]: ConstraintAction]? = nil) throws {
        declaresActions = declared != nil
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Guest",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("code", .integer64),
                    AttributeDescription("note", .string),
                    AttributeDescription("rank", .integer16, defaultValue: .integer(3)),
                ],
                relationships: [
                    RelationshipDescription("city", to: "City", inverse: "guests"),
                    RelationshipDescription("badge", to: "Badge", inverse: "bearer"),
                    RelationshipDescription("host", to: "Guest"),
                    RelationshipDescription("clubs", to: "Club", inverse: "members", .toMany),
                    RelationshipDescription("friends", to: "Guest", inverse: "friends", .toMany),
                    RelationshipDescription("gifts", to: "Gift", inverse: "guest", .ordered),
                    RelationshipDescription("marks", to: "City", .ordered),
                ],
                uniquenessConstraints: [["name"], ["code"]], constraintActions: declared ?? [:]),
            EntityDescription("Patron", superentity: "Guest", attributes: [AttributeDescription("sum", .integer64)]),
            EntityDescription(
                "City", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("guests", to: "Guest", inverse: "city", .toMany)],
                uniquenessConstraints: [["name"]]),
            EntityDescription(
                "Badge", attributes: [AttributeDescription("number", .integer64)],
                relationships: [RelationshipDescription("bearer", to: "Guest", inverse: "badge")]),
            EntityDescription(
                "Club", attributes: [AttributeDescription("number", .integer64)],
                relationships: [RelationshipDescription("members", to: "Guest", inverse: "clubs", .ordered)]),
            EntityDescription(
                "Gift", attributes: [AttributeDescription("number", .integer64)],
                relationships: [RelationshipDescription("guest", to: "Guest", inverse: "gifts")]),
        ])
        folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        switch kind {
        case .inMemory: store = InMemoryStore(model: model)
        case .btree:
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            store = try BTreeStore.open(path: folder.appending(path: "guests").path, model: model)
        }
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        context = ManagedObjectContext(coordinator)
        if !declaresActions { context.constraintActions = Self.mergesAll }
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    func newContext() -> ManagedObjectContext {
        let context = ManagedObjectContext(coordinator)
        if !declaresActions { context.constraintActions = Self.mergesAll }
        return context
    }

    /// A new object with these attributes.
    func make(
        _ entityName: String, _ values: [String: AttributeValue] = [:], in other: ManagedObjectContext? = nil
    ) throws -> ManagedObject {
        let object = try (other ?? context).insertNewObject(forEntityName: entityName)
        for (name, value) in values { try object.setValue(value, forKey: name) }
        return object
    }

    /// Saves a row by a context of its own; returns its ID.
    func store(_ entityName: String, _ values: [String: AttributeValue] = [:]) throws -> ObjectID {
        let other = newContext()
        let object = try make(entityName, values, in: other)
        try other.save()
        return object.objectID
    }

    /// Saves, compares each object in memory with the values that a fresh context reads, and checks the file.
    func save(_ other: ManagedObjectContext? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try (other ?? context).saveAndCompare(sourceLocation: sourceLocation)
        try check(sourceLocation: sourceLocation)
    }

    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard let store = store as? BTreeStore else { return }
        let report = try store.check()
        #expect(report.isOK && report.dangling.isEmpty, "\(report)", sourceLocation: sourceLocation)
    }
}

extension ManagedObject {
    /// Makes `object` the destination of a to-one relationship.
    func relate(_ name: String, to object: ManagedObject?) throws { try setValue(.toOne(object), forKey: name) }

    /// The IDs of the destinations: one at most, or all of them in their order.
    func ids(_ name: String) throws -> [ObjectID] { try objectIDs(forRelationshipNamed: name) }

    /// Name, code, note and rank of a guest.
    var guestText: String {
        ["name", "code", "note", "rank"].map { name in
            switch self[attribute: name] {
            case .string(let text): text
            case .integer(let number): "\(number)"
            default: "none"
            }
        }.joined(separator: ", ")
    }
}
