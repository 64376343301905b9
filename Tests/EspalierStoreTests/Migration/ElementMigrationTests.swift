// Elements of composites that are required, named, filled or lost otherwise than before: values, rows that do not fit,
// and stores that may not be migrated.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ElementMigrationTests {
    private static let zip = AttributeDescription("zip", .integer32)
    private static let town = AttributeDescription("town", .string)

    /// People with a home; an index has the towns.
    private static func model(
        _ elements: [AttributeDescription], indexed: String = "town"
    ) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Person",
                attributes: [
                    AttributeDescription("serial", .integer64),
                    AttributeDescription("home", .composite, elements: elements),
                ], indexes: [EntityDescription.Index("byTown", on: [.init("home.\(indexed)")])])
        ])
    }

    /// A closed file with person 1, whose home has a zip code, person 2, whose home has none, and person 3 without a
    /// home.
    private static func makeStore(at path: String, hasZip: Bool = true) throws {
        let model = try model(hasZip ? [zip, town] : [town])
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        let oslo: [String: AttributeValue] = ["town": .string("Oslo")]
        try graph.add(
            1, "Person", ["home": .composite(hasZip ? oslo.merging(["zip": .integer(123)]) { $1 } : oslo)])
        try graph.add(2, "Person", ["home": .composite(["town": .string("Rome")])])
        try graph.add(3, "Person")
        try graph.save(in: store)
        try store.close()
    }

    /// The homes of the persons; expects that a check finds nothing.
    private static func homes(
        at path: String, _ model: ManagedObjectModel, _ migration: MigrationOptions = .automatic
    ) throws -> [AttributeValue] {
        let store = try BTreeStore.open(path: path, model: model, migration: migration)
        #expect(try store.check().findings.map(\.description) == [])
        let dump = try GraphDump(store)
        try store.close()
        return (1...3).map { dump.value($0, "home") }
    }

    private static func reason(_ body: () throws -> Void) -> String? {
        do throws(any Error) { try body() } catch {
            if case .incompatibleModel(_, let reason)? = error as? StoreError { return reason }
        }
        return nil
    }

    @Test(arguments: [false, true])
    func `an element that must have a value now, or is new and must have one, is refused with the rows that lack it`(
        isNew: Bool
    ) throws {
        try withStorePath { path in
            let required = AttributeDescription("zip", .integer32, isOptional: false)
            try Self.makeStore(at: path, hasZip: !isNew)
            let model = try Self.model([required, Self.town])

            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)
            let unread = Self.reason { try BTreeStore.open(path: path, model: model, isReadOnly: true).close() }
            let fixed = Self.reason { try BTreeStore.open(path: path, model: model, migration: .off).close() }

            let failure = try #require(plan.refusal?.failures.first)
            #expect(plan.refusal?.failures.count == 1 && plan.refusal?.losses == [])
            #expect(failure.subject == "Person.home.zip" && failure.reason == .noValue)
            #expect(failure.objects.map(\.key) == (isNew ? [1, 2] : [2]))
            #expect(plan.steps.map(\.change.subject) == ["Person.home.zip"])
            #expect(plan.steps.map(\.change.cost) == [.check] && plan.steps.map(\.rowCount) == [3])
            #expect(throws: StoreError.self) { try BTreeStore.open(path: path, model: model) }
            let refusal = isNew ? "attribute home differs" : "home.zip must now have a value"
            #expect(unread?.contains(refusal) == true && fixed?.contains(refusal) == true)
            #expect(try Self.homes(at: path, Self.model(isNew ? [Self.town] : [Self.zip, Self.town])).count == 3)
        }
    }

    @Test(arguments: [false, true])
    func `an element that is required or new, and has a default, gets it where it has no value`(isNew: Bool) throws {
        try withStorePath { path in
            try Self.makeStore(at: path, hasZip: !isNew)
            let filled = AttributeDescription("zip", .integer32, isOptional: isNew, defaultValue: .integer(7))
            let model = try Self.model([filled, Self.town])

            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)

            #expect(plan.refusal == nil && plan.steps.contains { $0.change.cost == .rewrite })
            #expect(
                try Self.homes(at: path, model) == [
                    .composite(["zip": .integer(isNew ? 7 : 123), "town": .string("Oslo")]),
                    .composite(["zip": .integer(7), "town": .string("Rome")]), .null,
                ])
            #expect(try Self.homes(at: path, model, .off).count == 3)
        }
    }

    @Test func `an element that has another name keeps its values and its index, and is no loss (MD-33)`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let city = AttributeDescription("city", .string, renamingIdentifier: "town")
            let model = try Self.model([city, Self.zip], indexed: "city")

            let plan = try BTreeStore.migrate(at: path, to: model)

            #expect(plan.difference.losses == [])
            #expect(plan.difference.changes.map(\.kind) == [.propertyRenamed(from: "town")])
            #expect(
                try Self.homes(at: path, model, .off) == [
                    .composite(["zip": .integer(123), "city": .string("Oslo")]), .composite(["city": .string("Rome")]),
                    .null,
                ])
            let store = try BTreeStore.open(path: path, model: model)
            let person = try #require(model.entity(named: "Person"))
            let predicate = try ResolvedPredicate(FetchPredicate(format: "home.city == 'Rome'"), for: person, in: model)
            #expect(try store.fetchIDs(StoreFetch(entity: person, predicate: predicate)).map(\.key) == [2])
            try store.close()
            // The old name again: nothing is lost either.
            #expect(try BTreeStore.migrate(at: path, to: Self.model([Self.zip, Self.town])).difference.losses == [])
        }
    }

    @Test func `elements that exchange their names exchange values, and are refused where nothing may be migrated`()
        throws
    {
        try withStorePath { path in
            func model(isExchanged: Bool) throws -> ManagedObjectModel {
                try Self.model([
                    AttributeDescription("town", .string, renamingIdentifier: isExchanged ? "street" : nil),
                    AttributeDescription("street", .string, renamingIdentifier: isExchanged ? "town" : nil),
                ])
            }
            let (older, newer) = (try model(isExchanged: false), try model(isExchanged: true))
            let store = try BTreeStore.open(path: path, model: older)
            var graph = GraphInsertion(older)
            for serial in 1...3 as ClosedRange<Int64> {
                try graph.add(
                    serial, "Person", ["home": .composite(["town": .string("\(serial)"), "street": .string("s")])])
            }
            try graph.save(in: store)
            try store.close()

            let refused = Self.reason { try BTreeStore.open(path: path, model: newer, migration: .off).close() }

            #expect(
                refused?.hasPrefix(
                    "the model differs: entity Person: element home.town was called street, element home.street was "
                        + "called town; ") == true)
            let expected = (1...3).map { serial in
                AttributeValue.composite(["street": .string("\(serial)"), "town": .string("s")])
            }
            #expect(try Self.homes(at: path, newer) == expected)
        }
    }

    @Test func `elements in another order are the same model`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)

            #expect(try Self.homes(at: path, Self.model([Self.town, Self.zip]), .off).count == 3)
        }
    }

    @Test func `an element that goes from a composite within a composite is a loss by its path (MG-05)`() throws {
        func elements(_ names: [String]) -> [AttributeDescription] {
            let parts = names.map { AttributeDescription($0, .double) }
            return [Self.town, AttributeDescription("place", .composite, elements: parts)]
        }
        try withStorePath { path in
            let older = try Self.model(elements(["x", "y"]))
            let store = try BTreeStore.open(path: path, model: older)
            var graph = GraphInsertion(older)
            for serial in 1...3 as ClosedRange<Int64> {
                let place = AttributeValue.composite(["x": .double(1), "y": .double(2)])
                try graph.add(serial, "Person", ["home": .composite(["town": .string("Oslo"), "place": place])])
            }
            try graph.save(in: store)
            try store.close()
            let newer = try Self.model(elements(["x"]))
            let loss = MigrationLoss.removal(of: "Person.home.place.y")

            let refused = try BTreeStore.migrationPlan(at: path, to: newer).refusal

            #expect(refused == MigrationRefusal(losses: [loss]))
            let homes = try Self.homes(at: path, newer, MigrationOptions(allowing: [loss]))
            let home = AttributeValue.composite(["town": .string("Oslo"), "place": .composite(["x": .double(1)])])
            #expect(homes == [home, home, home])
        }
    }
}
