// Entities that get another superentity, and superentities that go: rows, inherited values, indexes and costs.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct HierarchyChangeTests {
    private static let serial = AttributeDescription("serial", .integer64)
    private static let name = AttributeDescription("name", .string, isIndexed: true)
    private static let weight = AttributeDescription("weight", .integer32, defaultValue: .integer(1), isIndexed: true)

    /// Things with a name, of which goods have a weight, and boxes a size; crates are boxes.
    private static func things(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription("Thing", attributes: [serial, name]),
            EntityDescription("Good", superentity: "Thing", attributes: [weight]),
            EntityDescription("Box", superentity: "Thing", attributes: [AttributeDescription("size", .integer32)]),
            EntityDescription("Crate", superentity: "Box"),
            EntityDescription(
                "Owner", attributes: [AttributeDescription("serialO", .integer64)],
                relationships: [RelationshipDescription("boxes", to: "Box", .ordered)]),
        ]
        change(&entities)
        return try ManagedObjectModel(entities: entities)
    }

    /// A closed file with one row of each entity, by the serial numbers 1 to 5; the owner has the crate and the box.
    private static func makeStore(at path: String) throws -> GraphDump {
        let model = try things()
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        try graph.add(1, "Thing", ["name": .string("thing")])
        try graph.add(2, "Good", ["name": .string("good"), "weight": .integer(7)])
        try graph.add(3, "Box", ["name": .string("box"), "size": .integer(3)])
        try graph.add(4, "Crate", ["name": .string("crate"), "size": .integer(4)])
        try graph.add(5, "Owner")
        try graph.link(5, "boxes", [4, 3])
        try graph.save(in: store)
        let dump = try GraphDump(store)
        try store.close()
        return dump
    }

    /// Migrates a new store, and expects that its checks find nothing.
    private static func migrating(
        _ change: (inout [EntityDescription]) -> Void, allowing losses: Set<MigrationLoss> = []
    ) throws -> (before: GraphDump, after: GraphDump, plan: MigrationPlan) {
        try withStorePath { path in
            let before = try makeStore(at: path)
            let model = try things(change)
            #expect(Set(ModelDifference(from: try things(), to: model).losses) == losses)

            let plan = try BTreeStore.migrate(at: path, to: model, migration: MigrationOptions(allowing: losses))

            let store = try BTreeStore.open(path: path, model: model, migration: .off)
            let report = try store.check()
            #expect(report.findings.map(\.description) == [] && report.dangling.isEmpty)
            let after = try GraphDump(store)
            try store.close()
            return (before, after, plan)
        }
    }

    @Test func `an entity that moves below another one of its hierarchy gets its values, and joins its index`() throws {
        let (before, after, plan) = try Self.migrating { $0[2].superentity = "Good" }

        for (serial, row) in before.rows {
            var expected = row
            if serial == 3 || serial == 4 { expected.values["weight"] = .integer(1) }
            #expect(after.rows[serial] == expected)
        }
        #expect(
            plan.difference.changes.map(\.description) == [
                "Box: inherits from Good, before it inherited from Thing (builds an index of the rows of Box, Crate)"
            ])
        #expect(plan.outcome?.indexesBuilt == 1 && plan.outcome?.rowsWritten == 0)
    }

    @Test func `an entity that leaves its hierarchy and declares what it had inherited keeps everything`() throws {
        let (before, after, plan) = try Self.migrating { entities in
            entities[2].superentity = nil
            entities[2].attributes += [Self.serial, Self.name]
        }

        #expect(after == before)
        #expect(plan.outcome?.rowsMoved == 2 && plan.difference.losses.isEmpty)
    }

    @Test func `an entity that leaves a superentity loses by name what it does not declare itself`() throws {
        let (before, after, _) = try Self.migrating(
            { entities in
                entities[2].superentity = nil
                entities[2].attributes.append(Self.serial)
            }, allowing: [.removal(of: "Thing.name")])

        for (serial, row) in before.rows {
            var expected = row
            if serial == 3 || serial == 4 { expected.values["name"] = nil }
            #expect(after.rows[serial] == expected)
        }
    }

    @Test func `a superentity that goes takes its own rows along, and leaves what others have inherited`() throws {
        let (before, after, plan) = try Self.migrating(
            { entities in
                for position in [1, 2] {
                    entities[position].superentity = nil
                    entities[position].attributes += [Self.serial, Self.name]
                }
                entities.removeFirst()
            }, allowing: [.removal(of: "Thing")])

        var expected = before
        expected.rows[1] = nil
        #expect(after == expected)
        #expect(plan.outcome?.rowsRemoved == 1)
    }

    @Test func `an entity below one of another hierarchy keeps its rows, and what leads to it`() throws {
        let (before, after, plan) = try Self.migrating { entities in
            entities[2].superentity = "Owner"
            entities[2].attributes += [Self.serial, Self.name]
        }

        for (serial, row) in before.rows {
            var expected = row
            if serial == 3 || serial == 4 { expected.lists["boxes"] = [] }
            #expect(after.rows[serial] == expected)
        }
        #expect(plan.outcome?.rowsMoved == 2)
    }
}
