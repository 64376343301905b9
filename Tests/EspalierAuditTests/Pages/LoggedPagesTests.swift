// The log's additions to a store file, as a tool reads them: the numbers of commits and bytes, and the newest pages.

import EspalierEngine
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct LoggedPagesTests {
    private func logged(_ files: ForgedFiles) throws -> LoggedPages {
        try #require(try LoggedPages(store: files.store, log: files.log))
    }

    /// A store with `count` commits in its log since a checkpoint, or since its creation; and the same store after the
    /// next checkpoint.
    private func killed(commits count: Int, afterCheckpoint: Bool) throws -> (files: ForgedFiles, next: ForgedFiles) {
        let system = SimulatedFileSystem(seed: 8)
        let database = try Database.open("store", in: system, options: SampleStores.options)
        if afterCheckpoint {
            try SampleStores.fill(database, round: 0)
            try database.checkpoint(.passive)
        }
        for round in 0..<count {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "rounds", orCreate: UInt64.self)
            try write.put([UInt8](repeating: 7, count: 200), for: UInt64(round), in: tree)
            try write.commit()
        }
        let files = ForgedFiles(system)
        try database.checkpoint(.passive)
        return (files, ForgedFiles(system))
    }

    @Test(arguments: [0, 1, 12], [false, true])
    func `commits that the store file does not have are counted, and the bytes of the log that they take`(
        count: Int, afterCheckpoint: Bool
    ) throws {
        let files = try killed(commits: count, afterCheckpoint: afterCheckpoint).files

        let logged = try logged(files)

        let first = files.store.u64(files.newestSlotOffset + 8)
        let frames = files.frameOffsets.filter { (files.log?.u64($0 + 16) ?? 0) >= first }
        let byteCount = frames.map { 48 + UInt64(files.log?.u32($0 + 8) ?? 0) }.reduce(0, +)
        #expect(logged.commitCount == count)
        #expect((byteCount > 0) == (count > 0))
        // If the commits continue in a new segment, its header of 64 bytes counts, too.
        #expect([0, count == 0 ? 0 : 64].contains(logged.liveByteCount &- byteCount), "\(logged.liveByteCount)")
    }

    @Test(arguments: [1, 12], [false, true])
    func `pages of the newest state come from the log, or from the store file where the log has none`(
        count: Int, afterCheckpoint: Bool
    ) throws {
        let (files, next) = try killed(commits: count, afterCheckpoint: afterCheckpoint)

        let logged = try logged(files)

        #expect(Int(logged.pageCount) == next.pageCount && next.pageCount > 2)
        var fromLogCount = 0
        for number in 1..<next.pageCount {
            let image = try logged.page(UInt32(number))
            if image != nil { fromLogCount += 1 }
            let range = number * files.pageSize..<(number + 1) * files.pageSize
            let newest = image ?? (range.upperBound <= files.store.count ? Array(files.store[range]) : [])
            let isSame = newest.elementsEqual(next.store[range])
            #expect(isSame, "page \(number)")
        }
        #expect(fromLogCount > 1)
    }

    @Test func `a store that was closed has nothing in its log`() throws {
        let files = try SampleStores.closed()

        let logged = try logged(files)

        #expect(logged.commitCount == 0 && logged.liveByteCount == 0)
        #expect(Int(logged.pageCount) == files.pageCount)
        for number in 0..<files.pageCount { #expect(try logged.page(UInt32(number)) == nil) }
    }
}
