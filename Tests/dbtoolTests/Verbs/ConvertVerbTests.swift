// `dbtool convert`: everything arrives in a file of each kind, from each kind; what cannot be is refused by name.

import EspalierCoreData
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ConvertVerbTests {
    private func withStore(_ body: (String, URL) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "albums.espalier").path
            try AlbumStore.make(at: path)
            let store = try BTreeStore.open(path: path, model: try AlbumStore.model())
            try store.setMetadata(["owner": .string("nobody")])
            try store.close()
            try body(path, folder)
        }
    }

    @Test func `a store goes through files of every kind and comes back as it was (PS-03)`() throws {
        try withStore { path, folder in
            let kinds = ["Binary", "BTree", "xml", "XML", "binary", "BTree"]
            var last = path
            for (number, kind) in kinds.enumerated() {
                let next = folder.appending(path: "\(number)").path
                let isXML = number > 0 && kinds[number - 1].uppercased() == "XML"
                let run =
                    isXML
                    ? ToolRun("convert", last, next, "--kind", kind, "--model", path)
                    : ToolRun("convert", last, next, "--kind", kind)
                #expect(run.code == 0, "\(kind): \(run.errors)")
                #expect(run.output.contains("\(next): 7 objects"), "\(run.output)")
                last = next
            }

            // Up to the first B-tree file all keys are the same; an XML file has each key once.
            let dump = ToolRun("dump", path, "--json").output
            #expect(!dump.isEmpty)
            #expect(ToolRun("dump", folder.appending(path: "1").path, "--json").output == dump)
            #expect(ToolRun("check", last).code == 0)
            for question in [["Album", "artist.name == 'Björk'"], ["Label", "ANY albums.title == 'Homogenic'"]] {
                let columns = question[0] == "Album" ? "title,year,price,artist.name" : "name"
                let (before, after) = (
                    ToolRun("fetch", path, question[0], question[1], "--columns", columns),
                    ToolRun("fetch", last, question[0], question[1], "--columns", columns)
                )
                #expect(before.code == 0 && !before.output.isEmpty, "\(before.errors)")
                #expect(after.output == before.output)
            }
            let store = try BTreeStore.open(path: last, model: try AlbumStore.model(), isReadOnly: true)
            #expect(try store.metadata() == ["owner": .string("nobody")])
            try store.close()
        }
    }

    @Test func `the JSON has both kinds, and the numbers of objects and of other keys`() throws {
        try withStore { path, _ in
            let run = ToolRun("convert", path, path + ".xml", "--kind", "XML", "--json")
            #expect(run.code == 0, "\(run.errors)")
            let json = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            #expect(json?["sourceKind"] as? String == "BTree" && json?["kind"] as? String == "XML")
            #expect(json?["file"] as? String == path + ".xml" && json?["source"] as? String == path)
            #expect(json?["objects"] as? [String: Int] == ["Artist": 2, "Album": 3, "Label": 2])
            // The seven objects have the keys 1 to 3, each of which one of them keeps.
            #expect(json?["otherKeys"] as? Int == 4)
        }
    }

    @Test func `what cannot be converted is refused by name, and leaves no file`() throws {
        try withStore { path, folder in
            let target = path + ".new"
            func expect(_ code: Int32, _ part: String, _ run: ToolRun) {
                #expect(run.code == code, "\(run.errors)")
                #expect(run.errors.contains(part), "\(run.errors)")
                #expect(run.output.isEmpty && !FileManager.default.fileExists(atPath: target), "\(run.errors)")
            }
            expect(2, "--kind is missing", ToolRun("convert", path, target))
            expect(2, "did you mean 'XML'?", ToolRun("convert", path, target, "--kind", "XLM"))
            expect(2, "has its model", ToolRun("convert", path, target, "--kind", "XML", "--model", path))
            expect(3, "nowhere", ToolRun("convert", path + "nowhere", target, "--kind", "XML"))

            let (xml, binary) = (path + ".xml", path + ".binary")
            #expect(ToolRun("convert", path, xml, "--kind", "XML").code == 0)
            #expect(ToolRun("convert", path, binary, "--kind", "Binary").code == 0)
            expect(2, "which has no model", ToolRun("convert", xml, target, "--kind", "BTree"))
            let again = ToolRun("convert", path, xml, "--kind", "XML")
            #expect(again.code == 3 && again.errors.contains("\(xml): the file exists already"), "\(again.errors)")

            var bytes = try Data(contentsOf: URL(filePath: binary))
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: binary))
            expect(1, "checksum", ToolRun("convert", binary, target, "--kind", "BTree"))
            let text = try String(contentsOfFile: xml, encoding: .utf8).replacing("ARTIST", with: "PAINTER")
            try text.write(toFile: xml, atomically: true, encoding: .utf8)
            expect(1, "'PAINTER'", ToolRun("convert", xml, target, "--kind", "BTree", "--model", path))
            try Data("no store".utf8).write(to: folder.appending(path: "other"))
            expect(3, "other", ToolRun("convert", folder.appending(path: "other").path, target, "--kind", "XML"))
        }
    }

    @Test func `a new file that cannot be written is not there afterwards`() throws {
        try withStore { path, folder in
            // The damage is found when the rows are read, after the new file was made.
            var bytes = try Data(contentsOf: URL(filePath: path))
            let range = try #require(bytes.range(of: Data("Pastel Blues".utf8)))
            bytes[range.lowerBound] ^= 1
            try bytes.write(to: URL(filePath: path))
            for kind in ["BTree", "XML"] {
                let run = ToolRun("convert", path, path + ".new", "--kind", kind)
                #expect(run.code == 1 && run.errors.hasPrefix("dbtool: \(path): Page "), "\(run.errors)")
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(!left.contains { $0.contains(".new") }, "\(left)")
            }
        }
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "case.espalier").path
            let model = try ManagedObjectModel(entities: [
                EntityDescription(
                    "Word", attributes: [AttributeDescription("text", .string), AttributeDescription("Text", .string)])
            ])
            try BTreeStore.open(path: path, model: model).close()
            let run = ToolRun("convert", path, path + ".xml", "--kind", "XML")
            #expect(run.code == 2, "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: path + ".xml"))
        }
    }
}
