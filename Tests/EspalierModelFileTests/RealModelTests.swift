// Unchanged model files of other projects: each is read, checked, written and read again, without any loss.

import Espalier
import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct RealModelTests {
    @Test func `there are 38 versions of 21 models`() {
        #expect(RealModels.paths.count == 38)
        // One more model is in no folder of versions.
        #expect(RealModels.versionPaths.count == 20)
    }

    @Test(arguments: RealModels.paths) func `a document that is written has the bytes that were read`(path: String)
        throws
    {
        let document = try ModelDocument(contentsOf: RealModels.url(path))
        let written = String(decoding: try document.xml(), as: UTF8.self)
        let read = String(decoding: try RealModels.bytes(path), as: UTF8.self)

        // Some files end with a line break after the last element, which is no part of the document.
        #expect(written == read.trimmingCharacters(in: .newlines))
        #expect(try ModelDocument(xml: Data(written.utf8)) == document)
    }

    @Test(arguments: RealModels.paths) func `a model is valid, and its own document means the same model`(path: String)
        throws
    {
        let model = try ManagedObjectModel(contentsOf: RealModels.url(path))
        let document = try ModelDocument(model)
        let again = try ManagedObjectModel(try ModelDocument(xml: try document.xml()))

        #expect(again.descriptions == model.descriptions)
        #expect(again.versionIdentifiers == model.versionIdentifiers)
        #expect(again.configurations == model.configurations)
        #expect(again.fetchRequestTemplates == model.fetchRequestTemplates)
        #expect(again.versionChecksum == model.versionChecksum)
    }

    @Test func `the rule of a real model is checked by a save (MD-16)`() throws {
        let path = "ashalkhakov+FreeCoreData/EmployeeDirectory.xcdatamodeld"
        let model = try ManagedObjectModel(contentsOf: RealModels.url(path))
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let employee = try context.insertNewObject(forEntityName: "Employee")
        for name in ["firstName", "lastName"] { try employee.setValue(.string("A"), forKey: name) }
        try employee.setValue(.integer(-1), forKey: "salary")
        let error = #expect(throws: ContextError.self) { try context.save() }

        guard case .violations(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.map(\.code) == [1620] && found[0].property == "salary")
        try employee.setValue(.integer(0), forKey: "salary")
        try context.save()
    }

    @Test func `each folder has a current version`() throws {
        var current: [String: String] = [:]
        for path in RealModels.versionPaths {
            let versions = try ModelVersions(contentsOf: RealModels.url(path))
            #expect(try versions.document() == versions.document(named: versions.currentName))
            if versions.names.count > 1 { current[versions.url.lastPathComponent] = versions.currentName }
        }

        #expect(
            current == [
                "Moody.xcdatamodeld": "Moody 6", "SyncMetadata.xcdatamodeld": "SyncMetadata 4",
                "BookmarksModel.xcdatamodeld": "BookmarksModel 6", "ExampleModel.xcdatamodeld": "Version 3",
                "Advanced.EvolutionDemo.V1.xcdatamodeld": "Advanced.EvolutionDemo.V1",
                // The folder's list names no version, so the current one is the version with the folder's name.
                "Advanced.EvolutionDemo.xcdatamodeld": "Advanced.EvolutionDemo",
            ])
    }

    @Test func `versions that differ in what is stored have different checksums`() throws {
        for path in RealModels.versionPaths where path.contains("Moody.xcdatamodeld") && path.contains("/Moody.") {
            let versions = try ModelVersions(contentsOf: RealModels.url(path))
            let checksums = try versions.names.map {
                try ManagedObjectModel(try versions.document(named: $0)).versionChecksum
            }

            // The second version differs from the first in a renamed attribute, and each later one in more.
            #expect(Set(checksums).count == versions.names.count)
        }
    }

    @Test func `what the editor wrote comes to the model`() throws {
        let contacts = try ManagedObjectModel(contentsOf: RealModels.url("ZeeQL+ZeeQL3/Contacts.xcdatamodel"))
        let person = try #require(contacts.entity(named: "Person"))
        let addresses = try #require(person.relationship(named: "addresses")).description
        #expect(addresses.userInfo == ["extraInfo": "doIt"] && addresses.cardinality == .ordered)
        #expect(addresses.maxCount == 20 && addresses.inverse == "person")
        #expect(person.description.managedObjectClassName == "Person")
        #expect(
            contacts.fetchRequestTemplate(named: "fetchTheDucks")
                == FetchRequestTemplate(
                    "fetchTheDucks", entity: "Person", predicateFormat: "lastName LIKE \"Duck*\"", fetchLimit: 220,
                    fetchBatchSize: 20, returnsDistinctResults: true))

        let moody = "objcio+core-data/Moody.xcdatamodeld"
        let mood = try #require(try ManagedObjectModel(contentsOf: RealModels.url(moody)).entity(named: "Mood"))
        #expect(mood.attribute(named: "remoteID")?.description.renamingIdentifier == "remoteIdentifier")
        #expect(mood.attribute(named: "colors")?.description.valueTransformerName == "ColorsTransformer")
        #expect(mood.description.indexes.map(\.name) == ["compoundIndex1"])

        let flow = try ManagedObjectModel(
            contentsOf: RealModels.url("fatbobman+CoreDataEvolution/GeneratedFlowModel.xcdatamodeld"))
        let task = try #require(flow.entity(named: "FlowTask"))
        #expect(task.attribute(named: "tags_payload")?.description.type == .transformable)
        #expect(task.attribute(named: "location")?.description.elements.map(\.name) == ["lat", "lng"])

        let store = try ManagedObjectModel(
            contentsOf: RealModels.url("JohnEstropia+CoreStore/Model.xcdatamodeld"))
        #expect(store.configurations.map(\.name) == ["Config1", "Config2"])
        #expect(store.entities(forConfigurationNamed: "Config1")?.map(\.name) == ["TestEntity1AAA"])
    }
}
