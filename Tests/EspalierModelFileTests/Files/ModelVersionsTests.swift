// Folders of versions: the current version, the errors of a folder, and folders that are written.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelVersionsTests {
    private func write(_ text: String, to url: URL) throws {
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// The kind and the message of the error, without the path of the folder.
    private func failure(_ url: URL, in folder: URL) throws -> (ModelFileError.Kind?, String) {
        let error = try #require(throws: ModelFileError.self) { try ManagedObjectModel(contentsOf: url) }
        return (error.problems.first?.kind, error.description.replacing(folder.path + "/", with: ""))
    }

    private func list(_ body: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n\(body)\n</dict>\n</plist>\n"
    }

    @Test func `the current version is the one that the list names, and each version can be read`() throws {
        try withTemporaryFolder { folder in
            let shop = folder.appending(path: "Shop.xcdatamodeld")
            for name in ["Shop", "Shop 2", "Shop & <3"] {
                try write(
                    "<model><entity name='E\(name.count)'/></model>",
                    to: shop.appending(path: "\(name).xcdatamodel/contents"))
            }
            try write(
                list(
                    "<key>other</key><integer>1</integer><key>_XCCurrentVersionName</key>"
                        + "<string>Shop &amp; &lt;3.xcdatamodel</string>"),
                to: shop.appending(path: ".xccurrentversion"))
            let versions = try ModelVersions(contentsOf: shop)

            #expect(versions.names == ["Shop", "Shop & <3", "Shop 2"])
            #expect(versions.currentName == "Shop & <3")
            #expect(try ManagedObjectModel(contentsOf: shop).entities.map(\.name) == ["E9"])
            #expect(try versions.document(named: "Shop 2").entity(named: "E6") != nil)
            #expect(
                try ModelDocument(contentsOf: shop.appending(path: "Shop.xcdatamodel/contents")).entities.count == 1)
            let error = try #require(throws: ModelFileError.self) { try versions.document(named: "Shop 3") }
            #expect(
                error.description.hasSuffix(
                    "the version 'Shop 3' does not exist; the versions are 'Shop', 'Shop & <3', 'Shop 2'"))
        }
    }

    @Test func `versions are written as a folder that is read as it was`() throws {
        try withTemporaryFolder { folder in
            let url = folder.appending(path: "Made.xcdatamodeld")
            let first = try ModelDocument(
                ManagedObjectModel(entities: [EntityDescription("A")], versionIdentifiers: ["1"]))
            let second = try ModelDocument(xml: Data(EveryWord.xml.utf8))
            try ModelVersions.write([("Made", first), ("Made & 2", second)], current: "Made & 2", to: url)
            let versions = try ModelVersions(contentsOf: url)

            #expect(versions.currentName == "Made & 2")
            #expect(try versions.document() == second)
            #expect(try versions.document(named: "Made") == first)
            #expect(
                try Data(contentsOf: url.appending(path: "Made & 2.xcdatamodel/contents")) == Data(EveryWord.xml.utf8))
            #expect(throws: ModelFileError.self) { try ModelVersions.write([("A", first)], current: "B", to: url) }
            let bad = try #require(throws: ModelFileError.self) {
                try ModelVersions.write([("../A", first)], current: "../A", to: url)
            }
            #expect(bad.problems.map(\.kind) == [.inexpressible])
            for name in ["Made", "A/B"] {
                let refused = try #require(throws: ModelFileError.self) {
                    try ModelVersions.write([("Made", second), (name, first)], current: "Made", to: url)
                }
                #expect(refused.problems.map(\.kind) == [.inexpressible])
            }
            #expect(try ModelVersions(contentsOf: url).names == ["Made", "Made & 2"])
            #expect(try ModelVersions(contentsOf: url).document(named: "Made") == first)
        }
    }

    @Test func `a folder without a current version, or with two, is refused`() throws {
        try withTemporaryFolder { folder in
            let shop = folder.appending(path: "Shop.xcdatamodeld")
            let currentVersion = shop.appending(path: ".xccurrentversion")
            try write("<model/>", to: shop.appending(path: "A.xcdatamodel/contents"))
            #expect(try ModelVersions(contentsOf: shop).currentName == "A")
            try write("<model/>", to: shop.appending(path: "B.xcdatamodel/contents"))
            var failure = try failure(shop, in: folder)
            #expect(failure.0 == .currentVersion)
            #expect(
                failure.1
                    == "Shop.xcdatamodeld: the folder does not say which version is the current one: 'A', 'B'; "
                    + "name it in '.xccurrentversion'"
            )
            let key = "<key>_XCCurrentVersionName</key>\n"
            for (text, kind, message) in [
                (
                    list("\(key)<string>A</string>\n\(key)<string>B</string>"), ModelFileError.Kind.currentVersion,
                    "line 6: the list has 2 current versions; keep one key '_XCCurrentVersionName'"
                ),
                (
                    list("\(key)<array><string>A</string><string>B</string></array>"), .currentVersion,
                    "line 4: a <string> with the name of a version must follow the key '_XCCurrentVersionName'"
                ),
                (
                    list(key), .currentVersion,
                    "line 4: a <string> with the name of a version must follow the key '_XCCurrentVersionName'"
                ),
                (
                    list("\(key)<string>C.xcdatamodel</string>"), .currentVersion,
                    "the current version 'C' does not exist; the versions are 'A', 'B'"
                ),
                ("<plist><array/></plist>", .invalidValue, "line 1: this is not a property list with one dictionary"),
                ("<plist>", .malformedXML, "line 1: the text ends within 'plist' of line 1; close it with </plist>"),
            ] {
                try write(text, to: currentVersion)
                failure = try self.failure(shop, in: folder)
                #expect(failure.0 == kind)
                #expect(failure.1 == "Shop.xcdatamodeld/.xccurrentversion: \(message)")
            }
            try write(list("\(key)<string>B.xcdatamodel</string>"), to: currentVersion)
            #expect(try ModelVersions(contentsOf: shop).currentName == "B")
        }
    }

    @Test func `what is no model is refused with its path`() throws {
        try withTemporaryFolder { folder in
            try write("<model/>", to: folder.appending(path: "file.xcdatamodeld"))
            try write("", to: folder.appending(path: "bare.xcdatamodel/other"))
            try write("", to: folder.appending(path: "none.xcdatamodeld/README"))
            try write("", to: folder.appending(path: "twice.xcdatamodel/contents/contents"))
            try write("", to: folder.appending(path: "hollow.xcdatamodeld/V.xcdatamodel/x"))
            try write("bplist00", to: folder.appending(path: "compiled.mom"))
            let loop = folder.appending(path: "loop.xcdatamodeld")
            try FileManager.default.createDirectory(at: loop, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: loop.appending(path: "V.xcdatamodel"), withDestinationURL: loop)
            try FileManager.default.createSymbolicLink(
                at: folder.appending(path: "self.xcdatamodel"),
                withDestinationURL: folder.appending(path: "self.xcdatamodel"))
            try FileManager.default.createSymbolicLink(
                at: folder.appending(path: "device.xcdatamodel"), withDestinationURL: URL(filePath: "/dev/zero"))

            for (path, kind, message) in [
                ("no.xcdatamodel", ModelFileError.Kind.notFound, "no.xcdatamodel: the file does not exist"),
                (
                    "bare.xcdatamodel", .missingContents,
                    "bare.xcdatamodel: the folder has no file 'contents' and no versions, so it is not a model"
                ),
                (
                    "none.xcdatamodeld", .missingContents,
                    "none.xcdatamodeld: the folder contains no version; a version is a folder NAME.xcdatamodel"
                ),
                (
                    "twice.xcdatamodel", .wrongKindOfFile,
                    "twice.xcdatamodel/contents: this is a folder; name a file"
                ),
                (
                    "hollow.xcdatamodeld", .missingContents,
                    "hollow.xcdatamodeld/V.xcdatamodel: the folder has no file 'contents' and no "
                        + "versions, so it is not a model"
                ),
                (
                    "compiled.mom", .malformedArchive,
                    "compiled.mom: byte 0: this is not a binary property list of version 00"
                ),
                (
                    "loop.xcdatamodeld", .missingContents,
                    "loop.xcdatamodeld/V.xcdatamodel: the folder has no file 'contents' and no "
                        + "versions, so it is not a model"
                ),
                ("self.xcdatamodel", .wrongKindOfFile, "self.xcdatamodel: this is not a regular file"),
                ("device.xcdatamodel", .wrongKindOfFile, "device.xcdatamodel: this is not a regular file"),
            ] {
                let failure = try failure(folder.appending(path: path), in: folder)
                #expect(failure.0 == kind && failure.1 == message, "\(path): \(failure)")
            }
            let file = try #require(throws: ModelFileError.self) {
                try ModelVersions(contentsOf: folder.appending(path: "file.xcdatamodeld"))
            }
            #expect(file.problems.map(\.kind) == [.wrongKindOfFile])
        }
    }

    @Test func `a file that cannot be written is refused with its path`() throws {
        try withTemporaryFolder { folder in
            try write("x", to: folder.appending(path: "taken"))
            let error = try #require(throws: ModelFileError.self) {
                try ModelDocument(root: ModelElement(.model)).write(to: folder.appending(path: "taken/A.xcdatamodel"))
            }
            #expect(error.problems.map(\.kind) == [.inaccessible])
            #expect(error.path.hasSuffix("taken/A.xcdatamodel/contents"))
        }
    }
}
