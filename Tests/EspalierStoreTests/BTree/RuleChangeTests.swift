// A file that is opened with a model of which only delete rules, counts or defaults have changed: they concern saves to
// come, so that the file gets the model and no row changes.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct RuleChangeTests {
    private static func changeDeleteRules(_ entities: inout [EntityDescription]) {
        entities[0].relationships[0].deleteRule = .cascade
        entities[1].relationships[1].deleteRule = .deny
    }

    /// Each artist has four albums, and each album two genres.
    private static func changeCounts(_ entities: inout [EntityDescription]) {
        (entities[0].relationships[0].minCount, entities[0].relationships[0].maxCount) = (4, 4)
        entities[1].relationships[1].maxCount = 2
    }

    private static func changeDefaults(_ entities: inout [EntityDescription]) {
        entities[0].attributes[1].defaultValue = .string("nobody")
        entities[1].attributes[2].defaultValue = .double(9.5)
    }

    private static let changes: [@Sendable (inout [EntityDescription]) -> Void] = [
        { changeDeleteRules(&$0) }, { changeCounts(&$0) }, { changeDefaults(&$0) },
        { entities in
            changeDeleteRules(&entities)
            changeCounts(&entities)
            changeDefaults(&entities)
        },
    ]

    /// Each change with the ways of opening.
    private static let openings: [(Int, MigrationOptions, Bool)] = changes.indices.flatMap { change in
        [MigrationOptions.automatic, .off].flatMap { [(change, $0, false), (change, $0, true)] }
    }

    @Test(arguments: openings)
    func `other delete rules, counts and defaults open every store, and no row changes`(
        change: Int, migration: MigrationOptions, isReadOnly: Bool
    ) throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let old = try BTreeStore.openWithStoredModel(path: path)
            let before = try GraphDump(old)
            try old.close()
            let model = try MigrationLibrary.model(Self.changes[change])
            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)
            #expect(plan.refusal == nil && plan.outcome?.isConstantTime == true && !plan.difference.isEmpty)
            let bytes = try Data(contentsOf: URL(filePath: path))

            let store = try BTreeStore.open(path: path, model: model, isReadOnly: isReadOnly, migration: migration)

            #expect(store.model.descriptions == model.descriptions)
            #expect(try GraphDump(store) == before && store.check().isOK)
            try store.close()
            let again = try BTreeStore.openWithStoredModel(path: path)
            #expect(again.model.descriptions == (isReadOnly ? MigrationLibrary.library() : model.descriptions))
            #expect(try GraphDump(again) == before && again.check().isOK && again.database.check().isOK)
            try again.close()
            if isReadOnly { #expect(try Data(contentsOf: URL(filePath: path)) == bytes) }
        }
    }

    @Test(arguments: [false, true])
    func `rows keep the default that an attribute had when it was new, also when they are rewritten later`(
        isMigratedAlone: Bool
    ) throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            func model(_ format: String, priceType: AttributeType = .double) throws -> ManagedObjectModel {
                try MigrationLibrary.model { entities in
                    entities[1].attributes[2].type = priceType
                    entities[1].attributes.append(
                        AttributeDescription("format", .string, isOptional: false, defaultValue: .string(format)))
                }
            }
            try BTreeStore.open(path: path, model: try model("CD")).close()

            if isMigratedAlone { _ = try BTreeStore.migrate(at: path, to: try model("LP")) }
            let store = try BTreeStore.open(path: path, model: try model("LP"))
            #expect(try GraphDump(store).rows(of: "Album").values.allSatisfy { $0.values["format"] == .string("CD") })
            try store.close()
            let last = try BTreeStore.open(path: path, model: try model("MC", priceType: .string))

            let albums = try GraphDump(last).rows(of: "Album").values
            #expect(albums.count == 12 && albums.allSatisfy { $0.values["format"] == .string("CD") })
            #expect(try last.check().isOK)
            try last.close()
        }
    }
}
