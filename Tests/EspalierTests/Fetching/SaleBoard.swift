// Sales with attributes of every type that aggregates compute with, in shops; and a store of them that can be reopened.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// A store of sales.
final class SaleBoard {
    /// The place of the rows.
    enum Place: CaseIterable {
        /// In dictionaries.
        case plain
        /// In trees that are in memory only.
        case memory
        /// In a file of a simulated machine, which the board can reopen.
        case file
    }

    static let entities: [EntityDescription] = [
        EntityDescription(
            "Shop",
            attributes: [
                AttributeDescription("name", .string), AttributeDescription("town", .string),
                AttributeDescription("rank", .integer16),
            ],
            relationships: [RelationshipDescription("sales", to: "Sale", inverse: "shop", .toMany)]),
        EntityDescription(
            "Sale",
            attributes: [
                AttributeDescription("text", .string, isIndexed: true),
                AttributeDescription("whole", .integer16, isIndexed: true), AttributeDescription("big", .integer64),
                AttributeDescription("real", .double, isIndexed: true), AttributeDescription("money", .decimal),
                AttributeDescription("day", .date), AttributeDescription("flag", .boolean),
                AttributeDescription("hidden", .string, isTransient: true),
                AttributeDescription(
                    "place", .composite, elements: [AttributeDescription("x", .integer16)]),
            ],
            relationships: [
                RelationshipDescription("shop", to: "Shop", inverse: "sales"),
                RelationshipDescription("follows", to: "Sale"),
            ],
            indexes: [.init("byShopAndWhole", on: [.init("shop"), .init("whole", isAscending: false)])]),
        EntityDescription("Refund", superentity: "Sale", attributes: [AttributeDescription("reason", .string)]),
    ]

    private(set) var coordinator: PersistentStoreCoordinator
    private var store: any PersistentStore
    private let system: SimulatedFileSystem?

    init(_ place: Place, seed: UInt64 = 1) throws {
        let model = try ManagedObjectModel(entities: Self.entities)
        system = place == .file ? SimulatedFileSystem(seed: seed) : nil
        switch place {
        case .plain: store = InMemoryStore(model: model)
        case .memory: store = try BTreeStore.inMemory(model: model, options: .small)
        case .file: store = try Self.open(system, model)
        }
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
    }

    private static func open(_ system: SimulatedFileSystem?, _ model: ManagedObjectModel) throws -> any PersistentStore
    {
        guard let system else { return InMemoryStore(model: model) }
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(try Database.open("sales", in: system, options: options), path: nil, model: model)
    }

    /// Closes the store and opens it again, if it is in a file.
    func reopen() throws {
        guard system != nil else { return }
        let model = store.model
        try store.close()
        store = try Self.open(system, model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }
}

extension ManagedObjectContext {
    /// Inserts an object with these values.
    @discardableResult
    func make(
        _ entity: String, _ values: [String: AttributeValue] = [:], shop: ManagedObject? = nil
    ) throws -> ManagedObject {
        let object = try insertNewObject(forEntityName: entity)
        for (name, value) in values { try object.setValue(value, forKey: name) }
        if let shop { try object.setValue(.toOne(shop), forKey: "shop") }
        return object
    }

    /// The rows of values that columns in text form give.
    func rows(
        _ entity: String, _ columns: [FetchColumn], where format: String? = nil, by groups: [FetchColumn] = [],
        having: String? = nil, distinct: Bool = false, sort: [SortKey] = [], offset: Int = 0, limit: Int = 0,
        pending: Bool = true
    ) throws -> [[AttributeValue]] {
        var request = ValueRequest(
            entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) }, columns: columns)
        request.propertiesToGroupBy = groups
        request.havingPredicate = try having.map { try FetchPredicate(format: $0) }
        (request.returnsDistinctResults, request.sortKeys) = (distinct, sort)
        (request.fetchOffset, request.fetchLimit, request.includesPendingChanges) = (offset, limit, pending)
        return try fetch(request).map(\.values)
    }
}

extension [AttributeValue] {
    /// Whether both have the same values; NaN equals NaN.
    func isSame(as other: [AttributeValue]) -> Bool {
        count == other.count
            && zip(self, other).allSatisfy { left, right in
                left == right || left.isNaN && right.isNaN
            }
    }
}
