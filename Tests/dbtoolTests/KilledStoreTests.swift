// The tool on a store whose newest commits are only in its log, as after a kill and under a running writer.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct KilledStoreTests {
    /// Fills a store with 80 commits and calls `body` with its path while it is open, then with the path of a copy.
    private static func withStores(_ body: (_ path: String, _ commitCount: Int) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "live.espalier").path
            let database = try Database.open(path)
            for round in 0..<80 {
                var write = try database.beginWrite()
                let tree = try write.tree(named: "numbers", orCreate: UInt64.self)
                for key in 0..<20 as Range<UInt64> {
                    try write.put([UInt8](repeating: 7, count: 200), for: UInt64(round) * 20 + key, in: tree)
                }
                try write.commit()
            }
            try body(path, 80)
            let killed = folder.appending(path: "killed.espalier").path
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: killed + suffix)
            }
            try database.close()
            try body(killed, 80)
            try #require(ToolRun("info", path).code == 0)
            #expect(ToolRun("info", path).output.contains("none"), "a closed store has no log")
        }
    }

    @Test func `info says how long the log is, and how much of it the store file does not have yet`() throws {
        try Self.withStores { path, commitCount in
            let size = try #require(
                try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? UInt64)

            let text = ToolRun("info", path)
            let json = ToolRun("info", path, "--json")
            let facts = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])

            #expect(text.code == 0, "\(text.errors)")
            #expect(text.output.contains("in \(commitCount) commits not yet in the store file"), "\(text.output)")
            #expect(facts["logBytes"] as? UInt64 == size)
            #expect(facts["logCommits"] as? Int == commitCount)
            let live = try #require(facts["logLiveBytes"] as? UInt64)
            #expect(live > UInt64(commitCount) * 4096 && live <= size, "\(live) of \(size)")
        }
    }

    @Test func `page shows every page of the newest state, and where it came from`() throws {
        try Self.withStores { path, _ in
            let database = try openForReading(path)
            let count = database.statistics.pageCount
            try database.close()

            let inFile = try StoreImage(path: path).pageCount

            #expect(count > 50 && inFile < 10)
            // Both sides of the border, and every seventh page.
            for number in 0..<count where number < inFile + 3 || number >= count - 2 || number % 7 == 0 {
                let page = ToolRun("page", path, "\(number)")
                #expect(page.code == 0, "page \(number): \(page.output.prefix(300))\(page.errors)")
                let isOld = page.output.contains("This is the version in the store file; the log has a newer one")
                let isNew = page.output.contains(
                    "This is the version in the log; the store file does not have the page yet.")
                #expect(isNew == (number >= inFile), "page \(number): \(page.output.prefix(300))")
                #expect(isOld || isNew || number < 2, "page \(number): \(page.output.prefix(300))")
            }
            let root = ToolRun("page", path, "2", "--newest", "--json")
            #expect(root.output.contains(#""from":"log","newerInLog":false"#), "\(root.output.prefix(300))")
            #expect(ToolRun("page", path, "2", "--json").output.contains(#""cell count":"0""#))
            #expect(ToolRun("page", path, "\(count)").errors.contains("its pages are 0 to \(count - 1)"))
        }
    }
}
