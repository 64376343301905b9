// New attributes with default values: no row is written, and every way to read a row finds the value.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct DefaultRowTests {
    /// A default value of each type, with numbers of all widths and text beyond ASCII.
    private static let defaults: [(type: AttributeType, value: AttributeValue)] = [
        (.integer16, .integer(-7)), (.integer32, .integer(70_000)), (.integer64, .integer(.min)),
        (.integer64, .integer(3)), (.decimal, .decimal(Decimal(string: "1.50") ?? 0)), (.double, .double(0.5)),
        (.float, .float(-2.25)), (.boolean, .boolean(true)), (.string, .string("Größe 大きさ 🎻")),
        (.string, .string("")), (.date, .date(Date(timeIntervalSinceReferenceDate: 1_000_000.5))),
        (.binary, .binary(Data([0, 1, 255]))),
        (.uuid, .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6)))),
        (.string, .string(String(repeating: "ß", count: 100_000))),
    ]

    private static func model(
        _ attributes: [AttributeDescription], unique: [[String]] = [], name: String = "もの", former: String? = nil
    ) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                name, attributes: [AttributeDescription("serial", .integer64)] + attributes,
                uniquenessConstraints: unique, renamingIdentifier: former)
        ])
    }

    private static func added(_ name: String, _ value: AttributeValue, _ type: AttributeType) -> AttributeDescription {
        AttributeDescription(name, type, isOptional: false, defaultValue: value)
    }

    private static func insert(_ serials: ClosedRange<Int64>, _ values: [String: AttributeValue], _ store: BTreeStore)
        throws
    {
        var graph = GraphInsertion(store.model)
        for serial in serials { try graph.add(serial, store.model.entities[0].name, values) }
        try graph.save(in: store)
    }

    private static func found(_ format: String, _ store: BTreeStore) throws -> Int {
        let entity = store.model.entities[0]
        let predicate = try ResolvedPredicate(FetchPredicate(format: format), for: entity, in: store.model)
        return try store.count(StoreFetch(entity: entity, predicate: predicate))
    }

    @Test(arguments: [0, 1, 300])
    func `defaults of every type reach every row, and no row is written`(count: Int) throws {
        try withStorePath { path in
            let old = try BTreeStore.open(path: path, model: Self.model([]), options: .small)
            if count > 0 { try Self.insert(1...Int64(count), [:], old) }
            try old.close()
            let attributes = Self.defaults.enumerated().map { Self.added("a\($0)", $1.value, $1.type) }
            let model = try Self.model(attributes)

            let plan = try BTreeStore.migrate(at: path, to: model)

            #expect(plan.difference.isConstantTime && plan.outcome?.isConstantTime == true)
            let store = try BTreeStore.open(path: path, model: model, options: .small)
            let rows = try GraphDump(store).rows
            #expect(rows.count == count)
            for (number, expected) in Self.defaults.enumerated() {
                #expect(rows.values.allSatisfy { $0.values["a\(number)"] == expected.value }, "attribute \(number)")
            }
            #expect(try store.check().isOK && store.database.check().isOK)
            try store.close()
        }
    }

    @Test func `rows of three generations are found, sorted, indexed and saved with their defaults`() throws {
        try withStorePath { path in
            let first = try BTreeStore.open(path: path, model: Self.model([]))
            try Self.insert(1...3, [:], first)
            try first.close()
            let title = Self.added("title", .string("b"), .string)
            let second = try BTreeStore.open(path: path, model: Self.model([title]))
            try Self.insert(4...5, ["title": .string("a")], second)
            try second.close()
            var renamed = Self.added("名", .string("b"), .string)
            (renamed.renamingIdentifier, renamed.isIndexed) = ("title", true)
            let rank = Self.added("rank", .integer(7), .integer64)

            let store = try BTreeStore.open(path: path, model: Self.model([renamed, rank]))

            try Self.insert(6...6, ["名": .string("c"), "rank": .integer(8)], store)
            #expect(try Self.found("名 == 'b'", store) == 3 && Self.found("名 != 'b'", store) == 3)
            #expect(try Self.found("名 == 'a' AND rank == 7", store) == 2 && Self.found("rank > 7", store) == 1)
            #expect(try Self.found("rank == nil OR 名 == nil", store) == 0)
            #expect(try Self.found("名 BEGINSWITH[c] 'B'", store) == 3)
            let entity = store.model.entities[0]
            let sort = try ResolvedSortKey(SortKey("名", ascending: false), for: entity, in: store.model)
            let sorted = try store.snapshot().fetch(StoreFetch(entity: entity, sort: [sort])).map { $0.value(at: 0) }
            #expect(sorted == [6, 1, 2, 3, 4, 5].map { .integer($0) })
            let id = try #require(try store.fetchIDs(StoreFetch(entity: entity)).first)
            var update = SaveRequest.Update(id: id, expectedVersion: 1)
            update.values = [(0, .integer(91))]
            var request = SaveRequest()
            request.updates = [update]
            _ = try store.save(request)
            #expect(try GraphDump(store).rows[91]?.values == ["名": .string("b"), "rank": .integer(7)])
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `an attribute with a default that goes and comes back has the new default only`() throws {
        try withStorePath { path in
            let first = try BTreeStore.open(path: path, model: Self.model([]))
            try Self.insert(1...2, [:], first)
            try first.close()
            try BTreeStore.open(path: path, model: Self.model([Self.added("a", .integer(1), .integer64)])).close()
            let allowed = MigrationOptions(allowing: [.removal(of: "もの.a")])
            try BTreeStore.open(path: path, model: Self.model([]), migration: allowed).close()

            let plain = try BTreeStore.open(path: path, model: Self.model([AttributeDescription("a", .integer64)]))
            #expect(try GraphDump(plain).rows.values.allSatisfy { $0.values["a"] == .null })
            try plain.close()
            try BTreeStore.open(path: path, model: Self.model([]), migration: allowed).close()

            let model = try Self.model([Self.added("a", .integer(2), .integer64)])
            let store = try BTreeStore.open(path: path, model: model)
            #expect(try GraphDump(store).rows.values.allSatisfy { $0.values["a"] == .integer(2) })
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `a default that must be unique is refused with the rows that would share it`() throws {
        try withStorePath { path in
            let first = try BTreeStore.open(path: path, model: Self.model([]))
            try Self.insert(1...2, [:], first)
            try first.close()
            let model = try Self.model([Self.added("code", .string("x"), .string)], unique: [["code"]])

            let error = #expect(throws: StoreError.self) { try BTreeStore.open(path: path, model: model) }

            guard case .migrationRefused(_, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.failures.map(\.reason) == [.notUnique(["code"])])
            try BTreeStore.open(path: path, model: Self.model([])).close()
        }
    }

    /// Changes of the bytes of a record, and whether they leave a possible record.
    @Test(arguments: [-1, 0, 1, 2])
    func `a default row with impossible bytes is a typed error`(_ place: Int) throws {
        try withStorePath { path in
            let first = try BTreeStore.open(path: path, model: Self.model([]))
            try Self.insert(1...2, [:], first)
            try first.close()
            let model = try Self.model([Self.added("a", .string("abc"), .string)])
            try BTreeStore.open(path: path, model: model).close()
            var options = DatabaseOptions()
            options.applicationID = BTreeStore.applicationID
            let database = try Database.open(path, options: options)
            var transaction = try database.beginWrite()
            let records = try #require(try transaction.tree(named: "schema", keys: [UInt8].self))
            let key = bytes("layout:1")
            var record = try #require(try transaction.get(key, from: records))
            // The default row follows the only field, `serial`.
            let start = 4 + 4 + 6
            switch place {
            case -1: record.removeLast()
            case 0: record[start] = 0xFF
            case 1: record[start + 1] = 9
            default: record.append(1)
            }
            _ = try transaction.put(record, for: key, in: records)
            try transaction.commit()
            try database.close()

            let error = #expect(throws: StoreError.self) { try BTreeStore.open(path: path, model: model) }

            #expect("\(String(describing: error))".contains("the default row of layout 1 is not valid"))
        }
    }
}
