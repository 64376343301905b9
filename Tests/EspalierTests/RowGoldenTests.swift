// Stores that were written once and are kept: every later version must read their rows, or upgrade them to its own
// format without loss.
//
// Invariants
//   1. The files in `Golden/` are never written again; a new format of rows adds a file.
//   2. A missing file is made by setting `ESPALIER_WRITE_GOLDEN=1` once; without that it is a failure.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// The rows of every golden store.
enum GoldenRows {
    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Thing",
                attributes: [
                    AttributeDescription("short", .integer16), AttributeDescription("middle", .integer32),
                    AttributeDescription("number", .integer64), AttributeDescription("other", .integer64),
                    AttributeDescription("double", .double), AttributeDescription("float", .float),
                    AttributeDescription("text", .string, isIndexed: true), AttributeDescription("bit", .boolean),
                    AttributeDescription("date", .date), AttributeDescription("bytes", .binary),
                    AttributeDescription("uuid", .uuid), AttributeDescription("uri", .uri),
                    AttributeDescription("decimal", .decimal),
                ],
                relationships: [
                    RelationshipDescription("parent", to: "Thing", inverse: "parts"),
                    RelationshipDescription("parts", to: "Thing", inverse: "parent", .toMany),
                ]),
            EntityDescription(
                "Large", superentity: "Thing", attributes: [AttributeDescription("extra", .string)]),
        ])
    }

    /// The values of the row at `position`: the limits of each width of number, texts of all lengths, nulls.
    static func values(at position: Int) -> [String: AttributeValue] {
        let power = UInt64(1) << UInt64(position * 3 % 63)
        guard position % 7 != 6 else { return ["text": .string("only text \(position)")] }
        var values: [String: AttributeValue] = [
            "short": .integer(Int64(position % 2 == 0 ? Int16.max : Int16.min)), "middle": .integer(Int64(Int32.min)),
            "number": .integer(Int64(bitPattern: power) &- Int64(position % 3)),
            "other": .integer(position % 5 == 0 ? .min : -Int64(position)),
            "double": .double(Double(position) / 3), "float": .float(-1.5), "bit": .boolean(position % 2 == 0),
            "text": .string(String(repeating: "é", count: position * position * 2)),
            "date": .date(Date(timeIntervalSinceReferenceDate: Double(position) - 0.25)),
            "bytes": .binary(Data(repeating: UInt8(position), count: position == 20 ? 70_000 : position)),
            "uuid": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(position)))),
            "decimal": .decimal(Decimal(position) / 8),
        ]
        values["uri"] = URL(string: "https://example.com/\(position)").map { .uri($0) }
        if position % 4 == 3 { values["other"] = .null }
        return values
    }

    static let count = 40

    static func entityName(at position: Int) -> String { position % 3 == 1 ? "Large" : "Thing" }

    /// The position of the parent of the row at `position`.
    static func parent(of position: Int) -> Int? { position % 5 == 0 ? nil : position / 2 }

    static func write(to path: String) throws {
        let model = try model()
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let store = try BTreeStore.open(path: path, model: model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        var objects: [ManagedObject] = []
        for position in 0..<count {
            guard let entity = model.entity(named: entityName(at: position)) else { continue }
            let object = ManagedObject(entity: entity, insertInto: context)
            for (name, value) in values(at: position) { try object.setValue(value, forKey: name) }
            if let parent = parent(of: position) { try object.setValue(.toOne(objects[parent]), forKey: "parent") }
            objects.append(object)
            // Saves each row by itself, so that the first rows are older than the last, and some get more than one
            // version.
            try context.saveAndCompare()
        }
        try store.close()
    }

    /// Reads all rows and compares them with `values(at:)` and `parent(of:)`.
    static func expect(in store: BTreeStore) throws {
        #expect(try store.check().isOK)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
            .sorted { $0.objectID.key < $1.objectID.key }
        try #require(objects.count == count)
        for (position, object) in objects.enumerated() {
            #expect(object.entity.name == entityName(at: position))
            let values = values(at: position)
            for attribute in object.entity.attributes {
                let expected = values[attribute.name] ?? .null
                #expect(object[attribute: attribute.name] == expected, "\(attribute.name) of \(position)")
            }
            let parent = try object.objectIDs(forRelationshipNamed: "parent")
            #expect(parent == Self.parent(of: position).map { [objects[$0].objectID] } ?? [])
        }
    }
}

// Serialized: two tests may write the same file.
@Suite(.serialized) struct RowGoldenTests {
    private let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
    private var isWriting: Bool { ProcessInfo.processInfo.environment["ESPALIER_WRITE_GOLDEN"] == "1" }

    private func copy(_ format: Int, to target: URL) throws -> String {
        let golden = folder.appending(path: "rows-\(format).espalier")
        if isWriting, format == 2, !FileManager.default.fileExists(atPath: golden.path) {
            try GoldenRows.write(to: golden.path)
            try? FileManager.default.removeItem(atPath: golden.path + "-wal")
        }
        let path = target.appending(path: "rows.espalier").path
        try FileManager.default.copyItem(atPath: golden.path, toPath: path)
        return path
    }

    @Test(arguments: [1, 2])
    func `rows of every format are read, also after they were brought up to date`(_ format: Int) throws {
        try withTemporaryFolder { folder in
            let path = try copy(format, to: folder)
            let store = try BTreeStore.open(path: path, model: try GoldenRows.model())
            try GoldenRows.expect(in: store)
            try store.close()
            let again = try BTreeStore.open(path: path, model: try GoldenRows.model(), isReadOnly: true)
            try GoldenRows.expect(in: again)
            try again.close()
        }
    }

    @Test func `rows of the present format are written as they always were`() throws {
        try withTemporaryFolder { folder in
            let (golden, fresh) = (try copy(2, to: folder), folder.appending(path: "fresh.espalier").path)
            try GoldenRows.write(to: fresh)
            #expect(try rows(golden) == rows(fresh))
        }
    }

    @Test func `a store of the first format is not read without being brought up to date, and says so`() throws {
        try withTemporaryFolder { folder in
            let path = try copy(1, to: folder)
            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: try GoldenRows.model(), isReadOnly: true)
            }
            #expect(error?.description.contains("in format 1; open the store for writing once") == true)
        }
    }

    @Test func `a store of the first format takes a model of other indexes in the same opening`() throws {
        try withTemporaryFolder { folder in
            let path = try copy(1, to: folder)
            var entities = try GoldenRows.model().descriptions
            for slot in [0, 6] { entities[0].attributes[slot].isIndexed.toggle() }
            let store = try BTreeStore.open(path: path, model: try ManagedObjectModel(entities: entities))

            try GoldenRows.expect(in: store)
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `a damaged row of the first format leaves the file as it was`() throws {
        try withTemporaryFolder { folder in
            let path = try copy(1, to: folder)
            let last = try #require(try rows(path).last)
            try put(Array(last.dropLast()), at: UInt64(GoldenRows.count), path)
            let before = try rows(path)
            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: try GoldenRows.model())
            }
            #expect(error?.description.contains("the row is not in format 1") == true)
            #expect(try rows(path) == before)
        }
    }

    @Test func `a cut or changed row of the first format is upgraded or refused, never a trap`() throws {
        try withTemporaryFolder { folder in
            let path = try copy(1, to: folder)
            let untouched = try Data(contentsOf: URL(filePath: path))
            let row = try rows(path)[7]
            // Each attempt upgrades a whole store, so only a few prefixes and bits are tried, those of the head and the
            // ends among them.
            var damaged = stride(from: 0, to: row.count, by: 17).map { Array(row.prefix($0)) }
            let prefixCount = damaged.count
            for offset in Array(0..<14) + Array(stride(from: 14, to: row.count, by: 13)) {
                damaged.append(row)
                damaged[damaged.count - 1][offset] ^= 1 << UInt8(offset % 8)
            }
            var refusedCount = 0
            for bytes in damaged {
                try? FileManager.default.removeItem(atPath: path + "-wal")
                try untouched.write(to: URL(filePath: path))
                try put(bytes, at: 8, path)
                do {
                    let store = try BTreeStore.open(path: path, model: try GoldenRows.model())
                    _ = try store.check()
                    try store.close()
                } catch StoreError.damagedContent(_, let entity, let key, _) {
                    #expect(entity == "Thing" && key == 8)
                    refusedCount += 1
                }
            }
            #expect(refusedCount >= prefixCount)
        }
    }

    /// Writes a row without the store's knowledge.
    private func put(_ row: [UInt8], at key: UInt64, _ path: String) throws {
        let database = try Database.open(path)
        defer { try? database.close() }
        var transaction = try database.beginWrite()
        let tree = try #require(try transaction.tree(named: "rows:Thing", keys: UInt64.self))
        _ = try transaction.put(row, for: key, in: tree)
        try transaction.commit()
    }

    /// The bytes of all rows.
    private func rows(_ path: String) throws -> [[UInt8]] {
        let database = try Database.open(path)
        defer { try? database.close() }
        let read = try database.beginRead()
        let tree = try #require(try read.tree(named: "rows:Thing", keys: UInt64.self))
        return try (1...UInt64(GoldenRows.count)).map { try #require(try read.get($0, from: tree)) }
    }
}
