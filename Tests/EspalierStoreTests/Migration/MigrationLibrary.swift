// A small library whose model the tests change, and the conditions that every migration of it must meet.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

enum MigrationLibrary {
    /// Artists with ordered albums, a many-to-many relationship to genres, and notes without an inverse.
    static func library() -> [EntityDescription] {
        [
            EntityDescription(
                "Artist",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("name", .string, isIndexed: true),
                    AttributeDescription("born", .integer16),
                ],
                relationships: [
                    RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered),
                    RelationshipDescription("notes", to: "Note", .toMany),
                ]),
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("title", .string),
                    AttributeDescription("price", .double),
                ],
                relationships: [
                    RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                    RelationshipDescription("genres", to: "Genre", inverse: "albums", .toMany),
                ], indexes: [.init("byArtist", on: [.init("artist"), .init("title")])]),
            EntityDescription(
                "Genre", attributes: [AttributeDescription("serial", .integer64)],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "genres", .toMany)]),
            EntityDescription(
                "Note",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("text", .string)]),
        ]
    }

    /// A closed file: artists 1 to 3, albums 11 to 22, genres 31 to 33, notes 41 to 44.
    static func makeStore(
        at path: String, _ entities: [EntityDescription] = library(), genresPerAlbum: Int = 2
    ) throws {
        let model = try ManagedObjectModel(entities: entities)
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        for serial in 1...3 as ClosedRange<Int64> {
            try graph.add(serial, "Artist", ["name": .string("artist \(serial)"), "born": .integer(1900 + serial)])
        }
        for serial in 31...33 as ClosedRange<Int64> { try graph.add(serial, "Genre") }
        for serial in 41...44 as ClosedRange<Int64> { try graph.add(serial, "Note", ["text": .string("\(serial)")]) }
        for serial in 11...22 as ClosedRange<Int64> {
            try graph.add(
                serial, "Album", ["title": .string("album \(serial)"), "price": .double(Double(serial) / 2)],
                to: ["artist": serial % 3 + 1])
            try graph.link(serial, "genres", (0..<Int64(genresPerAlbum)).map { 31 + (serial + $0) % 3 })
        }
        try graph.link(1, "notes", [41, 42])
        try graph.link(2, "notes", [42])
        try graph.save(in: store)
        try store.close()
    }

    static func model(_ change: (inout [EntityDescription]) -> Void) throws -> ManagedObjectModel {
        var entities = library()
        change(&entities)
        return try ManagedObjectModel(entities: entities)
    }

    /// Migrates a new store, checks its pages and its content, and passes the dumps before and after to `look`.
    static func migrating(
        _ change: (inout [EntityDescription]) -> Void, allowing: Set<MigrationLoss> = [], genresPerAlbum: Int = 2,
        _ look: (_ before: GraphDump, _ after: GraphDump, _ plan: MigrationPlan) throws -> Void
    ) throws {
        try withStorePath { path in
            try makeStore(at: path, genresPerAlbum: genresPerAlbum)
            let old = try BTreeStore.openWithStoredModel(path: path)
            let before = try GraphDump(old)
            try old.close()
            let model = try model(change)
            let migration = MigrationOptions(allowing: allowing)
            let tried = try BTreeStore.migrationPlan(at: path, to: model, migration: migration, checkingRows: true)

            let plan = try BTreeStore.migrate(at: path, to: model, migration: migration)

            #expect(tried.outcome == plan.outcome && tried.refusal == nil && tried.steps == plan.steps)
            if plan.difference.isConstantTime { #expect(plan.outcome?.isConstantTime == true) }
            let store = try BTreeStore.open(path: path, model: model)
            #expect(store.model.descriptions == model.descriptions)
            #expect(try store.check().findings.map(\.description) == [] && store.database.check().isOK)
            #expect(try store.check().dangling.isEmpty)
            try look(before, try GraphDump(store), plan)
            try store.close()
            let again = try BTreeStore.openWithStoredModel(path: path)
            #expect(try again.check().isOK)
            try again.close()
        }
    }

    /// The reason for which a store refuses a model, or `nil`; expects that the file is unchanged.
    static func refusal(
        of change: (inout [EntityDescription]) -> Void, allowing: Set<MigrationLoss> = [], genresPerAlbum: Int = 2
    ) throws -> MigrationRefusal? {
        try withStorePath { path in
            try makeStore(at: path, genresPerAlbum: genresPerAlbum)
            let bytes = try Data(contentsOf: URL(filePath: path))
            let model = try model(change)
            var found: MigrationRefusal?
            let migration = MigrationOptions(allowing: allowing)
            do throws(StoreError) {
                try BTreeStore.open(path: path, model: model, migration: migration).close()
            } catch {
                if case .migrationRefused(path, let refusal) = error { found = refusal }
            }
            let tried = try BTreeStore.migrationPlan(at: path, to: model, migration: migration, checkingRows: true)
            #expect(tried.refusal == found)
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(store.model.descriptions == library())
            #expect(try store.check().isOK)
            try store.close()
            #expect(try Data(contentsOf: URL(filePath: path)).count == bytes.count)
            return found
        }
    }
}
