// A log file beside a cleanly closed store: it does not count, and must not prevent commits.

import EspalierEngine
import TestSupport
import Testing

@Suite struct LeftoverLogTests {
    private func options() -> DatabaseOptions {
        var options = DatabaseOptions()
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 1 << 20
        return options
    }

    @Test(arguments: [64 << 10, 600 << 10, 1 << 30])
    func `segments of any size leave room for commits`(segmentByteCount: Int) throws {
        let system = SimulatedFileSystem(seed: 1)
        let created = try Database.open("store", in: system, options: options())
        let header = LogHeader(
            pageSize: created.pageSize, storeIdentifier: created.storeIdentifier,
            logIdentifier: [UInt8](repeating: 1, count: 16), segmentByteCount: segmentByteCount)
        try created.close()
        system.replaceContents(of: "store-wal", with: header.encoded())

        let database = try Database.open("store", in: system, options: options())
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "a", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()

        #expect(try database.beginRead().get(1, from: tree) == [1])
    }
}
