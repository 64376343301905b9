// Acceptance line A2: every flipped bit of a store is found, and none makes the engine trap or answer wrongly.

import EspalierEngine
import TestSupport
import Testing

@Suite struct FlipTests {

    private static func options(_ access: DatabaseOptions.Access) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.access = access
        options.createIfMissing = access == .readWrite
        options.cacheByteCount = 40 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 1 << 20
        return options
    }

    /// 20 pages: both kinds of keys, interior pages, a value on overflow pages, free pages.
    private static func fill(_ database: Database, round: Int) throws(StorageError) {
        var write = try database.beginWrite()
        let numbers = try write.tree(named: "numbers", orCreate: UInt64.self)
        for key in 0..<UInt64(560) {
            try write.put([UInt8](repeating: UInt8(key % 251), count: 60), for: key * 2 + UInt64(round), in: numbers)
        }
        let words = try write.tree(named: "words", orCreate: [UInt8].self)
        for key in 0..<160 { try write.put(bytes("value \(key)"), for: bytes("a word \(key) \(round)"), in: words) }
        try write.put([UInt8](repeating: 5, count: 9000), for: bytes("large \(round)"), in: words)
        try write.commit()
        var removal = try database.beginWrite()
        for key in 130..<UInt64(290) { try removal.remove(key * 2 + UInt64(round), from: numbers) }
        try removal.commit()
    }

    /// The files of a store, and its content after each commit.
    private struct Files {
        var store: [UInt8]
        var log: [UInt8]?
        var contents: [StoreContent]
    }

    private static func makeFiles(closed: Bool) throws -> Files {
        let system = SimulatedFileSystem(seed: 12)
        let database = try Database.open("store", in: system, options: options(.readWrite))
        try fill(database, round: 0)
        var contents = [try database.content()]
        if closed {
            try database.close()
        } else {
            try database.checkpoint(.full)
            for round in 1..<6 {
                var write = try database.beginWrite()
                let numbers = try write.tree(named: "numbers", orCreate: UInt64.self)
                for key in 0..<UInt64(5) { try write.put([UInt8(round)], for: key * 60, in: numbers) }
                try write.commit()
                contents.append(try database.content())
            }
        }
        return Files(
            store: system.contents(of: "store") ?? [], log: system.contents(of: "store-wal"), contents: contents)
    }

    /// The outcome of opening, checking and reading changed files.
    private enum Outcome {
        /// Opening or checking threw this error, which says what is wrong.
        case refused(StorageError)
        /// The check reports these pages.
        case found(Set<PageNumber>)
        /// The store is in order and has this content.
        case whole(StoreContent)
    }

    /// Opens, checks and reads the files; counts the entries that are readable and differ from `rows`.
    private static func visit(
        _ store: [UInt8], _ log: [UInt8]?, _ access: DatabaseOptions.Access, _ rows: StoreContent
    ) -> (outcome: Outcome, wrongCount: Int) {
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: store)
        if let log { system.replaceContents(of: "store-wal", with: log) }
        var wrongCount = 0
        do throws(StorageError) {
            let database = try Database.open("store", in: system, options: options(access))
            let report = try database.check()
            if report.isOK { return (.whole(try database.content()), 0) }
            do throws(StorageError) {
                let read = try database.beginRead()
                for (name, tree) in rows {
                    guard case .bytes(let handle) = try read.tree(named: name) else { continue }
                    for (key, value) in tree {
                        // Damage may make the read throw, but a value that it returns must be right.
                        if let found = try? read.get(key, from: handle), found != value { wrongCount += 1 }
                    }
                }
                for (key, value) in try database.content()["numbers"] ?? [:] where rows["numbers"]?[key] != value {
                    wrongCount += 1
                }
            } catch {}
            return (.found(Set(report.findings.map(\.corruption.page))), wrongCount)
        } catch {
            return (.refused(error), wrongCount)
        }
    }

    /// The bits to flip: `ESPALIER_FLIP_BITS` bits of every byte, or, without that variable, one bit of some bytes.
    private func flips(_ byteCount: Int) -> [(byte: Int, bit: Int)] {
        let bits = campaignCount("ESPALIER_FLIP_BITS", default: 0)
        if bits > 0 { return (0..<byteCount).flatMap { byte in (0..<min(bits, 8)).map { (byte, $0 ^ byte & 7) } } }
        let step = byteCount / 240
        return stride(from: Int(testSeed(default: 20) % UInt64(step)), to: byteCount, by: step).map { ($0, $0 & 7) }
    }

    @Test func `every flipped bit of a closed store is found, with its page`() throws {
        let files = try Self.makeFiles(closed: true)
        #expect(files.store.count / 4096 >= 20)
        let content = try #require(files.contents.last)
        // The bytes of a free page are no content, so a flip there is harmless.
        let free = Set(
            (0..<files.store.count / 4096).filter { page in
                files.store[4096 + BitmapLayout.bits + page / 8] & 1 << UInt8(page % 8) != 0
            })
        var (refused, found, harmless) = (0, 0, 0)
        let flips = flips(files.store.count)
        for (byte, bit) in flips {
            var store = files.store
            store[byte] ^= 1 << UInt8(bit)
            let (outcome, wrongCount) = Self.visit(store, nil, .readOnly, content)
            #expect(wrongCount == 0, "byte \(byte), bit \(bit)")
            switch outcome {
            case .refused: refused += 1
            case .found(let pages):
                found += 1
                #expect(pages.contains(PageNumber(byte / 4096)), "byte \(byte), bit \(bit): \(pages)")
            case .whole(let read):
                harmless += 1
                #expect(free.contains(byte / 4096) && read == content, "byte \(byte), bit \(bit) was not found")
            }
        }
        print(
            "flips: \(flips.count) bits of \(files.store.count / 4096) pages, \(refused) refused on opening,",
            "\(found) found by the check, \(harmless) on \(free.count) free pages")
    }

    @Test func `every flipped bit of a log leaves the newest commit, the one before it, or an error`() throws {
        let files = try Self.makeFiles(closed: false)
        let log = try #require(files.log)
        let used = try #require(log.lastIndex { $0 != 0 }) + 1
        let flips = flips(used)
        var (refused, newest, older) = (0, 0, 0)
        for (byte, bit) in flips {
            var bad = log
            bad[byte] ^= 1 << UInt8(bit)
            let access: DatabaseOptions.Access = byte % 2 == 0 ? .readOnly : .readWrite
            switch Self.visit(files.store, bad, access, [:]).outcome {
            case .refused: refused += 1
            case .found(let pages): Issue.record("byte \(byte), bit \(bit): the log gives damaged pages \(pages)")
            case .whole(let content):
                let place = try #require(files.contents.lastIndex(of: content), "byte \(byte), bit \(bit): a mixture")
                // No later commit records that the last one was durable, so damage to it looks like a torn end.
                #expect(place >= files.contents.count - 2, "byte \(byte) of the log, bit \(bit): commit \(place)")
                if place == files.contents.count - 1 { newest += 1 } else { older += 1 }
            }
        }
        print(
            "flips: \(flips.count) bits of a log of \(used) bytes, \(refused) refused, \(newest) without effect,",
            "\(older) cut the last commit off")
    }

    @Test func `every flipped bit in page 0 beside a log leaves the newest commit or an error`() throws {
        let files = try Self.makeFiles(closed: false)
        for byte in 0..<2600 where byte % 19 == 0 || campaignCount("ESPALIER_FLIP_BITS", default: 0) > 0 {
            var store = files.store
            store[byte] ^= 1 << UInt8(byte % 8)
            switch Self.visit(store, files.log, byte % 2 == 0 ? .readOnly : .readWrite, [:]).outcome {
            case .refused, .found: continue
            case .whole(let content):
                // Only the slot that the next checkpoint overwrites may be invalid, because a crash can leave it so.
                #expect(content == files.contents.last, "byte \(byte)")
                #expect(512..<2048 ~= byte, "byte \(byte)")
            }
        }
    }
}
