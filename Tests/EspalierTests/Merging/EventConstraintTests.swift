// The early check of unique values with each event: who is told, of what, and when.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct EventConstraintTests {
    /// The messages of an observed context.
    private final class Told {
        var conflicts: [UniquenessConflict] = []
        private var token: ObservationToken?

        init(_ context: ManagedObjectContext) {
            token = context.addObserver(for: ManagedObjectContext.DidBreakConstraintsMessage.self) { [unowned self] in
                conflicts += $0.conflicts
            }
        }

        func end() { token = nil }

        /// The conflicts since the last call, in short.
        func take() -> [String] {
            defer { conflicts = [] }
            return conflicts.map { "\($0.properties.joined()) \($0.objects.count) \($0.stored == nil ? "-" : "row")" }
        }
    }

    private func list(_ kind: StoreKind) throws -> GuestList { try GuestList(kind, declared: [:]) }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `an event that takes a unique value is told with the objects and the row that have it (F-6)`(
        _ kind: StoreKind, _ isChild: Bool
    ) throws {
        let list = try list(kind)
        let row = try list.store("Guest", ["name": .string("Åsa"), "code": .integer(1)])
        let context = isChild ? ManagedObjectContext(parent: list.context) : list.context
        let told = Told(context)
        let first = try list.make("Guest", ["name": .string("Bo"), "code": .integer(1)], in: context)
        let second = try list.make("Patron", ["name": .string("Bo")], in: context)
        #expect(told.take().isEmpty)
        context.processPendingChanges()
        #expect(Set(told.conflicts.flatMap(\.objects)) == [first.objectID, second.objectID])
        #expect(told.conflicts.first { $0.properties == ["code"] }?.stored == row)
        #expect(told.conflicts.first { $0.properties == ["code"] }?.storedValues["name"] == .string("Åsa"))
        #expect(told.take().sorted() == ["code 1 row", "name 2 -"])

        // Once, until a value of the constraint is set again.
        try first.setValue(.string("x"), forKey: "note")
        context.processPendingChanges()
        #expect(told.take().isEmpty)
        try second.setValue(.string("Åsa"), forKey: "name")
        context.processPendingChanges()
        #expect(told.take() == ["name 1 row"])

        // A row that is deleted, or gets another value, has it no more.
        let other = try context.existingObject(with: row)
        try other.setValue(.string("Cy"), forKey: "name")
        try other.setValue(.integer(2), forKey: "code")
        context.processPendingChanges()
        #expect(told.take().isEmpty)
        for object in [first, second] { try object.setValue(.string("\(object.objectID)"), forKey: "name") }
        context.processPendingChanges()
        try context.save()
        try list.context.save()
        #expect(told.take().isEmpty)
        try list.make("Guest", ["name": .string("Cy")], in: context).setValue(.null, forKey: "code")
        _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Guest"))
        #expect(told.take() == ["name 1 row"])
    }

    @Test func `a child is told of what its parent has not saved, and by its own policy`() throws {
        let list = try list(.btree)
        let (parent, child) = (list.context, ManagedObjectContext(parent: list.context))
        _ = try list.make("City", ["name": .string("Ulm")])
        let (told, above) = (Told(child), Told(parent))
        _ = try list.make("City", ["name": .string("Ulm")], in: child)
        child.processPendingChanges()
        #expect(told.take() == ["name 1 row"] && above.take().isEmpty)
        try child.save()
        parent.processPendingChanges()
        #expect(above.take() == ["name 2 -"])
        parent.rollback()
        _ = try list.make("City", ["name": .string("Bonn")])
        try parent.save()

        child.mergePolicy = .objectTrump
        let new = try list.make("City", ["name": .string("Bonn")], in: child)
        child.processPendingChanges()
        #expect(told.take().isEmpty, "a policy merges the new object")
        try child.save()
        parent.processPendingChanges()
        #expect(above.take() == ["name 1 row"], "the policy of the parent refuses it")
        parent.mergePolicy = .objectTrump
        try parent.save()
        child.processPendingChanges()
        #expect(try child.count(for: FetchRequest<ManagedObject>(entityName: "City")) == 1)

        // A changed object cannot be merged, whatever the policy.
        try list.make("City", ["name": .string("Kiel")]).setValue(.string("Köln"), forKey: "name")
        try parent.save()
        let cities = try child.fetch(FetchRequest<ManagedObject>(entityName: "City"))
        try #require(cities.first { $0[attribute: "name"] == .string("Köln") }).setValue(
            .string("Bonn"), forKey: "name")
        child.processPendingChanges()
        #expect(told.take() == ["name 1 row"])
        withExtendedLifetime(new) {}
    }

    @Test func `an undo, a rollback, a reset and a failed save are followed`() throws {
        let list = try list(.inMemory)
        let context = list.context
        context.undoManager = UndoStack()
        let told = Told(context)
        let cities = try ["Ulm", "Bonn"].map { try list.make("City", ["name": .string($0)]) }
        context.processPendingChanges()
        try cities[1].setValue(.string("Ulm"), forKey: "name")
        context.processPendingChanges()
        #expect(told.take() == ["name 2 -"])
        try context.undo()
        context.processPendingChanges()
        #expect(told.take().isEmpty)
        try context.redo()
        context.processPendingChanges()
        #expect(told.take() == ["name 2 -"])
        #expect(throws: ContextError.self) { try context.save() }
        context.processPendingChanges()
        #expect(told.take().isEmpty && context.uniquenessConflicts().count == 1)
        try context.delete(cities[1])
        context.processPendingChanges()
        try list.make("City", ["name": .string("Bonn")]).setValue(.string("Hof"), forKey: "name")
        context.processPendingChanges()
        context.rollback()
        _ = try list.make("City", ["name": .string("Ulm")])
        context.processPendingChanges()
        context.reset()
        _ = try list.make("City", ["name": .string("Ulm")])
        context.processPendingChanges()
        #expect(told.take().isEmpty)

        told.end()
        _ = try list.make("City", ["name": .string("Ulm")])
        context.processPendingChanges()
        #expect(told.take().isEmpty && context.uniquenessConflicts().count == 1)
        let again = Told(context)
        _ = try list.make("City", ["name": .string("Ulm")])
        context.processPendingChanges()
        #expect(again.take() == ["name 3 -"])
    }

    @Test func `each change is looked at once, and compound constraints and relationships count as in the store`()
        throws
    {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Seat", attributes: [AttributeDescription("row", .integer16), AttributeDescription("place", .string)],
                relationships: [RelationshipDescription("hall", to: "Hall")],
                uniquenessConstraints: [["row", "place", "hall"]]),
            EntityDescription("Hall", attributes: [AttributeDescription("name", .string)]),
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model))
        let context = ManagedObjectContext(coordinator)
        let hall = try context.insertNewObject(forEntityName: "Hall")
        func seat(_ place: String?, _ hall: ManagedObject?) throws {
            let seat = try context.insertNewObject(forEntityName: "Seat")
            try seat.setValue(.integer(1), forKey: "row")
            try seat.setValue(place.map { .string($0) } ?? .null, forKey: "place")
            try seat.setValue(.toOne(hall), forKey: "hall")
        }
        let told = Told(context)
        for place in ["a", "b", "é", nil, nil] { try seat(place, hall) }
        try seat("a", nil)
        context.processPendingChanges()
        #expect(told.take().isEmpty)
        try seat("e\u{301}", hall)
        context.processPendingChanges()
        let areSame = "é" == "e\u{301}"
        #expect(told.take() == (areSame ? ["rowplacehall 2 -"] : []))
        context.rollback()
        let stored = try context.insertNewObject(forEntityName: "Hall")
        try seat("a", stored)
        try context.save()
        try seat("a", stored)
        try seat("b", stored)
        context.processPendingChanges()
        #expect(told.take() == ["rowplacehall 1 row"])
    }
}
