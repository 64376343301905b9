// Stores of every kind behind one interface, for suites that run over all of them.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// The kinds of store that must keep the contract.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
    case memory, treeInMemory, treeInFile, outside, binaryFile, xmlFile

    /// The kinds that compute derived values; an application's data give theirs.
    static let deriving = allCases.filter { $0 != .outside }

    var testDescription: String {
        switch self {
        case .memory: "dictionaries"
        case .treeInMemory: "B-tree in memory"
        case .treeInFile: "B-tree file"
        case .outside: "data of an application"
        case .binaryFile: "binary file"
        case .xmlFile: "XML file"
        }
    }
}

/// An open store of one kind, with short forms of requests for tests.
///
/// The fixture removes its file and folder in `deinit`.
final class StoreFixture {
    let kind: StoreKind
    let model: ManagedObjectModel
    private(set) var store: any PersistentStore
    private let folder: URL
    private let files = MemoryFileSystem()
    /// The data of an `outside` store.
    private(set) var source: DictionarySource

    init(_ kind: StoreKind, _ model: ManagedObjectModel? = nil) throws {
        self.kind = kind
        let model = try model ?? MediaModel.make()
        self.model = model
        source = DictionarySource(model: model)
        folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        switch kind {
        case .memory: store = InMemoryStore(model: model)
        case .treeInMemory: store = try BTreeStore.inMemory(model: model)
        case .outside:
            store = IncrementalStore(source, type: StoreType(rawValue: "Dictionaries"), model: model)
        case .binaryFile, .xmlFile: store = try Self.wholeFile(kind, files, model)
        case .treeInFile:
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            store = try BTreeStore.open(path: folder.appending(path: "store").path, model: model)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The path of the file of a `treeInFile`.
    var path: String { folder.appending(path: "store").path }

    /// Closes the store and opens it again, unless it is only in memory.
    func reopen() throws {
        switch kind {
        case .memory, .treeInMemory: return
        case .treeInFile:
            try store.close()
            store = try BTreeStore.open(path: path, model: model)
        case .outside:
            try store.close()
            store = IncrementalStore(source, type: StoreType(rawValue: "Dictionaries"), model: model)
        case .binaryFile, .xmlFile:
            try store.close()
            store = try Self.wholeFile(kind, files, model)
        }
    }

    /// A store that is saved as a whole, in a file in memory.
    private static func wholeFile(
        _ kind: StoreKind, _ files: MemoryFileSystem, _ model: ManagedObjectModel
    ) throws -> WholeGraphStore {
        let format: any GraphFormat = kind == .xmlFile ? XMLGraphFormat() : BinaryGraphFormat()
        return try WholeGraphStore(
            GraphFile("/store", format, in: files), type: kind == .xmlFile ? .xml : .binary, model: model)
    }

    /// The entity called `name`.
    func entity(_ name: String) throws -> Entity {
        guard let entity = model.entity(named: name) else { throw FixtureError.unknown(name) }
        return entity
    }

    /// The relationship `name` of an entity.
    func relationship(_ name: String, of entityName: String) throws -> Relationship {
        guard let relationship = try entity(entityName).relationship(named: name) else {
            throw FixtureError.unknown(name)
        }
        return relationship
    }

    /// An insertion with a temporary ID.
    func insertion(
        _ entityName: String, _ values: [String: AttributeValue] = [:], to: [String: ObjectID] = [:]
    ) throws -> SaveRequest.Insertion {
        let entity = try entity(entityName)
        var row = SaveRequest.Insertion(
            id: ObjectID(temporaryFor: entityName),
            values: Array(repeating: .null, count: entity.attributes.count),
            destinations: Array(repeating: nil, count: entity.relationships.count))
        for (name, value) in values {
            guard let attribute = entity.attribute(named: name) else { throw FixtureError.unknown(name) }
            row.values[attribute.slot] = value
        }
        for (name, id) in to { row.destinations[try relationship(name, of: entityName).slot] = id }
        return row
    }

    /// Inserts one row and saves; returns its permanent ID.
    func insert(
        _ entityName: String, _ values: [String: AttributeValue] = [:], to: [String: ObjectID] = [:]
    ) throws -> ObjectID {
        let row = try insertion(entityName, values, to: to)
        var request = SaveRequest()
        request.insertions = [row]
        guard let id = try store.save(request).inserted.first?.id else { throw FixtureError.unknown("permanent ID") }
        return id
    }

    /// An update of the row that expects its present version.
    func update(
        _ id: ObjectID, _ values: [String: AttributeValue] = [:], to: KeyValuePairs<String, ObjectID?> = [:]
    ) throws -> SaveRequest.Update {
        guard let row = try store.snapshots(of: [id])[0] else { throw FixtureError.unknown("\(id)") }
        let entity = try entity(id.entityName)
        var update = SaveRequest.Update(id: id, expectedVersion: row.version)
        for (name, value) in values {
            guard let attribute = entity.attribute(named: name) else { throw FixtureError.unknown(name) }
            update.values.append((attribute.slot, value))
        }
        for (name, destination) in to {
            update.destinations.append((try relationship(name, of: id.entityName).slot, destination))
        }
        return update
    }

    /// Changes one row and saves.
    func change(_ id: ObjectID, _ values: [String: AttributeValue] = [:], to: KeyValuePairs<String, ObjectID?> = [:])
        throws
    {
        var request = SaveRequest()
        request.updates = [try update(id, values, to: to)]
        _ = try store.save(request)
    }

    /// Deletes rows and saves.
    func delete(_ ids: ObjectID...) throws {
        var request = SaveRequest()
        for id in ids {
            guard let row = try store.snapshots(of: [id])[0] else { throw FixtureError.unknown("\(id)") }
            request.deletions.append(.init(id: id, expectedVersion: row.version))
        }
        _ = try store.save(request)
    }

    /// Changes a to-many relationship and saves.
    func link(
        _ owner: ObjectID, _ name: String, add: [ObjectID] = [], remove: [ObjectID] = [], order: [ObjectID]? = nil,
        madeFrom orderBase: [ObjectID]? = nil
    ) throws {
        var request = SaveRequest()
        request.links = [
            .init(
                owner: owner, slot: try relationship(name, of: owner.entityName).slot, added: add, removed: remove,
                order: order, orderBase: orderBase)
        ]
        _ = try store.save(request)
    }

    /// The destinations of a to-many relationship.
    func links(_ owner: ObjectID, _ name: String) throws -> [ObjectID] {
        try store.destinations(of: relationship(name, of: owner.entityName), for: [owner])[0]
    }

    /// The value of an attribute in the stored row.
    func value(_ id: ObjectID, _ name: String) throws -> AttributeValue? {
        guard let attribute = try entity(id.entityName).attribute(named: name) else { throw FixtureError.unknown(name) }
        return try store.snapshots(of: [id])[0]?.value(at: attribute.slot)
    }

    /// A fetch that names its entity and key paths.
    func request(
        _ entityName: String, _ predicate: FetchPredicate? = nil, sort: [SortKey] = [], offset: Int = 0,
        limit: Int? = nil, subentities: Bool = true
    ) throws -> StoreFetch {
        let entity = try entity(entityName)
        return StoreFetch(
            entity: entity, includesSubentities: subentities,
            predicate: try predicate.map { try ResolvedPredicate($0, for: entity, in: model) },
            sort: try sort.map { try ResolvedSortKey($0, for: entity, in: model) }, offset: offset, limit: limit)
    }

    /// The IDs of the rows that a predicate in text form finds.
    func find(_ entityName: String, _ format: String, _ arguments: (any PredicateArgument)?...) throws -> [ObjectID] {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try store.fetchIDs(request(entityName, predicate))
    }
}

enum FixtureError: Error {
    case unknown(String)
}
