// The application's own texts in a model, such as names of classes and modifiers of hashes: no store keeps them.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct OwnTextsTests {
    private func model(hasTexts: Bool) throws -> ManagedObjectModel {
        var entity = EntityDescription(
            "A", attributes: [AttributeDescription("n", .string)],
            relationships: [RelationshipDescription("r", to: "A")])
        if hasTexts {
            entity.managedObjectClassName = "App.A"
            (entity.versionHashModifier, entity.userInfo) = ("2", ["k": "v"])
            (entity.attributes[0].versionHashModifier, entity.attributes[0].userInfo) = ("2", ["k": "v"])
            (entity.relationships[0].versionHashModifier, entity.relationships[0].userInfo) = ("2", ["k": "v"])
        }
        return try ManagedObjectModel(
            entities: [entity], configurations: hasTexts ? [ConfigurationDescription("C", entities: ["A"])] : [],
            fetchRequestTemplates: hasTexts ? [FetchRequestTemplate("q", entity: "A")] : [])
    }

    @Test func `a file opens with a model of other texts, and nothing is written to it`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "a.espalier").path
            try BTreeStore.open(path: path, model: model(hasTexts: false)).close()
            let before = try Data(contentsOf: URL(filePath: path))
            for _ in 0..<2 {
                let store = try BTreeStore.open(path: path, model: model(hasTexts: true))
                #expect(store.model.entity(named: "A")?.description.userInfo == ["k": "v"])
                try store.close()
            }

            #expect(try Data(contentsOf: URL(filePath: path)) == before)
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(try store.model.descriptions == model(hasTexts: false).descriptions)
            try store.close()
        }
    }

    @Test func `a file that was made with texts carries none of them`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "a.espalier").path
            try BTreeStore.open(path: path, model: model(hasTexts: true)).close()
            let store = try BTreeStore.openWithStoredModel(path: path)

            #expect(try store.model.descriptions == model(hasTexts: false).descriptions)
            try store.close()
            try BTreeStore.open(path: path, model: model(hasTexts: true)).close()
        }
    }
}
