// The care of a store with an attribute of many pages: each verb moves it, and damage to it is named (MD-22).
// `ESPALIER_LARGE_MIB` says how many MiB the value has.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct LargeAttributeCareTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Page",
                    attributes: [
                        AttributeDescription("title", .string),
                        AttributeDescription("scan", .binary, allowsExternalBinaryDataStorage: true),
                    ])
            ])
    }

    private static let value = AttributeValue.binary(Data(LargeValues.largest(0xEE)))

    /// Makes a store with two rows, of which the first has a large value.
    private static func make(at path: String) throws {
        let store = try BTreeStore.open(path: path, model: try model())
        let ids = try store.reserveIDs(for: try #require(store.model.entity(named: "Page")), count: 2)
        var request = SaveRequest()
        request.insertions = [
            .init(id: ids[0], values: [.string("large"), value], destinations: []),
            .init(id: ids[1], values: [.string("small"), .null], destinations: []),
        ]
        _ = try store.save(request)
        try store.close()
    }

    /// The titles of the rows in a store, and whether the first one has the large value.
    private static func content(_ path: String) throws -> (titles: [AttributeValue], isWhole: Bool) {
        let store = try BTreeStore.open(path: path, model: try model(), isReadOnly: true)
        defer { try? store.close() }
        let rows = try store.fetch(StoreFetch(entity: store.model.entities[0]))
        return (rows.map { $0.value(at: 0) }, rows.first?.value(at: 1) == value)
    }

    @Test func `a backup, compacted, shrunk, salvaged and rebuilt stores have a large value whole (MD-22)`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "pages.espalier").path
            try Self.make(at: path)
            #expect(ToolRun("check", path).output.hasPrefix("\(path): ok\n"))
            for verb in ["backup", "compact", "salvage"] {
                let run = ToolRun(verb, path, path + "." + verb)
                #expect(run.code == 0, "\(verb): \(run.errors)")
                #expect(try Self.content(path + "." + verb) == ([.string("large"), .string("small")], true), "\(verb)")
                #expect(ToolRun("check", path + "." + verb).code == 0)
            }
            for verb in ["shrink", "rebuild", "compact"] {
                #expect(ToolRun(verb, path).code == 0, "\(verb)")
                #expect(try Self.content(path) == ([.string("large"), .string("small")], true), "\(verb)")
            }
            let store = try BTreeStore.open(path: path, model: try Self.model())
            let row = try #require(try store.fetch(StoreFetch(entity: store.model.entities[0])).first)
            var request = SaveRequest()
            request.deletions = [.init(id: row.id, expectedVersion: row.version)]
            _ = try store.save(request)
            try store.close()
            #expect(ToolRun("shrink", path).code == 0)
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            #expect(size < LargeValues.mebibytes << 19, "\(size) bytes are left of a deleted value")
            #expect(ToolRun("check", path).code == 0)
        }
    }

    @Test func `a damaged page of a large value is named by check, and the salvage keeps the other rows (MD-22)`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "pages.espalier").path
            try Self.make(at: path)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let range = try #require(bytes.range(of: Data(repeating: 0xEE, count: 2_000)))
            bytes[range.lowerBound + 1_000] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))
            let pageNumber = (range.lowerBound + 1_000) / 4096

            let check = ToolRun("check", path)
            #expect(check.code == 1)
            #expect(check.output.contains("age \(pageNumber)"), "\(check.output)")
            #expect(check.output.contains("rows:Page"), "\(check.output)")
            let salvage = ToolRun("salvage", path, path + ".new")
            #expect(salvage.code == 1, "\(salvage.output) \(salvage.errors)")
            #expect(try Self.content(path + ".new").titles == [.string("small")])
            #expect(ToolRun("check", path + ".new").code == 0)
        }
    }
}
