// The ends of every size that a store of Core Data has: no row, keys of all widths, a value of 30 MB, numbers that no
// attribute holds.

import EspalierCoreData
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct ImportSizeTests {
    private static let keys: [UInt64] = [255, 256, 1 << 32 - 1, 1 << 32, 1 << 62, 1 << 63 - 1]

    /// The store of all ends, read once: to inflate its 30 MB takes longer than to import it.
    private static let edges = Result { try Files.bytes("zoo-edges.sqlite") }
    /// Limits of one row and one member, so that each is a save of its own.
    private static let ones = ImportLimits(rowCount: 1, rowCountMax: 1, memberCount: 1)

    private func withEdges(_ limits: ImportLimits, _ body: (ImportedStore) throws -> Void) throws {
        try ImportedStore.with(
            files: ["zoo.sqlite": try Self.edges.get()], name: "zoo.sqlite", model: try Files.zooModel(),
            limits: limits, body)
    }

    @Test func `rows with keys of every width arrive, with what leads to them, and a value of 30 MB`() throws {
        try withEdges(Self.ones) { zoo throws in
            #expect(try zoo.value("Person", 1 << 32 - 1, "raw") == .binary(Data(count: 30_000_000)))
            for (key, next) in zip(Self.keys, Self.keys.dropFirst()) {
                #expect(try zoo.destination("Person", next, "boss") == "Person/\(key)")
                #expect(try zoo.destinations("Person", key, "reports") == [next])
            }
            #expect(try zoo.destination("Person", 255, "boss") == "Person/\(UInt64(Int64.max))")
            #expect(try zoo.value("Person", 1 << 63 - 1, "name") == .string("all"))
            #expect(try zoo.destinations("Club", 1, "members") == [2, 5, 1, 1 << 63 - 1])
            #expect(try zoo.destinations("Club", 2, "members") == [1 << 32])
            #expect(zoo.report.objectCounts["Person"] == 10)
        }
    }

    @Test func `a number that its attribute cannot hold is listed, and an infinite one arrives`() throws {
        try withEdges(ImportLimits()) { zoo throws in
            let found = Set(zoo.report.findings.map { "\($0.kind) \($0.entity)/\($0.key).\($0.property)" })
            #expect(
                found == [
                    "metadata /0.list", "externalFile Person/2.photo", "value Person/256.height",
                    "value Person/256.amount",
                ])
            #expect(
                try zoo.value("Person", 255, "birth") == .date(Date(timeIntervalSinceReferenceDate: .infinity)))
            #expect(try zoo.value("Person", 255, "height") == .float(-.infinity))
            #expect(try zoo.value("Person", 255, "weight") == .double(.infinity))
            #expect(try zoo.value("Person", 256, "birth") == .date(Date(timeIntervalSinceReferenceDate: 9e300)))
        }
    }

    @Test func `a batch may have an eighth of the rows that are written, within its limits`() throws {
        let system = try Files.system(["many": try Files.bytes("zoo-many.sqlite")])
        var counts = [0]
        let report = try CoreDataImport.importStore(
            at: "many", to: "new", model: try Files.zooModel(), in: system,
            limits: ImportLimits(rowCount: 4, rowCountMax: 16),
            progress: { count in
                counts.append(count)
                return true
            })
        let batches = zip(counts, counts.dropFirst()).map { (before: $0, rows: $1 - $0) }

        #expect(batches.allSatisfy { $0.rows <= min(max(4, $0.before / 8), 16) })
        #expect(batches.map(\.rows).max() == 16)
        #expect(counts.last == report.objectCounts.values.reduce(0, +))
    }

    /// The numbers of rows in the batches of an import of objects, each with this content in XML.
    private func batches(_ objects: [String], of type: String, byteCount: Int) throws -> [Int] {
        let parts = objects.enumerated().map { "<object type=\"\(type)\" id=\"z\($0 + 102)\">\($1)</object>" }
        let text = """
            <?xml version="1.0" standalone="no"?>
            <database>
            <databaseInfo><version>134481920</version><UUID>C65371D9-4DC3-4EF7-87F9-C94695659E94</UUID></databaseInfo>
            \(parts.joined(separator: "\n"))
            </database>
            """
        var counts = [0]
        let report = try CoreDataImport.importStore(
            at: "zoo.xml", to: "new", model: try Files.zooModel(),
            in: try Files.system(["zoo.xml": Array(text.utf8)]), limits: ImportLimits(byteCount: byteCount),
            progress: { count in
                counts.append(count)
                return true
            })
        #expect(report.objectCounts.values.reduce(0, +) == objects.count, "\(report.findings)")
        return zip(counts, counts.dropFirst()).map { $1 - $0 }.filter { $0 > 0 }
    }

    @Test func `a batch ends after a number of bytes, whatever the type of the values that have them`() throws {
        let length = 10_000
        let text = String(repeating: "a", count: length)
        let values = [
            "<attribute name=\"name\" type=\"string\">\(text)</attribute>",
            "<attribute name=\"homepage\" type=\"uri\">https://a.example/\(text)</attribute>",
            "<attribute name=\"raw\" type=\"binary\">\(Data(count: length).base64EncodedString())</attribute>",
        ]
        for value in values {
            // The rest of a row is smaller than its long value.
            let batches = try batches(Array(repeating: value, count: 20), of: "PERSON", byteCount: 3 * length)
            #expect(batches.allSatisfy { $0 <= 3 } && batches.reduce(0, +) == 20, "\(value.prefix(40)): \(batches)")
        }
    }

    @Test func `destinations count among the bytes of a batch`() throws {
        let row = MemoryLayout<AttributeValue>.stride + MemoryLayout<ObjectID?>.stride
        let number = "<attribute name=\"number\" type=\"string\">1</attribute>"
        let batches = try batches(Array(repeating: number, count: 40), of: "PASSPORT", byteCount: 10 * row)

        #expect(batches == [10, 10, 10, 10])
    }

    @Test func `a store without a row is a store without a row`() throws {
        for limits in [ImportLimits(), Self.ones] {
            try ImportedStore.with(
                files: ["zoo.sqlite": try Files.bytes("zoo-empty.sqlite")], name: "zoo.sqlite",
                model: try Files.zooModel(), limits: limits
            ) { zoo throws in
                #expect(zoo.report.objectCounts.values.allSatisfy { $0 == 0 })
                #expect(zoo.report.findings.map(\.kind) == [.metadata])
                let person = try #require(zoo.store.model.entity(named: "Person"))
                #expect(try zoo.store.fetchIDs(StoreFetch(entity: person)).isEmpty)
            }
        }
    }
}
