// Files of an older library, whose models have conditions that stores no longer keep.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct OldConditionTests {
    /// Bands that count the albums for which a condition holds, and an index of these albums.
    private static func model(
        _ indexed: String, counted: String, judgesKeeping: Bool = true
    ) throws -> ManagedObjectModel {
        let entities = [
            EntityDescription(
                "Band",
                attributes: [
                    AttributeDescription("serial", .integer64),
                    AttributeDescription("albumCount", .integer64, derivation: .count(of: "albums", where: counted)),
                ],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "band", .toMany)]),
            EntityDescription(
                "Album",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("title", .string)],
                relationships: [RelationshipDescription("band", to: "Band", inverse: "albums")],
                indexes: [EntityDescription.Index("some", on: [.init("title")], predicateFormat: indexed)]),
        ]
        return try ManagedObjectModel(
            entities: entities, versionIdentifiers: [], classes: [:], judgesKeeping: judgesKeeping)
    }

    @Test(arguments: [
        ("title MATCHES 'a.*'", false), ("characterCount(title) < 4", false), ("title CONTAINS[w] 'a0'", false),
        ("title LIKE 'a*'", true),
    ]) func `an index with a condition that stores no longer keep answers no fetch`(
        condition: String, isKept: Bool
    ) throws {
        let model = try Self.model(condition, counted: "title BEGINSWITH 'a'", judgesKeeping: false)
        let fixture = try StoreFixture(.treeInMemory, model)
        var request = SaveRequest()
        for number in 0..<200 {
            let title = number < 3 ? "a\(number)" : "record \(number)"
            request.insertions.append(try fixture.insertion("Album", ["title": .string(title)]))
        }
        _ = try fixture.store.save(request)
        let fetch = try fixture.request("Album", FetchPredicate(format: condition))

        let first = try #require(try fixture.store.explain(fetch).first)

        #expect(first.contains("index:Album.some") == isKept, "\(first)")
        #expect(try fixture.store.count(fetch) == (condition.contains("[w]") ? 1 : 3))
    }

    /// A closed file with a model that no application can make any more, and a binary file with the same content.
    private static func makeFiles(at path: String, _ model: ManagedObjectModel) throws {
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        try graph.add(1, "Band")
        for serial in 11...16 as ClosedRange<Int64> {
            let title = serial % 3 == 0 ? "album \(serial)" : "record \(serial)"
            try graph.add(serial, "Album", ["title": .string(title)], to: ["band": 1])
        }
        try graph.save(in: store)
        let binary = try StoreType.open(StoreOpening(.binary, model: model, path: path + ".bin"))
        try store.copy(to: binary)
        try binary.close()
        try store.close()
    }

    @Test(arguments: [
        ("title MATCHES 'a.*'", "title MATCHES 'a.*'", "title LIKE 'a*'"),
        ("title BEGINSWITH 'a'", "characterCount(title) < 9", "title BEGINSWITH 'a'"),
        ("title BEGINSWITH 'a'", "title CONTAINS[w] 'alb'", "title BEGINSWITH 'a'"),
    ])
    func `a file with a condition that stores no longer keep opens, and takes a corrected model`(
        indexed: String, counted: String, corrected: String
    ) throws {
        try withStorePath { path in
            try Self.makeFiles(at: path, Self.model(indexed, counted: counted, judgesKeeping: false))
            #expect(throws: ModelError.self) { try Self.model(indexed, counted: counted) }
            let model = try Self.model(corrected, counted: corrected)

            let old = try BTreeStore.openWithStoredModel(path: path)
            #expect(try GraphDump(old).value(1, "albumCount") == .integer(2))
            #expect(try old.check().findings.map(\.description) == [])
            try old.close()
            let plan = try BTreeStore.migrate(at: path, to: model)
            let store = try BTreeStore.open(path: path, model: model, migration: .off)
            let binary = try StoreType.open(StoreOpening(.binary, model: model, path: path + ".bin"))

            #expect(plan.outcome?.indexesBuilt == (indexed == corrected ? 0 : 1))
            #expect(try store.check().findings.map(\.description) == [])
            #expect(try GraphDump(store).value(1, "albumCount") == .integer(2))
            #expect(try GraphDump(binary) == GraphDump(store))
            try binary.close()
            try store.close()
        }
    }
}
