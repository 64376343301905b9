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
