// Finding models by name in folders, and merging them.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelLibraryTests {
    private func write(_ xml: String, to url: URL) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data(xml.utf8).write(to: url.appending(path: "contents"))
    }

    @Test func `a model is found by name, in the first folder that has it`() throws {
        try withTemporaryFolder { folder in
            let (first, second) = (folder.appending(path: "1"), folder.appending(path: "2"))
            try write("<model><entity name='A'/></model>", to: first.appending(path: "Shop.xcdatamodel"))
            try write("<model><entity name='B'/></model>", to: second.appending(path: "Shop.xcdatamodel"))
            try write(
                "<model><entity name='C'/></model>", to: second.appending(path: "Club.xcdatamodeld/V.xcdatamodel"))
            try write("<model><entity name='D'/></model>", to: second.appending(path: "Club.xcdatamodel"))
            let library = try ModelLibrary(folders: [first, second])

            #expect(library.names == ["Club", "Shop"])
            #expect(try library.model(named: "Shop").entities.map(\.name) == ["A"])
            #expect(try library.model(named: "Club").entities.map(\.name) == ["C"])
            #expect(try library.mergedModel().entities.map(\.name) == ["C", "A"])
            let error = try #require(throws: ModelFileError.self) { try library.model(named: "shop") }
            #expect(error.problems.map(\.kind) == [.notFound])
            #expect(
                error.description.hasSuffix(
                    "the model 'shop' does not exist: did you mean 'Shop'? the folder has 'Club', 'Shop'"))
            #expect(throws: ModelFileError.self) { try ModelLibrary(folders: [folder.appending(path: "3")]) }
        }
    }

    @Test func `the model of a store is found among all versions by its hashes, and merged of several models`() throws {
        try withTemporaryFolder { folder in
            func entity(_ name: String, _ attribute: String = "n") -> String {
                "<entity name='\(name)'><attribute name='\(attribute)' optional='YES' attributeType='String'/></entity>"
            }
            func model(_ entities: String...) throws -> ManagedObjectModel {
                try ManagedObjectModel(ModelDocument(xml: Data("<model>\(entities.joined())</model>".utf8)))
            }
            let shop = folder.appending(path: "Shop.xcdatamodeld")
            try write("<model>\(entity("A", "m"))\(entity("B"))</model>", to: shop.appending(path: "Shop.xcdatamodel"))
            try write("<model>\(entity("A"))\(entity("B"))</model>", to: shop.appending(path: "Old.xcdatamodel"))
            try write("<model>\(entity("A"))</model>", to: shop.appending(path: "Oldest.xcdatamodel"))
            try write("<model>\(entity("C"))</model>", to: folder.appending(path: "Club.xcdatamodel"))
            try write("<model><entity/></model>", to: folder.appending(path: "Broken.xcdatamodel"))
            let library = try ModelLibrary(folders: [folder])
            func found(_ wanted: ManagedObjectModel) throws -> [String]? {
                try library.model(withEntityVersionHashes: wanted.entityVersionHashesByName)
                    .map { model in
                        #expect(model.entityVersionHashesByName == wanted.entityVersionHashesByName)
                        return model.entities.map(\.name)
                    }
            }

            #expect(try found(model(entity("A", "m"), entity("B"))) == ["A", "B"])
            #expect(try found(model(entity("A"), entity("B"))) == ["A", "B"])
            #expect(try found(model(entity("A"))) == ["A"])
            #expect(try found(model(entity("C"), entity("A"), entity("B"))) == ["C", "A", "B"])
            // Only a store whose model is not there leads to the file that cannot be read.
            #expect(throws: ModelFileError.self) { try found(model(entity("A", "other"))) }
            try FileManager.default.removeItem(at: folder.appending(path: "Broken.xcdatamodel"))
            let whole = try ModelLibrary(folders: [folder])
            let other = try model(entity("A", "other")).entityVersionHashesByName
            #expect(try whole.model(withEntityVersionHashes: other) == nil)
        }
    }

    @Test func `models that describe an entity differently are not merged`() throws {
        try withTemporaryFolder { folder in
            try write("<model><entity name='A'/></model>", to: folder.appending(path: "X.xcdatamodel"))
            try write("<model><entity name='A' isAbstract='YES'/></model>", to: folder.appending(path: "Y.xcdatamodel"))
            let error = try #require(throws: ModelFileError.self) { try ModelLibrary(folders: [folder]).mergedModel() }

            #expect(error.problems.map(\.kind) == [.invalidModel])
            #expect(
                error.description.hasSuffix(
                    "two models describe this entity differently; rename one, or make them equal"))
        }
    }
}
