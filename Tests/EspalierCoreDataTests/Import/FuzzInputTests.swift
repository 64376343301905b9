// The stores of Core Data among the inputs of the fuzz bodies `sqlite` and `xml-store`: they are imported, so that a
// campaign begins with files that reach every part of the import.

import EspalierCoreData
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct FuzzInputTests {
    private static let folder = Checkout.root.appending(path: "Fuzz/Corpus/sqlite")

    /// An input as the body takes it: the file, and perhaps its log.
    private func files(_ name: String) throws -> [String: [UInt8]] {
        let bytes = [UInt8](try Data(contentsOf: Self.folder.appending(path: name)))
        let logByteCount = Int(bytes[0]) | Int(bytes[1]) << 8
        let content = bytes.dropFirst(2)
        let file = ["file": [UInt8](content.dropLast(logByteCount))]
        return logByteCount == 0 ? file : file.merging(["file-wal": [UInt8](content.suffix(logByteCount))]) { $1 }
    }

    @Test(
        arguments: [
            ("zoo", 16), ("zoo-broken", 16), ("zoo-empty", 0), ("zoo-log", 15), ("zoo-page-1024", 16),
            ("zoo-utf-16be", 16), ("zoo-utf-16le", 16),
        ])
    func `an input with the tables and the model of a store is imported`(name: String, count: Int) throws {
        try ImportedStore.with(files: try files(name), name: "file") { imported in
            #expect(imported.report.objectCounts.values.reduce(0, +) == count)
            if name == "zoo-broken" { return }
            // The file beside the store that has a value is not there.
            let hasPhoto = imported.report.findings.contains { $0.kind == .externalFile }
            #expect(hasPhoto == (name != "zoo-empty"))
        }
    }

    @Test func `the seed in XML has every type of value and every kind of relationship, and arrives whole`() throws {
        let seed = Checkout.root.appending(path: "Fuzz/Corpus/xml-store/zoo")
        let bytes = [UInt8](try Data(contentsOf: seed))
        try ImportedStore.with(files: ["zoo.xml": bytes], name: "zoo.xml", model: try Files.zooModel()) { zoo throws in
            #expect(zoo.report.isComplete, "\(zoo.report.findings)")
            #expect(zoo.report.objectCounts.values.reduce(0, +) == 7)
            let person = try #require(try zoo.row("Person", 102))
            let entity = try #require(zoo.store.model.entity(named: "Person"))
            for attribute in entity.attributes where attribute.name != "photo" {
                #expect(!person.value(at: attribute.slot).isNull, "\(attribute.name)")
            }
            #expect(try zoo.destinations("Person", 102, "pets") == [105, 103])
            #expect(try zoo.destinations("Club", 106, "members") == [108, 102])
            #expect(try zoo.destination("Person", 108, "boss") == "Person/102")
        }
    }

    @Test func `inputs are small, and their sizes, encodings and logs differ`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        var (byteCount, logCount): (Int, Int) = (0, 0)
        var formats: Set<[UInt8]> = []
        for name in names {
            let files = try files(name)
            let file = try #require(files["file"])
            let size = file.count + (files["file-wal"]?.count ?? 0)
            #expect(size < 40_000, "\(name)")
            byteCount += size
            if files["file-wal"] != nil { logCount += 1 }
            // The size of pages, the reserved bytes and the encoding.
            formats.insert([file[16], file[17], file[20], file[59]])
        }

        #expect(byteCount < 500_000)
        #expect(names.count >= 30 && logCount >= 5 && formats.count >= 8)
    }
}
