// Salvage: the rows of a damaged store that it recovers, and the rows that it must not recover.

import EspalierEngine
import TestSupport
import Testing

@Suite struct SalvageTests {
    private static let numberCount = UInt64(3000)

    fileprivate func options() -> DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 4 << 20
        options.checkpointThreshold = 1 << 20
        options.applicationID = 0x4444
        options.applicationVersion = 3
        return options
    }

    /// Trees of both kinds, values in overflow pages, and pages that a dropped tree and removed rows left free.
    fileprivate func fill(_ database: Database) throws {
        var write = try database.beginWrite()
        let gone = try write.createTree(named: "gone", keys: UInt64.self)
        for key in 0..<UInt64(200) { try write.put([1, 2, 3], for: key, in: gone) }
        let numbers = try write.createTree(named: "numbers", keys: UInt64.self)
        for key in 0..<Self.numberCount {
            try write.put([UInt8](repeating: UInt8(key % 251), count: Int(key % 50)), for: key * 3, in: numbers)
        }
        let words = try write.createTree(named: "words", keys: [UInt8].self)
        for key in 0..<800 {
            try write.put(bytes("value \(key)"), for: bytes("a word \(key * 7919 % 800)"), in: words)
        }
        for key in 0..<5 {
            try write.put([UInt8](repeating: UInt8(key), count: 9000 + key), for: bytes("large \(key)"), in: words)
        }
        _ = try write.createTree(named: "empty", keys: [UInt8].self)
        try write.commit()
        var second = try database.beginWrite()
        try second.dropTree(gone)
        for key in 500..<UInt64(1500) { try second.remove(key * 3, from: numbers) }
        try second.commit()
    }

    /// The file of a store with that content, closed cleanly.
    private static let store = Result { () throws(any Error) -> [UInt8] in
        let (system, tests) = (SimulatedFileSystem(seed: 5), SalvageTests())
        let database = try Database.open("store", in: system, options: tests.options())
        try tests.fill(database)
        try database.close()
        return system.contents(of: "store") ?? []
    }

    /// A machine with that file.
    private func makeStore() throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: 5)
        system.replaceContents(of: "store", with: try Self.store.get())
        return system
    }

    private func content(_ path: String, _ system: SimulatedFileSystem) throws -> StoreContent {
        let database = try Database.open(path, in: system, options: options())
        #expect(try database.check().isOK)
        let content = try database.content()
        try database.close()
        return content
    }

    private func salvage(
        _ system: SimulatedFileSystem, _ change: (inout SalvageOptions) -> Void = { _ in }
    ) throws -> SalvageReport {
        var salvage = SalvageOptions()
        change(&salvage)
        return try Database.salvage(from: "store", into: "new", in: system, options: salvage, storeOptions: options())
    }

    /// Overwrites pages of the store with noise.
    private func destroy(_ pages: some Sequence<Int>, _ system: SimulatedFileSystem, seed: UInt64 = 7) throws {
        var (store, chance) = (try #require(system.contents(of: "store")), SeededGenerator(seed: seed))
        for page in pages {
            for offset in page * 4096..<min((page + 1) * 4096, store.count) {
                store[offset] = UInt8.random(in: 0...255, using: &chance)
            }
        }
        system.replaceContents(of: "store", with: store)
    }

    /// The pages of a store whose type and tree satisfy `isWanted`.
    private func pages(_ system: SimulatedFileSystem, where isWanted: (PageType?, UInt32) -> Bool) throws -> [Int] {
        let store = try #require(system.contents(of: "store"))
        return (1..<store.count / 4096).filter { page in
            let header = page * 4096
            let tree = (0..<4).reduce(UInt32(0)) { $0 | UInt32(store[header + PageLayout.treeID + $1]) << (8 * $1) }
            return isWanted(PageType(rawValue: store[header + PageLayout.type]), tree)
        }
    }

    private func names(_ content: StoreContent) -> [String] { content.keys.sorted() }

    // MARK: Whole stores

    @Test func `of a whole store all comes back, with numbers and marks`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        let bytesBefore = system.contents(of: "store")
        let report = try salvage(system)

        #expect(try content("new", system) == before)
        #expect(system.contents(of: "store") == bytesBefore)
        #expect(report.key == .superblock)
        #expect(report.damagedPageCount == 0)
        #expect(report.lostRowCount == 0)
        #expect(report.rowCount == before.values.reduce(0) { $0 + UInt64($1.count) })
        #expect(report.trees.allSatisfy { $0.isNameKnown && $0.rowCount == $0.expectedRowCount })
        let (old, new) = (
            try Database.open("store", in: system, options: options()),
            try Database.open("new", in: system, options: options())
        )
        #expect(new.applicationID == 0x4444)
        #expect(new.applicationVersion == 3)
        #expect(new.storeIdentifier != old.storeIdentifier)
        let (oldTrees, newTrees) = (try old.beginRead().trees(), try new.beginRead().trees())
        // Compare names, numbers and kinds, because handles of different stores are never equal.
        func facts(_ trees: [TreeSummary]) -> [String] { trees.map { "\($0.tree.name) \($0.tree.id) \($0.tree.kind)" } }
        #expect(facts(oldTrees) == facts(newTrees))
        var write = try new.beginWrite()
        #expect(try write.createTree(named: "next", keys: [UInt8].self).id == 6)
    }

    @Test func `an existing file is never replaced, and a failure leaves none behind`() throws {
        let system = try makeStore()
        system.replaceContents(of: "new", with: [1, 2, 3])
        #expect(throws: StorageError.self) { try salvage(system) }
        #expect(system.contents(of: "new") == [1, 2, 3])

        let full = try makeStore()
        full.limitSpace(to: 100 << 10)
        #expect(throws: StorageError.diskFull) { try salvage(full) }
        #expect(full.paths == ["store"])
    }

    // MARK: Lost keys

    @Test func `without superblock its copy does, without both the log, without all only unverified pages`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        var store = try #require(system.contents(of: "store"))
        store[70] ^= 1
        system.replaceContents(of: "store", with: store)
        #expect(try salvage(system).key == .copy)
        #expect(try content("new", system) == before)

        try system.remove("new")
        try destroy([0], system)
        #expect(throws: StorageError.corrupt(.superblockChecksum, page: 0)) { try salvage(system) }
        let report = try salvage(system) { $0.acceptsDamaged = true }
        #expect(report.key == .guess)
        #expect(report.pageSize == 4096)
        #expect(try content("new", system) == before)
    }

    @Test(arguments: [4096, 16384, 65536])
    func `the page size shows in the pages`(pageSize: Int) throws {
        let system = SimulatedFileSystem(seed: 6)
        var changed = options()
        changed.pageSize = pageSize
        changed.cacheByteCount = 64 * pageSize
        let database = try Database.open("store", in: system, options: changed)
        try fill(database)
        let before = try database.content()
        try database.close()
        var store = try #require(system.contents(of: "store"))
        for offset in 0..<pageSize { store[offset] = 0 }
        system.replaceContents(of: "store", with: store)

        #expect(try salvage(system) { $0.acceptsDamaged = true }.pageSize == pageSize)
        #expect(try content("new", system) == before)
    }

    @Test func `what never was a store gives an error, and no file`() throws {
        for bytes in [[], [UInt8](repeating: 0, count: 20_000), [UInt8](repeating: 0x41, count: 70_000)] {
            let system = SimulatedFileSystem(seed: 6)
            system.replaceContents(of: "store", with: bytes)
            for accepts in [false, true] {
                #expect(throws: StorageError.self) { try salvage(system) { $0.acceptsDamaged = accepts } }
            }
            #expect(system.paths == ["store"])
        }
        #expect(throws: StorageError.opening(.noSuchStore)) { try salvage(SimulatedFileSystem(seed: 6)) }
    }

    // MARK: Lost pages

    @Test func `a destroyed page costs its own rows only, and the report counts them`() throws {
        let leaves = try pages(try makeStore()) { type, _ in type == .leafInteger }
        for leaf in leaves.prefix(5) {
            let system = try makeStore()
            let before = try content("store", system)
            try destroy([leaf], system)
            let report = try salvage(system)
            let after = try content("new", system)

            let lost = (before["numbers"]?.count ?? 0) - (after["numbers"]?.count ?? 0)
            #expect(lost <= 400)
            #expect(report.lostRowCount == UInt64(lost))
            #expect(report.damagedPageCount == 1)
            #expect(after["words"] == before["words"])
            for (key, value) in after["numbers"] ?? [:] { #expect(before["numbers"]?[key] == value) }
        }
    }

    @Test func `interior pages and the roots of trees are not needed`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        let interior = try pages(system) { type, _ in type == .interiorBytes || type == .interiorInteger }
        #expect(interior.count >= 2)
        try destroy(interior, system)

        #expect(try salvage(system).damagedPageCount == UInt64(interior.count))
        #expect(try content("new", system) == before)
    }

    @Test func `a lost catalog costs names only, and names that are tried come back`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        try destroy([2], system)
        let report = try salvage(system)
        let after = try content("new", system)

        #expect(names(after) == ["lost+found/3", "lost+found/4", "lost+found/5"])
        #expect(after["lost+found/3"] == before["numbers"])
        #expect(after["lost+found/4"] == before["words"])
        #expect(report.trees.allSatisfy { !$0.isNameKnown && $0.rootTag != nil && $0.expectedRowCount == nil })
        try system.remove("new")
        _ = try salvage(system) { $0.nameCandidates = ["words", "verbs", "numbers", "empty"] }
        #expect(try content("new", system) == before)
    }

    @Test func `a value whose overflow pages are damaged is left out, not made up`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        let overflow = try pages(system) { type, _ in type == .overflow }
        try destroy([overflow[1]], system)
        let report = try salvage(system)
        let after = try content("new", system)

        #expect(report.trees.reduce(0) { $0 + $1.lostValueCount } == 1)
        #expect((after["words"]?.count ?? 0) + 1 == before["words"]?.count)
        for (key, value) in after["words"] ?? [:] { #expect(before["words"]?[key] == value) }
    }

    @Test func `rows of a page whose checksum is wrong come back only if they are asked for`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        let leaves = try pages(system) { type, _ in type == .leafInteger }
        var store = try #require(system.contents(of: "store"))
        for leaf in leaves { store[leaf * 4096 + PageLayout.checksum] ^= 1 }
        system.replaceContents(of: "store", with: store)

        _ = try salvage(system)
        #expect(try content("new", system)["numbers"] == [:])
        try system.remove("new")
        #expect(try salvage(system) { $0.acceptsDamaged = true }.acceptedPageCount == UInt64(leaves.count))
        #expect(try content("new", system) == before)
    }

    // MARK: Removed content

    @Test func `a page that was taken into use after its bitmap page was written is not free`() throws {
        let system = SimulatedFileSystem(seed: 5)
        let database = try Database.open("store", in: system, options: options())
        try fill(database)
        try database.checkpoint(.full)
        let old = try #require(system.contents(of: "store"))
        // Allocate the pages that are free now.
        var write = try database.beginWrite()
        let later = try write.createTree(named: "later", keys: UInt64.self)
        for key in 0..<UInt64(500) { try write.put([UInt8](repeating: 3, count: 30), for: key, in: later) }
        try write.commit()
        try database.close()
        let before = try content("store", system)
        var store = try #require(system.contents(of: "store"))
        #expect(store[4096..<8192] != old[4096..<8192])
        store.replaceSubrange(4096..<8192, with: old[4096..<8192])
        system.replaceContents(of: "store", with: store)

        _ = try salvage(system)
        #expect(try content("new", system) == before)
    }

    @Test func `a long value that was removed does not come back as the one that has its pages now`() throws {
        let system = SimulatedFileSystem(seed: 5)
        let database = try Database.open("store", in: system, options: options())
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        // Put the long value first, so that no page next to its own pages becomes free with them.
        try write.put([UInt8](repeating: 5, count: 9000), for: 50, in: tree)
        for key in UInt64(0)..<100 where key != 50 {
            try write.put([UInt8](repeating: 1, count: 400), for: key, in: tree)
        }
        try write.commit()
        try database.checkpoint(.full)
        // Free the leaf that refers to the value; then another value, under a distant key, gets the value's pages.
        write = try database.beginWrite()
        try write.removeAll(UInt64(30)..<70, from: tree)
        try write.commit()
        write = try database.beginWrite()
        try write.put([UInt8](repeating: 6, count: 9000), for: 99, in: tree)
        try write.commit()
        try database.close()
        // Destroy the bitmap, which says which pages are free, and a leaf that shows that the rows were removed.
        let store = try #require(system.contents(of: "store"))
        let byAge = try pages(system) { type, _ in type == .leafInteger }.sorted { lsn($0, store) < lsn($1, store) }
        for lost in byAge.dropLast().suffix(3) {
            let damaged = SimulatedFileSystem(seed: 6)
            damaged.replaceContents(of: "store", with: store)
            try destroy([1, lost], damaged)
            _ = try salvage(damaged)
            for (key, value) in try content("new", damaged)["t"] ?? [:] where value.count == 9000 {
                #expect(value.first == (key.last == 99 ? 6 : 5), "\(key)")
            }
        }
    }

    /// The LSN of a page, which says when it was written last.
    private func lsn(_ page: Int, _ store: [UInt8]) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(store[page * 4096 + PageLayout.lsn + $1]) << (8 * $1) }
    }

    @Test func `rows that were removed stay so, even if nobody knows any more which pages are free`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        try destroy([1], system)
        let report = try salvage(system)
        var after = try content("new", system)

        #expect(report.freePageCount == 0)
        // No newer leaf shows that a whole tree was dropped.
        #expect(after.removeValue(forKey: "lost+found/2")?.count == 200)
        #expect(after == before)
    }

    @Test func `rows of free pages come back in trees of their own if they are asked for`() throws {
        let system = try makeStore()
        let before = try content("store", system)
        let report = try salvage(system) { $0.includesDeleted = true }
        var after = try content("new", system)

        #expect(report.freePageCount > 0)
        #expect(after.removeValue(forKey: "lost+found/deleted/2")?.count == 200)
        #expect((after.removeValue(forKey: "lost+found/deleted/3")?.count ?? 0) > 100)
        #expect(after == before)
    }

    // MARK: The log

    /// The machine of a killed process, and the content of its store: one checkpoint in the store file, later commits
    /// in the log, and among them frames of a large transaction that was rolled back.
    private func makeUnreplayedStore() throws -> (system: SimulatedFileSystem, content: StoreContent) {
        let system = SimulatedFileSystem(seed: 8)
        var small = options()
        small.cacheByteCount = 20 * small.pageSize
        let database = try Database.open("store", in: system, options: small)
        try fill(database)
        try database.checkpoint(.full)
        for round in 0..<6 {
            var write = try database.beginWrite()
            let numbers = try #require(try write.tree(named: "numbers", keys: UInt64.self))
            for key in 0..<UInt64(20) { try write.put([UInt8(round)], for: key * 450 + UInt64(round), in: numbers) }
            if round == 3 {
                let value = [UInt8](repeating: 9, count: 90)
                for key in 0..<UInt64(3000) { try write.put(value, for: key * 3, in: numbers) }
                write.rollback()
            } else {
                try write.commit()
            }
        }
        let content = try database.content()
        let copy = SimulatedFileSystem(seed: 1)
        for path in ["store", "store-wal"] {
            copy.replaceContents(of: path, with: try #require(system.contents(of: path)))
        }
        return (copy, content)
    }

    @Test func `commits in the log count, transactions that were given up do not`() throws {
        let (system, content) = try makeUnreplayedStore()
        let report = try salvage(system)

        #expect(report.loggedPageCount > 0)
        #expect(try self.content("new", system) == content)
    }

    @Test func `the log alone tells how to read a store without superblock and slots`() throws {
        let (system, content) = try makeUnreplayedStore()
        try destroy([0], system)
        #expect(try salvage(system).key == .log)
        #expect(try self.content("new", system) == content)

        try system.remove("new")
        var log = try #require(system.contents(of: "store-wal"))
        log[30] ^= 4
        system.replaceContents(of: "store-wal", with: log)
        #expect(try salvage(system).key == .log)
        #expect(try self.content("new", system) == content)
    }

    @Test func `frames after a damaged one count`() throws {
        let (original, content) = try makeUnreplayedStore()
        var image = try LogImage(original)
        let segments = try image.segments
        let framesBySegment = try segments.indices.filter { segments[$0] != nil }.map { try image.frames(at: $0) }
        let commits = framesBySegment.joined().filter { $0.header.type == .commit }.map(\.header.lsn).sorted()
        try #require(commits.count > 2)
        // Damage the first page frame that the newest commit has in the segment with most of them: the pages in the
        // frames after it are nowhere else.
        let lsns = commits[commits.count - 2]..<commits[commits.count - 1]
        let newest = try #require(
            framesBySegment.map { frames in
                frames.filter { $0.header.type == .page && lsns.contains($0.header.lsn) }
                    .sorted { $0.header.lsn < $1.header.lsn }
            }.max { $0.count < $1.count })
        try #require(newest.count > 10)
        image.log[newest[0].offset + FrameHeaderLayout.byteCount + 200] ^= 1
        let system = image.machine
        _ = try salvage(system)

        let after = try self.content("new", system)
        let wanted = try #require(content["numbers"])
        #expect(wanted.count { after["numbers"]?[$0.key] != $0.value } <= 3)
        #expect(after["words"] == content["words"])
    }

    @Test func `a damaged frame costs its page's newest version, not the commits after it`() throws {
        let (original, content) = try makeUnreplayedStore()
        let (store, log) = (original.contents(of: "store") ?? [], original.contents(of: "store-wal") ?? [])
        let used = log.lastIndex { $0 != 0 } ?? 0
        var chance = SeededGenerator(seed: testSeed(default: 77))
        var worst = 0
        for _ in 0..<campaignCount("ESPALIER_FLIPS", default: 6) {
            let system = SimulatedFileSystem(seed: 1)
            var bad = log
            bad[Int.random(in: 4096 + 64...used, using: &chance)] ^= UInt8.random(in: 1...255, using: &chance)
            system.replaceContents(of: "store", with: store)
            system.replaceContents(of: "store-wal", with: bad)
            _ = try salvage(system)
            let after = try self.content("new", system)
            let wanted = try #require(content["numbers"])
            let right = wanted.count { after["numbers"]?[$0.key] == $0.value }
            worst = max(worst, wanted.count - right)
            #expect(after["words"] == content["words"])
        }
        #expect(worst < 60)
    }
}
