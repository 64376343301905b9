// Lists that get the members of another list, because the relationships that lead back have become one.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct UnitedListTests {
    /// Tracks and bonuses of albums, in a list each; or in one list, which continues the tracks.
    private static func model(isUnited: Bool) throws -> ManagedObjectModel {
        func album(_ list: String) -> RelationshipDescription {
            RelationshipDescription("album", to: "Album", inverse: list)
        }
        let apart = [
            RelationshipDescription("tracks", to: "Track", inverse: "album", .ordered),
            RelationshipDescription("bonuses", to: "Bonus", inverse: "album", .toMany),
        ]
        let united = RelationshipDescription(
            "items", to: "Item", inverse: "album", .ordered, renamingIdentifier: "tracks")
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Item", isAbstract: true, attributes: [AttributeDescription("serial", .integer64)],
                relationships: isUnited ? [album("items")] : []),
            EntityDescription("Track", superentity: "Item", relationships: isUnited ? [] : [album("tracks")]),
            EntityDescription("Bonus", superentity: "Item", relationships: isUnited ? [] : [album("bonuses")]),
            EntityDescription(
                "Album", attributes: [AttributeDescription("serialA", .integer64)],
                relationships: isUnited ? [united] : apart),
        ])
    }

    @Test func `an ordered list that gets the members of another one keeps its order, and tells that it is rewritten`()
        throws
    {
        try withStorePath { path in
            let (former, model) = (try Self.model(isUnited: false), try Self.model(isUnited: true))
            let store = try BTreeStore.open(path: path, model: former)
            var graph = GraphInsertion(former)
            try graph.add(1, "Album")
            for serial in 11...13 as ClosedRange<Int64> { try graph.add(serial, "Track", to: ["album": 1]) }
            for serial in 21...22 as ClosedRange<Int64> { try graph.add(serial, "Bonus", to: ["album": 1]) }
            try graph.link(1, "tracks", [13, 11, 12])
            try graph.save(in: store)
            #expect(try GraphDump(store).list(1, "tracks") == [13, 11, 12])
            try store.close()

            let plan = try BTreeStore.migrate(at: path, to: model)

            #expect(plan.difference.losses == [])
            let moved = plan.difference.changes.filter { if case .propertyMoved = $0.kind { true } else { false } }
            #expect(moved.map(\.subject) == ["Item.album"] && moved.map(\.cost) == [.rewrite])
            let migrated = try BTreeStore.open(path: path, model: model, migration: .off)
            let report = try migrated.check()
            #expect(report.findings.map(\.description) == [] && report.dangling.isEmpty)
            let dump = try GraphDump(migrated)
            #expect(dump.list(1, "items") == [13, 11, 12, 21, 22])
            for serial in [11, 12, 13, 21, 22] as [Int64] { #expect(dump.reference(serial, "album") == 1) }
            try migrated.close()
        }
    }
}
