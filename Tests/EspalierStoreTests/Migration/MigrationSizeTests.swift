// Migrations of large and small stores with names in any script: no row at all, every width of numbers, a value of
// 30 MB.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MigrationSizeTests {
    private static let numbers: [Int64] = [
        0, -1, 127, 128, -128, -129, 32_767, 32_768, 1 << 31, -(1 << 31) - 1, 1 << 53, .max, .min,
    ]
    private static let texts = ["", "é", "Größe 大きさ 🎻", String(repeating: "ß", count: 15_000_000)]

    /// The first or the second version of a model; the second renames, retypes, and adds an attribute with a default.
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        var attributes = [
            AttributeDescription("zahl", isNew ? .string : .integer64),
            AttributeDescription(isNew ? "大きさ" : "Größe", .string, renamingIdentifier: "Größe"),
        ]
        if isNew {
            attributes.append(
                AttributeDescription("neu", .integer32, isOptional: false, defaultValue: .integer(70_000)))
        }
        return try ManagedObjectModel(entities: [
            EntityDescription(isNew ? "もの" : "Sache", attributes: attributes, renamingIdentifier: "Sache")
        ])
    }

    @Test(arguments: [0, 1, 300])
    func `rows of every size arrive with every value, and a store that is opened again has them`(_ count: Int) throws {
        try withStorePath { path in
            let values = (0..<count).map { number -> [AttributeValue] in
                let text = number < Self.texts.count ? Self.texts[number] : "\(number)"
                return [.integer(Self.numbers[number % Self.numbers.count]), .string(text)]
            }
            let old = try BTreeStore.open(path: path, model: Self.model(isNew: false))
            var request = SaveRequest()
            for row in values {
                request.insertions.append(
                    .init(id: ObjectID(temporaryFor: "Sache"), values: row, destinations: []))
            }
            _ = try old.save(request)
            try old.close()

            try BTreeStore.open(path: path, model: Self.model(isNew: true)).close()

            let store = try BTreeStore.open(path: path, model: Self.model(isNew: true))
            let entity = try #require(store.model.entity(named: "もの"))
            let rows = try store.snapshots(of: store.fetchIDs(StoreFetch(entity: entity)))
            #expect(rows.count == count)
            for (row, former) in zip(rows, values) {
                guard case .integer(let number) = former[0] else { continue }
                #expect(row?.value(at: 0) == .string("\(number)"))
                #expect(row?.value(at: 1) == former[1])
                #expect(row?.value(at: 2) == .integer(70_000))
            }
            let (pages, report) = (try store.database.check(), try store.check())
            #expect(pages.isOK && report.isOK)
            try store.close()
        }
    }
}
