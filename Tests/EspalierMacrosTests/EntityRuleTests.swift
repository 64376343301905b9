// Rules and actions of constraints that classes declare: they reach the model, and saves follow them.

import Espalier
import Testing

@Entity final class Ticket: ManagedObject {
    @Attribute(.unique(onConflict: .merge), .maximumLength(4, message: "at most four letters")) var code: String
    @Attribute(.minimum(0), .maximum(10)) var price: Double = 1
    @Attribute(.indexed, .pattern("[a-z]+")) var note: String?
}

@Entity(uniquenessConstraints: [["row", "place"]], constraintActions: [["row", "place"]: .keep])
final class Seat: ManagedObject {
    var row: Int
    var place: Int
    var holder: String?
}

@Suite struct EntityRuleTests {
    private func context() throws -> ManagedObjectContext {
        let model = try ManagedObjectModel(for: [Ticket.self, Seat.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    @Test func `rules and actions that a class declares reach the model (MD-16, F-6)`() {
        let description = Ticket.entityDescription
        #expect(description.uniquenessConstraints == [["code"]] && description.constraintActions == [["code"]: .merge])
        #expect(description.attributes.map(\.isIndexed) == [false, false, true])
        #expect(
            description.attributes.map(\.validationRules) == [
                [ValidationRule(.maximumLength(4), message: "at most four letters")],
                [ValidationRule(.minimum(.double(0))), ValidationRule(.maximum(.double(10)))],
                [ValidationRule(.pattern("[a-z]+"))],
            ])
        #expect(Seat.entityDescription.constraintActions == [["row", "place"]: .keep])
    }

    @Test func `a unique attribute merges new objects if its class says so (SD-05)`() throws {
        let context = try context()
        for price in [2.0, 3.0] {
            let ticket = Ticket(context: context)
            (ticket.code, ticket.price) = ("A", price)
            try context.save()
        }
        #expect(try context.fetch(FetchRequest<Ticket>()).map(\.price) == [3])
        for holder in ["Ann", "Bob"] {
            let seat = Seat(context: context)
            (seat.row, seat.place, seat.holder) = (1, 2, holder)
            try context.save()
        }
        #expect(try context.fetch(FetchRequest<Seat>()).map(\.holder) == ["Ann"])
    }

    @Test func `values that break the rules of a class are refused with its message`() throws {
        let context = try context()
        let ticket = Ticket(context: context)
        (ticket.code, ticket.price, ticket.note) = ("ABCDE", -1, "A")
        let error = #expect(throws: ContextError.self) { try context.save() }
        guard case .violations(let violations)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(violations.map(\.code) == [1660, 1620, 1680])
        #expect(violations[0].description.hasSuffix("at most four letters"))
    }
}
