// Logs that end too early or have a wrong length: the commits before the fault are there, and a commit that is provably
// missing is an error. (The cases of LevelDB's log_test, in the terms of this log.)

import EspalierEngine
import TestSupport
import Testing

@Suite struct LogDamageTests {
    /// The files of a killed process whose commits fill several segments, and the number of its commits.
    private func makeFiles() throws -> (store: [UInt8], log: [UInt8], commitCount: Int) {
        let system = SimulatedFileSystem(seed: 21)
        let database = try Database.open("store", in: system, options: .small)
        let commitCount = 12
        for round in 0..<UInt64(commitCount) {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            for key in 0..<UInt64(30) {
                try write.put([UInt8](repeating: UInt8(round), count: 500), for: round * 30 + key, in: tree)
            }
            try write.commit()
        }
        return (system.contents(of: "store") ?? [], system.contents(of: "store-wal") ?? [], commitCount)
    }

    /// The number of commits that the opened store has; expects all entries of each commit or none.
    private func commits(_ store: [UInt8], _ log: [UInt8]) throws -> Int {
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: store)
        system.replaceContents(of: "store-wal", with: log)
        let database = try Database.open("store", in: system, options: .small)
        #expect(try database.check().isOK)
        let read = try database.beginRead()
        guard let tree = try read.tree(named: "t", keys: UInt64.self) else { return 0 }
        let count = Int(try read.count(of: tree))
        #expect(count % 30 == 0)
        return count / 30
    }

    @Test func `a log that ends anywhere leaves the commits before its end, or an error`() throws {
        let (store, log, commitCount) = try makeFiles()
        // The last record ends with reserved zeros.
        let used = min((log.lastIndex { $0 != 0 } ?? 0) + 64, log.count)
        var counts: Set<Int> = []
        for end in stride(from: used, to: 0, by: -max(1, used / campaignCount("ESPALIER_CUTS", default: 40))) {
            do {
                counts.insert(try commits(store, [UInt8](log[..<end])))
            } catch let error as StorageError {
                guard case .corruption(let corruption) = error else { throw error }
                // Only a log without its whole header is an error: it looks like a lost log.
                #expect(end < LogHeaderLayout.byteCount && corruption.rule == .logHeader, "\(end) bytes: \(error)")
            }
        }
        #expect(counts.contains(commitCount))
        #expect(counts.count > commitCount / 2)
    }

    @Test func `a wrong length in the middle is reported, in the last record it is the end`() throws {
        let (store, log, commitCount) = try makeFiles()
        // Frame headers of commits: type 2, 48 bytes of header, 96 of payload.
        let places = (LogHeaderLayout.byteCount..<log.count - 48).filter { place in
            log[place] == FrameType.commit.rawValue && log[place + 1] == 0 && log[place + 2] == 48
                && log[place + 8] == 96 && log[place + 9] == 0
        }
        #expect(places.count >= commitCount)
        for (number, place) in places.suffix(4).enumerated() {
            var bad = log
            bad[place + FrameHeaderLayout.payloadByteCount] = 95
            if number == 3 {
                #expect(try commits(store, bad) == commitCount - 1)
            } else {
                var failure: StorageError?
                do { _ = try commits(store, bad) } catch { failure = error as? StorageError }
                guard case .opening(.logCorrupt) = failure else {
                    Issue.record("record \(number) gave \(String(describing: failure))")
                    continue
                }
            }
        }
    }

    @Test func `a log that lost the segment of the last checkpoint is damaged, not empty`() throws {
        let system = SimulatedFileSystem(seed: 22)
        let database = try Database.open("store", in: system, options: .small)
        for round in UInt64(0)..<6 {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([UInt8](repeating: 1, count: 5000), for: round, in: tree)
            try write.commit()
            if round == 2 { try database.checkpoint(.passive) }
        }
        let store = try #require(system.contents(of: "store"))
        let log = try #require(system.contents(of: "store-wal"))
        let image = SimulatedFileSystem(seed: 1)
        image.replaceContents(of: "store", with: store)

        // Cut the log to its header, and then fill everything after the header with zeros.
        for cut in [[UInt8](log[..<4096]), log[..<4096] + [UInt8](repeating: 0, count: log.count - 4096)] {
            image.replaceContents(of: "store-wal", with: cut)
            let error = thrown { () throws(StorageError) in
                _ = try Database.open("store", in: image, options: .small)
            }
            guard case .opening(.logCorrupt) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        image.replaceContents(of: "store-wal", with: log)
        let whole = try Database.open("store", in: image, options: .small)
        let read = try whole.beginRead()
        let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
        #expect(try read.count(of: tree) == 6)
    }
}
