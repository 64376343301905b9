// `salvage`: the rows that an application recovers from a damaged file, and the report for scripts.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct SalvageVerbTests {
    /// Makes an object store whose pages `pages` are overwritten with noise; `new` is the path for the salvaged store.
    private func withDamagedStore(_ pages: [Int], _ body: (_ path: String, _ new: String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var chance = SeededGenerator(seed: 3)
            for page in pages {
                for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = .random(in: 0...255, using: &chance) }
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            try body(path, folder.appendingPathComponent("saved.espalier").path)
        }
    }

    @Test func `an object store without superblock and catalog comes back with all its names`() throws {
        var whole = ""
        try withDamagedStore([]) { path, _ in whole = ToolRun("dump", path, "Album").output }
        for pages in [[0, 2], [0], [2]] {
            try withDamagedStore(pages) { path, new in
                let run = ToolRun("salvage", path, new, "--damaged")

                #expect(run.code == 1, "\(run.errors)")
                #expect(run.output.contains("rows:Album"), "\(run.output)")
                #expect(!run.output.contains("lost+found"), "\(run.output)")
                #expect(ToolRun("check", new).code == 0)
                #expect(ToolRun("dump", new, "Album").output == whole)
            }
        }
    }

    /// The values of all rows, with their keys.
    private func values(_ path: String, _ model: ManagedObjectModel) throws -> [UInt64: [AttributeValue]] {
        let store = try BTreeStore.open(path: path, model: model, isReadOnly: true)
        defer { try? store.close() }
        let entity = model.entities[0]
        let (ids, rows) = (
            try store.fetchIDs(StoreFetch(entity: entity)), try store.fetch(StoreFetch(entity: entity))
        )
        return Dictionary(
            uniqueKeysWithValues: zip(ids, rows).map { id, row in
                (id.key, entity.attributes.map { row.value(at: $0.slot) })
            })
    }

    @Test(arguments: [[], [0], [2], [0, 2]])
    func `rows that have a default only in their layout keep it in a salvaged store`(pages: [Int]) throws {
        try withTemporaryFolder { folder in
            let (path, new) = (folder.appending(path: "a").path, folder.appending(path: "b").path)
            let name = AttributeDescription("name", .string)
            let former = try ManagedObjectModel(entities: [EntityDescription("Thing", attributes: [name])])
            let newer = try ManagedObjectModel(entities: [
                EntityDescription(
                    "Thing",
                    attributes: [
                        name,
                        AttributeDescription("size", .string, isOptional: false, defaultValue: .string("Größe")),
                        AttributeDescription(
                            "long", .string, isOptional: false,
                            defaultValue: .string(String(repeating: "長", count: 5000))),
                    ])
            ])
            for model in [former, newer] {
                // The second opening migrates; the rows that it inserts have values of their own.
                let store = try BTreeStore.open(path: path, model: model)
                var request = SaveRequest()
                for number in 0..<200 {
                    let values: [AttributeValue] = [.string("thing \(number)"), .string("own"), .string("own")]
                    request.insertions.append(
                        .init(
                            id: ObjectID(temporaryFor: "Thing"),
                            values: Array(values.prefix(model.entities[0].attributes.count)), destinations: []))
                }
                _ = try store.save(request)
                try store.close()
            }
            let before = try values(path, newer)
            var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            for page in pages { for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = 0xA5 } }
            try Data(bytes).write(to: URL(filePath: path))

            let run = ToolRun("salvage", path, new, "--damaged")

            #expect(run.code == (pages.isEmpty ? 0 : 1), "\(run.output)\(run.errors)")
            #expect(before.count == 400 && before.values.count { $0[1] == .string("Größe") } == 200)
            #expect(try values(new, newer) == before)
            #expect(ToolRun("check", new).code == 0 && ToolRun("audit", new).code == 0)
        }
    }

    @Test func `without any key to the checksums it says what to do instead of guessing`() throws {
        try withDamagedStore([0]) { path, new in
            let run = ToolRun("salvage", path, new)

            #expect(run.code != 0)
            #expect(run.errors.contains("use --damaged to accept pages with a sound structure"))
            #expect(!FileManager.default.fileExists(atPath: new))
        }
    }

    @Test func `a whole store gives code 0, an existing file is left alone`() throws {
        try withDamagedStore([]) { path, new in
            let run = ToolRun("salvage", path, new, "--json")
            let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]

            #expect(run.code == 0, "\(run.errors)")
            #expect(report?["lostRows"] as? Int == 0)
            #expect(report?["readBy"] as? String == "superblock")
            let before = try Data(contentsOf: URL(fileURLWithPath: new))
            #expect(ToolRun("salvage", path, new).errors.contains("the file exists"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: new)) == before)
        }
    }

    @Test func `repair writes the superblock anew from its copy, and only that`() throws {
        try withDamagedStore([]) { path, _ in
            let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var bad = good
            bad[64] ^= 1
            try Data(bad).write(to: URL(fileURLWithPath: path))

            #expect(ToolRun("check", path).code == 1)
            #expect(ToolRun("repair", path).output == "\(path): repaired\n")
            #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) == good)
            #expect(ToolRun("repair", path).output == "\(path): the superblock and its copy are intact\n")
            #expect(ToolRun("check", path).code == 0)
        }
    }
}
