// Splits whose mappings read different properties: a value goes with its object only if its loss is allowed by name.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MappedSplitTests {
    /// Cancels the migration in the last hook.
    private struct Cancelling: EntityMigrationPolicy {
        func end(_ mapping: EntityMapping, _ session: MigrationSession) throws { session.progress?.cancel() }
    }

    /// People with a pay and an idol, who are staff or guests: only staff have both, and records have a pay.
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        func people(_ name: String, isWhole: Bool, idol: String) -> EntityDescription {
            EntityDescription(
                name,
                attributes: [AttributeDescription("name", .string)]
                    + (isWhole ? [AttributeDescription("pay", .integer32)] : []),
                relationships: isWhole ? [RelationshipDescription("idol", to: idol)] : [])
        }
        return try ManagedObjectModel(
            entities: isNew
                ? [
                    people("Staff", isWhole: true, idol: "Staff"), people("Guest", isWhole: false, idol: "Staff"),
                    EntityDescription("Record", attributes: [AttributeDescription("pay", .integer32)]),
                ]
                : [people("Person", isWhole: true, idol: "Person")])
    }

    /// Saves Ann with a pay and people without one, of whom one has debts and one an idol; returns their IDs.
    private static func makeStore(at path: String) throws -> (debtor: ObjectID, fan: ObjectID) {
        let stores = [PersistentStoreDescription(path: path)]
        let container = try PersistentContainer(model: try model(isNew: false), stores: stores)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        func insert(_ name: String, pay: AttributeValue) throws -> ManagedObject {
            let person = try context.insertNewObject(forEntityName: "Person")
            try person.setValue(.string(name), forKey: "name")
            try person.setValue(pay, forKey: "pay")
            return person
        }
        let ann = try insert("Ann", pay: .integer(5))
        let (debtor, fan) = (try insert("Bob", pay: .integer(-1)), try insert("Cy", pay: .null))
        _ = try insert("Di", pay: .null)
        try fan.setValue(.toOne(ann), forKey: "idol")
        try context.save()
        let ids = (debtor.objectID, fan.objectID)
        try container.close()
        return ids
    }

    /// Guests are those without a pay.
    private static func mappings(guestsReading: Set<String> = []) throws -> MappingModel {
        MappingModel([
            EntityMapping("Person", to: "Staff", where: try FetchPredicate(format: "pay > 0")),
            EntityMapping(
                "Person", to: "Guest", where: try FetchPredicate(format: "pay <= 0 OR pay == nil"),
                reading: guestsReading),
        ])
    }

    @Test func `a value that the mapping of its object does not read, as another one does, is a loss by name (MG-05)`()
        throws
    {
        try withStorePath { path in
            let ids = try Self.makeStore(at: path)
            let (former, newer) = (try Self.model(isNew: false), try Self.model(isNew: true))

            let plan = try Self.mappings().migrationPlan(storeAt: path, from: former, to: newer)

            let losses: Set<MigrationLoss> = [.removal(of: "Person.pay"), .removal(of: "Person.idol")]
            let refusal = try #require(plan.refusal)
            #expect(Set(refusal.losses) == losses && refusal.losses.count == 2)
            let rows = Dictionary(uniqueKeysWithValues: refusal.failures.map { ($0.subject, $0.objects) })
            #expect(rows == ["Person.pay": [ids.debtor], "Person.idol": [ids.fan]])
            #expect(refusal.failures.allSatisfy { $0.reason == .unread(by: ["PersonToGuest"]) })
            #expect(refusal.description.contains("do not read it: PersonToGuest"))
            let error = #expect(throws: MappingError.self) {
                try Self.mappings().migrate(
                    storeAt: path, from: former, to: newer, MigrationOptions(allowing: [.removal(of: "Person.idol")]))
            }
            guard case .store(.migrationRefused(_, let rest))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(rest.losses == [.removal(of: "Person.pay")])
            let done = try Self.mappings().migrate(
                storeAt: path, from: former, to: newer, MigrationOptions(allowing: losses))
            #expect(done.mappings.map(\.createdCount) == [1, 3])
        }
    }

    @Test func `the search for values that are not read ends if the migration was cancelled (MG-10)`() throws {
        try withStorePath { path in
            _ = try Self.makeStore(at: path)
            var mappings = try Self.mappings()
            mappings.entityMappings[1].policy = Cancelling()

            let error = #expect(throws: MappingError.self) {
                try mappings.migrate(
                    storeAt: path, from: try Self.model(isNew: false), to: try Self.model(isNew: true),
                    MigrationOptions(progress: MigrationProgress()))
            }

            // Otherwise it would find what guests lose, and the migration would be refused.
            guard case .store(.migrationCancelled)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `a value that a policy reads, or that a further part of its object has, is no loss`() throws {
        try withStorePath { path in
            _ = try Self.makeStore(at: path)
            let (former, newer) = (try Self.model(isNew: false), try Self.model(isNew: true))
            var parts = try Self.mappings()
            // A further mapping takes all people, and reads what guests do not have.
            parts.entityMappings.append(EntityMapping("Person", to: "Record", reading: ["idol"]))

            let read = try Self.mappings(guestsReading: ["pay", "idol"])
                .migrationPlan(storeAt: path, from: former, to: newer)
            let inParts = try parts.migrationPlan(storeAt: path, from: former, to: newer)

            #expect(read.refusal == nil && read.mappings.map(\.createdCount) == [1, 3])
            #expect(inParts.refusal == nil && inParts.mappings.map(\.createdCount) == [1, 3, 4])
        }
    }
}
