// Initializers of entity classes: those that people write, the errors about others with fixes that compile, and objects
// that are made without a context.

import Espalier
import Foundation
import TestSupport
import Testing

@Suite struct InitializerTests {
    @Test func `a convenience initializer makes objects in a context or without one`() throws {
        let container = try PersistentContainer(model: ManagedObjectModel(for: [Crew.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let (pilot, crew) = (Pilot(context: context, name: "Amelia"), Crew(title: "Electra"))

        #expect(pilot.managedObjectContext === context && pilot.name == "Amelia" && pilot.hours == 3)
        #expect(crew.managedObjectContext == nil && crew.title == "Electra" && !crew.hasChanges)

        pilot.crew = crew
        try context.save()

        #expect(crew.managedObjectContext === context && crew.members == [pilot])
        #expect(try context.fetch(FetchRequest<Crew>()).map(\.title) == ["Electra"])
    }

    @Test func `an object without a context has inherited properties, too, and keeps its values when it joins one`()
        throws
    {
        let container = try PersistentContainer(model: ManagedObjectModel(for: [Captain.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let captain = Captain()
        (captain.name, captain.rank) = ("Earhart", 7)

        #expect(captain.name == "Earhart" && captain.rank == 7 && captain.hours == 3)

        try context.insert(captain)
        try context.save()
        let read = try #require(try context.fetch(FetchRequest<Pilot>()).first as? Captain)

        #expect(read === captain && read.name == "Earhart" && read.rank == 7)
    }

    @Test func `relating an object without a context checks the class of the destination`() throws {
        let container = try PersistentContainer(model: ManagedObjectModel(for: [Crew.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let (pilot, other) = (Pilot(), Pilot(context: context, name: "Other"))

        #expect(throws: ContextError.self) { try pilot.setValue(.toOne(other), forKey: "crew") }
        #expect(pilot.managedObjectContext == nil)

        try pilot.setValue(.toOne(Crew(context: context)), forKey: "crew")

        #expect(pilot.managedObjectContext === context)
    }

    /// A pilot that was made without a context, and has joined one whose model gives pilots these attributes.
    private func pilot(
        joiningModelWith attributes: [AttributeDescription]
    ) throws -> (Pilot, ManagedObjectContext) {
        let container = try PersistentContainer(
            model: ManagedObjectModel(entities: [EntityDescription("Pilot", attributes: attributes)]),
            stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let pilot = Pilot()
        (pilot.name, pilot.hours) = ("Amelia", 9)
        try context.insert(pilot)
        return (pilot, context)
    }

    @Test func `an object joins a context whose model orders its properties otherwise, and keeps its values`() throws {
        let (pilot, context) = try pilot(joiningModelWith: [
            AttributeDescription("hours", .integer64), AttributeDescription("nick", .string),
            AttributeDescription("name", .string),
        ])

        #expect(pilot.name == "Amelia" && pilot.hours == 9 && pilot[attribute: "nick"] == .null)
        try context.save()
        #expect(pilot.name == "Amelia" && pilot.hours == 9)
    }

    @Test func `a value that the context's model cannot hold is reported by the save`() throws {
        let (_, context) = try pilot(joiningModelWith: [AttributeDescription("name", .integer64)])

        #expect(context.recordedViolations.map(\.property) == ["name", "hours"])
        #expect(throws: ContextError.self) { try context.save() }
    }

    @Test func `an initializer that is no convenience one is one error where it stands`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Entity final class Album: ManagedObject {
                var title: String = ""
                init(title: String) { // error: write a 'convenience init' that calls
                    self.title = title
                }
                public init(in context: ManagedObjectContext) { title = "" } // error: write a 'convenience init'
            }
            @Entity final class Pet: ManagedObject {
                var name: String = ""
                convenience init(name: String) { self.name = name } // error: begins with self.init(context:), or with
                convenience init(context: ManagedObjectContext) { self.init() } // error: hide and call forever
            }
            @Entity class Seeded: ManagedObject {
                required init(_ seed: consuming ObjectSeed) { super.init(seed) }
                convenience init?(odd number: Int) { if number % 2 == 0 { return nil }; self.init() }
            }
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
        let fixes = [
            """
            convenience init(title: String) { // error: write a 'convenience init' that calls
                    self.init()
                    self.title = title
                }
            """,
            #"public convenience init(in context: ManagedObjectContext) { self.init(context: context); title = "" }"#,
            "{ self.init(); self.name = name }",
        ]
        for fix in fixes { #expect(snippet.diagnostics.contains(fix), "\(fix)\n\(snippet.diagnostics)") }
    }

    @Test func `a call of super.init becomes one of self.init`() throws {
        let source = """
            import Espalier
            @Entity final class Album: ManagedObject {
                var title: String = ""
                init(context: ManagedObjectContext, title: String) {
                    super.init(context: context)
                    self.title = title
                }
            }
            """
        let fix = """
            convenience init(context: ManagedObjectContext, title: String) {
                    self.init(context: context)
                    self.title = title
                }
            """
        let snippet = try Snippet(source)

        #expect(snippet.faults.first?.line == 4 && snippet.diagnostics.contains(fix), "\(snippet.log)")
        let end = try #require(source.range(of: "}\n}", options: .backwards))
        let start = try #require(source.range(of: "init(context"))
        let fixed = try Snippet(source.replacingCharacters(in: start.lowerBound..<end.lowerBound, with: fix.dropLast()))
        #expect(fixed.isValid, "\(fixed.log)")
    }
}

@Entity final class Crew: ManagedObject {
    var title: String
    var members: ToMany<Pilot>

    convenience init(title: String) {
        self.init()
        self.title = title
    }
}

@Entity class Pilot: ManagedObject {
    var name: String = ""
    var hours: Int = 3
    @Relationship(inverse: \Crew.members) var crew: Crew?

    convenience init(context: ManagedObjectContext, name: String) {
        self.init(context: context)
        self.name = name
    }
}

@Entity final class Captain: Pilot {
    var rank: Int = 0
}
