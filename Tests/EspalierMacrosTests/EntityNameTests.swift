// Entities whose classes have other names: the argument `name` of `@Entity`, in models, in files and in its expansion.

import Espalier
import Foundation
import TestSupport
import Testing

@Entity(name: "Data") final class DataRecord: ManagedObject {
    var text: String = ""
    @Relationship(inverse: \CDPerson.records) var owner: CDPerson?
}

@Entity(name: "Person") class CDPerson: ManagedObject {
    var name: String = ""
    var records: ToMany<DataRecord>
}

@Entity(name: "Worker", isAbstract: false) final class CDWorker: CDPerson {
    var room: Int?
}

@Suite struct EntityNameTests {
    private static let classes: [ManagedObject.Type] = [DataRecord.self, CDWorker.self]

    @Test func `a model of classes with other names has the names of the entities, and those of the classes`() throws {
        let model = try ManagedObjectModel(for: Self.classes)

        #expect(Set(model.entities.map(\.name)) == ["Data", "Person", "Worker"])
        let worker = try #require(model.entity(named: "Worker")?.description)
        #expect(worker.superentity == "Person" && worker.managedObjectClassName == "CDWorker")
        #expect(model.entity(named: "Data")?.relationship(named: "owner")?.description.destination == "Person")
        #expect(DataRecord.entityName == "Data" && CDWorker.entityName == "Worker")
        // A class with the name of its entity says nothing that a model file could not say without it.
        #expect(PlainlyNamed.entityDescription.managedObjectClassName == nil)
    }

    @MainActor @Test func `objects of classes with other names are saved and found under the names of the entities`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "named.espalier").path
            let container = try PersistentContainer(for: Self.classes, at: path)
            let context = container.viewContext
            let (worker, record) = (CDWorker(context: context), DataRecord(context: context))
            (worker.name, worker.room, record.text, record.owner) = ("Ada", 3, "first", worker)
            try context.save()
            try container.close()

            let again = try PersistentContainer(for: Self.classes, at: path)
            let request = FetchRequest<DataRecord>(try FetchPredicate(format: "owner.name == 'Ada'"))
            let found = try #require(try again.viewContext.fetch(request).first)
            #expect(found.objectID.entityName == "Data" && found.owner?.objectID.entityName == "Worker")
            #expect((found.owner as? CDWorker)?.room == 3 && found.text == "first")
            #expect(try again.viewContext.fetch(CDPerson.fetchRequest()).count == 1)
            try again.close()
        }
    }

    @Test func `the name is a literal that an entity can have`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            let spelled = "Person"
            @Entity(name: spelled) final class A: ManagedObject {} // error: write the name of the entity as a literal
            @Entity(name: "Per\\(1)") final class B: ManagedObject {} // error: write the name of the entity
            @Entity(name: "two words") final class C: ManagedObject {} // error: write the name of the entity
            @Entity(name: "") final class D: ManagedObject {} // error: an entity has a name: write one, or leave out
            @Entity(name: nil) final class E: ManagedObject {}
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }

    @Test func `the expansion has the name of the entity, and that of the class where it differs`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            @Entity(name: "Person", originalName: "Human") final class EDPerson: ManagedObject { var name: String = "" }
            @Entity(name: "Pet", hashModifier: "2") final class Pet: ManagedObject {}
            """, options: ["-Xfrontend", "-dump-macro-expansions"])

        #expect(snippet.isValid, "\(snippet.log)")
        #expect(
            snippet.log.contains(
                #"""
                        "Person", properties: Self._entityProperties, renamingIdentifier: "Human", \#
                managedObjectClassName: "EDPerson")
                """#), "\(snippet.log)")
        #expect(snippet.log.contains("EntityDescription._checkClass(EDPerson.self)"))
        #expect(snippet.log.contains(#""Pet", properties: Self._entityProperties, versionHashModifier: "2")"#))
    }
}

@Entity final class PlainlyNamed: ManagedObject {}
