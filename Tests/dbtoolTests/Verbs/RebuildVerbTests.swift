// `rebuild`, and `salvage` of object stores: indexes and links are rebuilt from the rows, and `check` is then correct.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct RebuildVerbTests {
    /// Makes a store of albums, whose trees `damage` changes in a commit, and calls `body` with its path after closing
    /// it.
    private func withStore(
        _ damage: (inout WriteTransaction, String) throws -> Void = { _, _ in }, _ body: (String) throws -> Void
    ) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            let database = try Database.open(path)
            var transaction = try database.beginWrite()
            try damage(&transaction, path)
            try transaction.commit()
            try database.close()
            try body(path)
        }
    }

    private func empty(_ name: String, _ transaction: inout WriteTransaction) throws {
        let tree = try transaction.tree(named: name)
        try transaction.removeAll(from: try #require(tree))
    }

    @Test func `a store in order has nothing to rebuild`() throws {
        try withStore { path in
            let before = try Data(contentsOf: URL(fileURLWithPath: path))

            let run = ToolRun("rebuild", path)

            #expect(run.code == 0 && run.output == "\(path): nothing to rebuild\n")
            #expect(ToolRun("rebuild", path, "--dry-run").code == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == before.count)
        }
    }

    @Test func `derived trees that lost their entries are announced, rebuilt, and found whole`() throws {
        try withStore({ transaction, _ in
            for name in ["unique:Artist.name", "index:Artist.name", "links:Artist.albums", "links:Label.albums"] {
                try empty(name, &transaction)
            }
            try empty("counters", &transaction)
        }) { path in
            #expect(ToolRun("check", path).code == 1)
            let plan = ToolRun("rebuild", path, "--dry-run")
            #expect(plan.code == 1 && plan.output.hasPrefix("\(path): would be rebuilt: 4 trees, "))
            #expect(ToolRun("check", path).code == 1)

            let run = ToolRun("rebuild", path)

            #expect(run.code == 0 && run.errors == "")
            #expect(run.output.hasPrefix("\(path): rebuilt: 4 trees, "))
            #expect(run.output.contains("unique:Artist.name        0      2      2        0         0"))
            #expect(ToolRun("check", path).output.hasPrefix("\(path): ok\n"))
            #expect(ToolRun("audit", path).code == 0)
            #expect(ToolRun("rebuild", path).output == "\(path): nothing to rebuild\n")
        }
    }

    @Test func `rebuild tells programs what it changed`() throws {
        try withStore({ transaction, _ in try empty("unique:Artist.name", &transaction) }) { path in
            let plan =
                try JSONSerialization.jsonObject(
                    with: Data(ToolRun("rebuild", path, "--dry-run", "--json").output.utf8)) as? [String: Any]
            let report =
                try JSONSerialization.jsonObject(
                    with: Data(ToolRun("rebuild", path, "--json").output.utf8)) as? [String: Any]

            #expect(plan?["dryRun"] as? Bool == true && plan?["ok"] as? Bool == false)
            #expect(report?["dryRun"] as? Bool == false && report?["ok"] as? Bool == true)
            let trees = report?["trees"] as? [[String: Any]]
            let tree = trees?.first { $0["name"] as? String == "unique:Artist.name" }
            #expect(tree?["entriesBefore"] as? Int == 0 && tree?["entriesAfter"] as? Int == 2)
            #expect(tree?["added"] as? Int == 2)
        }
    }

    @Test func `rows that share a unique value are listed by check and rebuild, and stay`() throws {
        try withStore({ transaction, _ in
            let found = try transaction.tree(named: "rows:Artist", keys: UInt64.self)
            let rows = try #require(found)
            let row = try transaction.get(1, from: rows)
            try transaction.put(try #require(row), for: 2, in: rows)
        }) { path in
            let run = ToolRun("rebuild", path)

            let sentence = "Artist/1 and Artist/2 have the same name, which must be unique."
            #expect(run.code == 1 && run.output.contains("not changed: \(sentence)"), "\(run.output)")
            let check = ToolRun("check", path)
            #expect(check.code == 1 && check.output.hasPrefix("\(path): \(sentence)\n\(path): 1 problem\n"))
            #expect(ToolRun("fetch", path, "Artist", "name == 'Nina Simone'", "--count").output == "2\n")
        }
    }

    @Test func `a store that lost a whole derived tree is mended, and check says what is wrong before`() throws {
        try withStore({ transaction, _ in
            let found = try transaction.tree(named: "links:Album.labels", keys: [UInt8].self)
            try transaction.dropTree(try #require(found))
        }) { path in
            let check = ToolRun("check", path)
            #expect(check.code == 1)
            #expect(check.output.contains("The objects cannot be read: tree \"links:Album.labels\" is missing."))

            #expect(ToolRun("rebuild", path).output.contains("links:Album.labels  missing"))
            #expect(ToolRun("check", path).code == 0)
        }
    }

    @Test func `a store without objects has nothing that could be rebuilt`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("plain.espalier").path
            try Database.open(path).close()

            #expect(ToolRun("rebuild", path).code == 3)
            #expect(ToolRun("rebuild", path).errors.contains("there is nothing to rebuild"))
            #expect(ToolRun("rebuild", path + "-absent").errors.contains("the file does not exist"))
        }
    }

    // MARK: Salvage of the demo's store

    /// The numbers of a tree's pages of one type, in a store with pages of 4,096 bytes.
    private func pages(of tree: String, in path: String, type: UInt8) throws -> [Int] {
        let names = TreeNames.read(path)
        let id = try #require(names.first { $0.value == tree }?.key)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        return (1..<bytes.count / 4096).filter { page in
            bytes[page * 4096 + 12] == type && UInt32(bytes[page * 4096 + 24]) == id
                && bytes[page * 4096 + 25...page * 4096 + 27].allSatisfy { $0 == 0 }
        }
    }

    private func damage(_ path: String, at offset: Int) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for index in offset..<offset + 4 { bytes[index] ^= 0x5A }
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    @Test func `after a salvage asking by index and by scan gives the same rows, and check tells the truth`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("demo.espalier").path
            let new = folder.appendingPathComponent("new.espalier").path
            #expect(ToolRun("demo", path).code == 0)
            let leaf = try pages(of: "unique:Track.trackID", in: path, type: 2)[5]
            let identifiers = stride(from: 1, through: 3503, by: 100).map { $0 }
            try damage(path, at: leaf * 4096 + 2000)

            let run = ToolRun("salvage", path, new)

            #expect(run.code == 1 && run.output.contains("unique:Track.trackID"), "\(run.errors)")
            #expect(ToolRun("check", new).output.hasPrefix("\(new): ok\n"))
            #expect(ToolRun("audit", new).code == 0)
            for identifier in identifiers {
                let found = ToolRun("fetch", new, "Track", "trackID == \(identifier)", "--count").output
                #expect(found == "1\n", "track \(identifier)")
                #expect(ToolRun("fetch", new, "Track", "trackID + 0 == \(identifier)", "--count").output == found)
            }
            let report = ToolRun("rebuild", new, "--json").output
            #expect(report.contains("\"changed\":false"))
        }
    }

    @Test func `a damaged root is told before what it hides, in one line`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("demo.espalier").path
            #expect(ToolRun("demo", path).code == 0)
            let root = try pages(of: "rows:Track", in: path, type: 4)[0]
            try damage(path, at: root * 4096 + 2000)

            let run = ToolRun("check", path)
            let report =
                try JSONSerialization.jsonObject(
                    with: Data(ToolRun("check", path, "--json").output.utf8)) as? [String: Any]

            let lines = run.output.split(separator: "\n").prefix(3).map(String.init)
            #expect(lines[0].contains("Tree \"rows:Track\": Page \(root) of tree"))
            #expect(lines[1].hasPrefix("\(path): ") && lines[1].hasSuffix(" pages cannot be reached because of it."))
            #expect(lines[2] == "\(path): 1 problem")
            let unreached = report?["unreached"] as? [[String: Any]]
            #expect(unreached?.count == 1 && unreached?[0]["tree"] as? String == "rows:Track")
            #expect(unreached?[0]["pages"] as? Int ?? 0 > 50)
        }
    }

    @Test func `a slot that is empty or in another's place is damage, as the audit says`() throws {
        try withStore { path in
            let sound = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            // SAFETY: the span does not leave the closure.
            let newest = try unsafe sound.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
            try? FileManager.default.removeItem(atPath: path + "-wal")
            for place in SuperblockLayout.slots where place != newest.byteOffset {
                for content in [[UInt8](repeating: 0, count: 512), newest.encoded()] {
                    var bytes = sound
                    bytes.replaceSubrange(place..<place + 512, with: content)
                    try Data(bytes).write(to: URL(fileURLWithPath: path))

                    #expect(ToolRun("check", path).code == 1)
                    #expect(ToolRun("audit", path).code == 1)
                }
            }
        }
    }
}
