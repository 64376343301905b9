// The mapping file between two versions of a model is found in folders: by the models that it names, or by names.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct MappingLookupTests {
    private static func moody(_ version: Int) throws -> ManagedObjectModel {
        try ManagedObjectModel(
            contentsOf: RealModels.url("objcio+core-data/Moody.xcdatamodeld/Moody \(version).xcdatamodel"))
    }

    private static func example(_ version: Int) throws -> ManagedObjectModel {
        try ManagedObjectModel(
            contentsOf: RealModels.url(
                "jessesquires+JSQCoreDataKit/ExampleModel.xcdatamodeld/Version \(version).xcdatamodel"))
    }

    @Test func `a mapping file is found by the hashes of the models that it names, and by no others`() throws {
        let library = try ModelLibrary(folders: [
            RealModels.url("jessesquires+JSQCoreDataKit"), RealModels.url("objcio+core-data"),
        ])
        for version in 2...5 {
            let file = "objcio+core-data/Moody \(version)-Moody \(version + 1).xcmappingmodel"
            let found = try library.mapping(from: Self.moody(version), to: Self.moody(version + 1))
            #expect(try found == MappingFiles.description(file), "\(version)")
        }
        #expect(try library.mapping(from: Self.moody(2), to: Self.moody(4)) == nil)
        #expect(try library.mapping(from: Self.moody(3), to: Self.moody(2)) == nil)
        let example = try library.mapping(from: Self.example(2), to: Self.example(3))
        #expect(
            try example
                == MappingFiles.description("jessesquires+JSQCoreDataKit/Version2_to_Version3.xcmappingmodel"))
        #expect(try library.mapping(from: Self.example(2), to: Self.moody(3)) == nil)
    }

    @Test func `without the models in the folders a mapping file is found by its names, if only one has them`() throws {
        try withTemporaryFolder { folder in
            func copy(_ name: String, as other: String) throws {
                try FileManager.default.copyItem(
                    at: RealModels.url("jessesquires+JSQCoreDataKit/\(name)"), to: folder.appending(path: other))
            }
            let names = ["Version1_to_Version2.xcmappingmodel", "Version2_to_Version3.xcmappingmodel"]
            for name in names { try copy(name, as: name) }
            let library = try ModelLibrary(folders: [folder])

            for (version, name) in zip(1...2, names) {
                let found = try library.mapping(from: Self.example(version), to: Self.example(version + 1))
                #expect(try found == MappingDescription(contentsOf: folder.appending(path: name)), "\(name)")
            }
            #expect(try library.mapping(from: Self.example(1), to: Self.example(3)) == nil)
            try copy(names[0], as: "Another.xcmappingmodel")
            let error = try #require(throws: ModelFileError.self) {
                try library.mapping(from: Self.example(1), to: Self.example(2))
            }
            #expect(error.problems.map(\.kind) == [.otherVersion])
            #expect(error.description.contains("Another.xcmappingmodel: this file and '"))
        }
    }

    @Test func `the model of a store has the mapping of its version, whose hash modifiers it does not have`() throws {
        try withTemporaryFolder { folder in
            let versions = folder.appending(path: "ExampleModel.xcdatamodeld")
            let (first, second) = ("Version2_to_Version3.xcmappingmodel", "Z.xcmappingmodel")
            for (name, place) in [("ExampleModel.xcdatamodeld", versions), (first, folder.appending(path: first))] {
                try FileManager.default.copyItem(at: RealModels.url("jessesquires+JSQCoreDataKit/\(name)"), to: place)
            }
            let text = try String(
                contentsOf: versions.appending(path: "Version 2.xcdatamodel/contents"), encoding: .utf8)
            /// Writes version 2 under another name, with a hash modifier.
            func write(_ name: String, modifier: String) throws -> ManagedObjectModel {
                let start = "<entity name=\"Employee\""
                #expect(text.contains(start), "version 2 has no Employee")
                let modified = text.replacing(start, with: "\(start) versionHashModifier=\"\(modifier)\"")
                let url = versions.appending(path: "\(name).xcdatamodel")
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
                try Data((modifier.isEmpty ? text : modified).utf8).write(to: url.appending(path: "contents"))
                return try ManagedObjectModel(contentsOf: url)
            }
            let model = try write("Version 2", modifier: "again")
            // No store keeps the modifier.
            let stored = try ManagedObjectModel(entities: model.storedDescriptions)
            let newer = try Self.example(3)
            let library = try ModelLibrary(folders: [folder])
            let expected = try MappingDescription(contentsOf: folder.appending(path: first))

            #expect(try library.mapping(from: model, to: newer) == expected)
            #expect(try library.mapping(from: stored, to: newer) == expected)
            var others = model.descriptions
            others[0].versionHashModifier = "other"
            #expect(try library.mapping(from: ManagedObjectModel(entities: others), to: newer) == nil)

            // A version with all hashes of the store comes first, wherever its file is in the order of names.
            let mapping = try String(contentsOf: folder.appending(path: "\(first)/xcmapping.xml"), encoding: .utf8)
            let place = folder.appending(path: second)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try Data(mapping.replacing("/Version 2.xcdatamodel", with: "/Plain.xcdatamodel").utf8)
                .write(to: place.appending(path: "xcmapping.xml"))
            _ = try write("Plain", modifier: "")
            let plain = try library.mapping(from: stored, to: newer)
            #expect(try plain == MappingDescription(contentsOf: place) && plain != expected)
            #expect(try library.mapping(from: model, to: newer) == expected)
            _ = try write("Plain", modifier: "third")
            let error = try #require(throws: ModelFileError.self) { try library.mapping(from: stored, to: newer) }
            #expect(error.problems.map(\.kind) == [.otherVersion])
            #expect(error.description.contains("differ only in hash modifiers"), "\(error)")
        }
    }

    @Test func `a damaged mapping file is told, whatever it would have been for`() throws {
        try withTemporaryFolder { folder in
            let url = folder.appending(path: "A.xcmappingmodel")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data("<database>".utf8).write(to: url.appending(path: "xcmapping.xml"))
            let library = try ModelLibrary(folders: [folder])
            let model = try ManagedObjectModel(entities: [EntityDescription("A")])

            let error = try #require(throws: ModelFileError.self) { try library.mapping(from: model, to: model) }
            #expect(error.problems.map(\.kind) == [.malformedXML])
        }
    }
}
