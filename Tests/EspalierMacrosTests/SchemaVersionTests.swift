// Versions of a schema as types, and a plan over three of them: a store of each one arrives at the last, by mappings
// between typed objects, and can be cancelled on the way.

import Espalier
import Foundation
import TestSupport
import Testing

private enum Version1: VersionedSchema {
    static let versionIdentifier = "1"
    static let classes: [ManagedObject.Type] = [Person.self, Club.self]

    @Entity final class Person: ManagedObject {
        var first: String = ""
        var last: String = ""
        var street: String?
        var isPaid: Bool = false
        var club: Club?
    }

    @Entity final class Club: ManagedObject {
        var title: String = ""
        @Relationship(inverse: \Person.club) var members: ToMany<Person>
    }
}

/// People are staff or guests, and have a home.
private enum Version2: VersionedSchema {
    static let versionIdentifier = "2"
    static let classes: [ManagedObject.Type] = [Human.self, Staff.self, Guest.self, Home.self, Club.self]

    @Entity(isAbstract: true) class Human: ManagedObject {
        var name: String = ""
        var club: Club?
        var home: Home?
    }

    @Entity final class Staff: Human {}
    @Entity final class Guest: Human {}

    @Entity final class Home: ManagedObject {
        var street: String = ""
        @Relationship(inverse: \Human.home) var owner: Human?
    }

    @Entity final class Club: ManagedObject {
        var title: String = ""
        @Relationship(inverse: \Human.club) var members: ToMany<Human>
    }
}

/// Clubs have a motto.
private enum Version3: VersionedSchema {
    static let versionIdentifier = "3"
    static let classes: [ManagedObject.Type] = [Human.self, Staff.self, Guest.self, Home.self, Club.self]

    @Entity(isAbstract: true) class Human: ManagedObject {
        var name: String = ""
        var club: Club?
        var home: Home?
    }

    @Entity final class Staff: Human {}
    @Entity final class Guest: Human {}

    @Entity final class Home: ManagedObject {
        var street: String = ""
        @Relationship(inverse: \Human.home) var owner: Human?
    }

    @Entity final class Club: ManagedObject {
        var title: String = ""
        var motto: String = "none"
        @Relationship(inverse: \Human.club) var members: ToMany<Human>
    }
}

@Suite struct SchemaVersionTests {
    private static func mappings() throws -> MappingModel {
        MappingModel([
            EntityMapping(
                from: Version1.Person.self, to: Version2.Staff.self, where: try FetchPredicate(format: "isPaid == YES"),
                [.made("home", by: "homes")], reading: ["first", "last", "isPaid"]
            ) { old, new, _ in new.name = "\(old.first) \(old.last)" },
            EntityMapping(
                from: Version1.Person.self, to: Version2.Guest.self, where: try FetchPredicate(format: "isPaid == NO"),
                [.made("home", by: "homes")], reading: ["first", "last", "isPaid"]
            ) { old, new, _ in new.name = "\(old.first) \(old.last)" },
            EntityMapping("Person", to: "Home", where: try FetchPredicate(format: "street != nil"), name: "homes"),
        ])
    }

    private static func plan() throws -> SchemaMigrationPlan {
        try SchemaMigrationPlan(from: Version1.self).then(.mapped(by: mappings()), to: Version2.self)
            .then(.lightweight(), to: Version3.self)
    }

    private static func makeStore(at path: String) throws {
        let container = try PersistentContainer(for: Version1.classes, at: path)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let club = Version1.Club(context: context)
        club.title = "クラブ"
        for (first, last, isPaid) in [("Ann", "Ö"), ("Bob", "B"), ("Cy", "C")].enumerated().map({
            ($1.0, $1.1, $0 == 0)
        }) {
            let person = Version1.Person(context: context)
            (person.first, person.last, person.isPaid) = (first, last, isPaid)
            person.street = isPaid ? "Hauptstraße 1" : nil
            person.club = club
        }
        try context.save()
        try container.close()
    }

    @Test func `a plan of versions as types maps typed objects and goes on with the next version`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)

            let done = try Self.plan().migrate(storeAt: path)

            #expect(done.map { $0.mappings.map(\.createdCount) } == [[1, 2, 1], []])
            #expect(try Self.plan().migrate(storeAt: path).isEmpty)
            let container = try PersistentContainer(for: Version3.classes, at: path, migration: .off)
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let club = try #require(try context.fetch(FetchRequest<Version3.Club>()).first)
            #expect(club.motto == "none" && club.title == "クラブ")
            #expect(Set(club.members.map(\.name)) == ["Ann Ö", "Bob B", "Cy C"])
            let staff = try #require(try context.fetch(FetchRequest<Version3.Staff>()).first)
            #expect(staff.home?.street == "Hauptstraße 1" && staff.home?.owner === staff)
            #expect(try context.count(for: FetchRequest<Version3.Home>()) == 1)
            try container.close()
        }
    }

    @Test func `a container brings its store to the last version of a plan, or creates it there (SD-13)`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            for (path, count) in [(path, 3), (path, 3), (path + "-new", 0), (path + "-new", 0), ("/dev/null", 0)] {
                let container = try PersistentContainer(Self.plan(), at: path)
                let context = ManagedObjectContext(container.persistentStoreCoordinator)
                #expect(try context.count(for: FetchRequest<Version3.Human>()) == count)
                try container.close()
            }
            let short = SchemaMigrationPlan(from: try Version1.model)
            #expect(throws: SchemaMigrationError.self) { try PersistentContainer(short, at: path) }
            #expect(throws: SchemaMigrationError.self) { try PersistentContainer(short, at: path + "-new/below") }
        }
    }

    @Test func `the model of a version has its identifier`() throws {
        #expect(try Version2.model.versionIdentifiers == ["2"])
    }

    @Test func `a plan that is cancelled in its second step has the first done, and goes on from there`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let first = MigrationProgress()
            _ = try SchemaMigrationPlan(from: Version1.self).then(.mapped(by: Self.mappings()), to: Version2.self)
                .migrate(storeAt: path, progress: first)
            #expect(first.fractionCompleted == 1)
            let cancelled = MigrationProgress()
            cancelled.cancel()

            let error = #expect(throws: SchemaMigrationError.self) {
                try Self.plan().migrate(storeAt: path, progress: cancelled)
            }

            guard case .stage(path, from: 1, reached: 1, let underlying)? = error,
                case StoreError.migrationCancelled? = underlying as? StoreError
            else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Self.plan().migrate(storeAt: path).count == 1)
        }
    }

    @Test func `code between versions that a store does not tell apart is refused before anything is done`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let (first, second) = (try Version1.model, try Version2.model)
            var entities = first.descriptions
            entities[0].versionHashModifier = "2"
            let modified = try ManagedObjectModel(entities: entities)
            #expect(modified.versionChecksum != first.versionChecksum)
            let work = MigrationStage.custom(didMigrate: { _ in Issue.record("the work runs") })
            let start = SchemaMigrationPlan(from: first)
            let refused = [
                start.then(work, to: modified).then(.mapped(by: try Self.mappings()), to: second),
                start.then(.mapped(by: MappingModel()), to: first), start.then(work, to: second).then(work, to: first),
            ]
            for (plan, last) in zip(refused, [1, 1, 2]) {
                let error = #expect(throws: SchemaMigrationError.self) { try plan.migrate(storeAt: path) }
                guard case .equalVersions(0, last)? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(error?.description.contains("add or change a stored property") == true)
            }

            #expect(try start.then(.lightweight(), to: modified).migrate(storeAt: path).isEmpty)
        }
    }
}
