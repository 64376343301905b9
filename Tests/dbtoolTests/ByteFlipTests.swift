// Damage in a store file, byte by byte: `check` names the page and the tree, and `page` and `pages` still show it.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ByteFlipTests {
    /// A store with integer keys, bytes keys, values in overflow pages and free pages; closed.
    private static func makeStore(at path: String) throws {
        let database = try Database.open(path)
        var write = try database.beginWrite()
        let numbers = try write.createTree(named: "numbers", keys: UInt64.self)
        for key in 1...900 as ClosedRange<UInt64> {
            try write.put([UInt8](repeating: UInt8(key % 251), count: Int(key % 40)), for: key, in: numbers)
        }
        let words = try write.createTree(named: "words", keys: [UInt8].self)
        for key in 0..<600 {
            try write.put(Array("value \(key)".utf8), for: Array("word \(key * 7919)".utf8), in: words)
        }
        try write.put([UInt8](repeating: 7, count: 20_000), for: Array("large".utf8), in: words)
        let gone = try write.createTree(named: "gone", keys: UInt64.self)
        for key in 1...200 as ClosedRange<UInt64> { try write.put([1, 2, 3], for: key, in: gone) }
        try write.commit()
        var drop = try database.beginWrite()
        try drop.dropTree(gone)
        try drop.commit()
        try database.close()
    }

    /// The tree of each page of an intact store; pages that belong to no tree are left out.
    private static func treesOfPages(_ path: String) throws -> [UInt64: String] {
        let names = TreeNames.read(path)
        let image = try StoreImage(path: path)
        let map = try PageUses(image, Console(output: StringSink(), errors: StringSink()))
        var trees: [UInt64: String] = [:]
        for number in 0..<image.pageCount {
            switch try #require(map.use(of: number)) {
            case .interior, .leaf, .overflow: trees[number] = names[try image.page(number).treeID]
            case .superblock, .bitmap, .free, .damaged: break
            }
        }
        return trees
    }

    private static func flip(_ offset: Int, in bytes: Data, bit: UInt8, to path: String) throws {
        var damaged = bytes
        damaged[damaged.startIndex + offset] ^= 1 << bit
        try damaged.write(to: URL(fileURLWithPath: path))
    }

    @Test func `an intact store is ok, with every page counted`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("intact.espalier").path
            try Self.makeStore(at: path)
            let check = ToolRun("check", path)
            let map = ToolRun("pages", path)

            #expect(check.code == 0)
            #expect(check.output.hasPrefix("\(path): ok\n"))
            #expect(map.code == 0)
            #expect(!map.output.contains("damaged"))
        }
    }

    @Test func `a flipped bit in the content of any page makes check name the page and its tree`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("damaged.espalier").path
            try Self.makeStore(at: path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let trees = try Self.treesOfPages(path)
            var random = SeededGenerator(seed: testSeed(default: 4_096))

            #expect(Set(trees.values) == ["(catalog)", "numbers", "words"])
            for (page, tree) in trees.sorted(by: { $0.key < $1.key }) {
                for _ in 0..<campaignCount("ESPALIER_FLIPS", default: 2) {
                    let offset = Int(page) * 4096 + Int.random(in: 0..<4096, using: &random)
                    try Self.flip(offset, in: bytes, bit: UInt8.random(in: 0...7, using: &random), to: path)
                    let run = ToolRun("check", path)
                    let place = "byte \(offset % 4096) of page \(page) of \(tree)"

                    #expect(run.code == 1, "\(place): \(run.output)\(run.errors)")
                    #expect(run.output.contains("Page \(page) "), "\(place): \(run.output)")
                    #expect(run.output.contains(tree), "\(place): \(run.output)")
                    #expect(ToolRun("page", path, "\(page)").code == 1, "\(place)")
                }
            }
        }
    }

    @Test func `a flipped bit anywhere in page 0 makes check name page 0`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("damaged.espalier").path
            try Self.makeStore(at: path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            // The superblock, the slots that have been written, the mirror, and bytes that are always zero.
            let image = try StoreImage(path: path)
            let slots = SuperblockLayout.slots.filter { image.page0.slot(at: $0) != nil }
            for offset in [0, 20, 70, 300, 510] + slots.flatMap({ [$0, $0 + 30, $0 + 300] }) + [2048, 2300, 2600, 4095]
            {
                try Self.flip(offset, in: bytes, bit: 2, to: path)
                let run = ToolRun("check", path)

                #expect(run.code == 1, "byte \(offset): \(run.output)\(run.errors)")
                #expect(run.output.contains("Page 0 is damaged at byte"), "byte \(offset): \(run.output)")
            }
        }
    }

    @Test func `a page that the file does not have is refused with the range, with code 2`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("small.espalier").path
            try Database.open(path).close()

            #expect(ToolRun("page", path, "3000").code == 2)
            #expect(ToolRun("page", path, "3000").errors.contains("has no page 3000: its pages are 0 to "))
            #expect(ToolRun("page", path, "two").errors.hasPrefix("dbtool: N must be a page number, not 'two'\n"))
        }
    }

    @Test func `a damaged store gives its findings to programs as well`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("damaged.espalier").path
            try Self.makeStore(at: path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let page = try #require(Self.treesOfPages(path).first { $0.value == "words" }?.key)
            try Self.flip(Int(page) * 4096 + 100, in: bytes, bit: 3, to: path)

            let run = ToolRun("check", path, "--json")
            let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
            let findings = report?["findings"] as? [[String: Any]]

            #expect(run.code == 1)
            #expect(report?["ok"] as? Bool == false)
            #expect(findings?.contains { ($0["page"] as? NSNumber)?.uint64Value == page } == true)
            #expect(findings?.contains { $0["tree"] as? String == "words" } == true)
        }
    }

    @Test func `without a superblock the pages can still be read, from its copy`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("headless.espalier").path
            try Self.makeStore(at: path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try Self.flip(70, in: bytes, bit: 0, to: path)

            let superblock = ToolRun("page", path, "0")
            let leaf = ToolRun("page", path, "2")

            #expect(superblock.code == 1)
            #expect(superblock.output.contains("its copy at byte 2048 is intact"))
            #expect(leaf.code == 0)
            #expect(ToolRun("pages", path).code == 1)
            #expect(ToolRun("check", path).code == 1)
        }
    }

    @Test func `what page shows of a leaf is what the engine reads from it`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("cells.espalier").path
            try Self.makeStore(at: path)
            let image = try StoreImage(path: path)
            var values: [UInt64: [UInt8]] = [:]
            for number in 0..<image.pageCount {
                let page = try image.page(number)
                guard page.type == .leafInteger, TreeNames.read(path)[page.treeID] == "numbers" else { continue }
                for cell in page.cells {
                    guard case .integer(let key) = cell.key, case .value(let value) = cell.content else { continue }
                    values[key] = value
                }
            }

            #expect(values.count == 900)
            for (key, value) in values {
                #expect(value == [UInt8](repeating: UInt8(key % 251), count: Int(key % 40)))
            }
        }
    }
}
