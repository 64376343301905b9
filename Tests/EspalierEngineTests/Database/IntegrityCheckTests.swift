// Faults that only a check of the whole store finds: lost pages, pages that are both used and free, wrong counts.

import EspalierEngine
import TestSupport
import Testing

@Suite struct IntegrityCheckTests {
    /// A closed store with free pages.
    private func makeStore() throws -> ForgedStore {
        try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<40 { try write.put([UInt8](repeating: 1, count: 3000), for: key, in: tree) }
            try write.commit()
            var second = try database.beginWrite()
            for key in UInt64(10)..<20 { try second.remove(key, from: tree) }
            try second.commit()
        }
    }

    private func rules(_ store: ForgedStore) throws -> Set<CorruptionRule> {
        Set(try store.open().check().findings.map(\.corruption.rule))
    }

    @Test func `a page that is neither used nor free is lost`() throws {
        var store = try makeStore()
        #expect(try rules(store) == [])
        try store.change(page: 1) { bitmap in
            let free = (0..<1000).first { bitmap.bitmapIsFree($0) } ?? 0
            bitmap.setBitmap(free, isFree: false)
            bitmap.setBitmap(freeCount: bitmap.bitmapFreeCount - 1, hint: free)
        }
        try store.changeSlot { $0.freeCount -= 1 }

        #expect(try rules(store) == [.pageLost])
    }

    @Test func `a page that is used and free is found`() throws {
        var store = try makeStore()
        try store.callFree(FixedPlace.catalogRoot)

        #expect(try rules(store) == [.pageReachedButFree])
    }

    @Test func `a count of free pages that the bitmap does not bear out is found`() throws {
        var store = try makeStore()
        try store.changeSlot { $0.freeCount += 1 }

        #expect(try rules(store) == [.freeCountWrong])
    }

    @Test func `a tree whose number the next tree would get is found`() throws {
        var store = try makeStore()
        try store.changeSlot { $0.nextTreeID = 2 }

        #expect(try rules(store) == [.catalogRecord])
    }

    @Test func `a tree that a later transaction made is found`() throws {
        var store = try makeStore()
        try store.changeSlot { $0.transactionID = 0 }

        #expect(try rules(store).contains(.catalogRecord))
    }

    @Test func `two trees with one number are found`() throws {
        var store = try ForgedStore { database in
            var write = try database.beginWrite()
            _ = try write.createTree(named: "a", keys: UInt64.self)
            _ = try write.createTree(named: "b", keys: UInt64.self)
            try write.commit()
        }
        let (a, b) = (try store.tree("a"), try store.tree("b"))
        let catalog = store.bytes[Int(FixedPlace.catalogRoot) * 4096..<Int(FixedPlace.catalogRoot + 1) * 4096]
        let (number, root) = (UInt8(b.tree.id), UInt8(b.root))
        let record = try #require(
            (0..<4056).first {
                Array(catalog[catalog.startIndex + $0..<catalog.startIndex + $0 + 8]) == [
                    number, 0, 0, 0, root, 0, 0, 0,
                ]
            })
        try store.change(page: FixedPlace.catalogRoot) { $0.set(a.tree.id, at: record) }

        #expect(try rules(store).contains(.catalogRecord))
    }

    @Test func `an older slot that is damaged, empty or in the place of another is found in a closed store`() throws {
        let sound = try makeStore()
        var options = DatabaseOptions()
        options.access = .readOnly
        // SAFETY: the span does not leave the closure.
        let newest = try unsafe sound.bytes.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
        for place in SuperblockLayout.slots where place != newest.byteOffset {
            for content in [
                [UInt8](repeating: 0, count: CheckpointSlotLayout.byteCount),
                [UInt8](repeating: 0xA5, count: CheckpointSlotLayout.byteCount), newest.encoded(),
            ] {
                var store = sound
                store.bytes.replaceSubrange(place..<place + CheckpointSlotLayout.byteCount, with: content)

                let findings = try store.open(options).check().findings

                #expect(findings.map(\.corruption.rule) == [.noValidSlot])
                #expect(findings.map(\.corruption.byteOffset) == [UInt32(place)])
            }
        }
    }

    @Test func `pages that a damaged page hides are counted with its tree, and are no findings`() throws {
        var store = try makeStore()
        let root = try store.tree("t").root
        let pageCount = try store.open().check().trees.first { $0.summary.tree.name == "t" }?.pageCount
        store.bytes[Int(root) * 4096 + 100] ^= 1

        let report = try store.open().check()

        #expect(report.findings.map(\.corruption.rule) == [.pageChecksum])
        #expect(report.findings.map(\.corruption.page) == [root])
        #expect(report.unreached.map(\.treeName) == ["t"] && report.unreached.map(\.causeCount) == [1])
        #expect(report.unreached.map(\.pageCount) == [try #require(pageCount) - 1])
        #expect(report.isComplete)
    }

    @Test func `a page that nothing hides is lost beside pages that are hidden`() throws {
        var store = try makeStore()
        let root = try store.tree("t").root
        try store.change(page: 1) { bitmap in
            let free = (0..<1000).first { bitmap.bitmapIsFree($0) } ?? 0
            bitmap.setBitmap(free, isFree: false)
            bitmap.setBitmap(freeCount: bitmap.bitmapFreeCount - 1, hint: free)
        }
        try store.changeSlot { $0.freeCount -= 1 }
        let free = try store.open().check().findings.map(\.corruption.page)
        // Give the page the number of another tree, so that the damaged root of `t` cannot hide it.
        try store.change(page: free[0]) { $0.set(UInt32(99), at: PageLayout.treeID) }
        store.bytes[Int(root) * 4096 + 100] ^= 1

        let report = try store.open().check()

        #expect(report.findings.map(\.corruption.rule) == [.pageChecksum, .pageLost])
        #expect(report.findings.last?.corruption.page == free[0])
    }

    @Test func `without a catalog all pages in use are hidden by it`() throws {
        var store = try makeStore()
        store.bytes[Int(FixedPlace.catalogRoot) * 4096 + 100] ^= 1
        var options = DatabaseOptions()
        options.access = .readOnly

        let report = try store.open(options).check()

        #expect(report.findings.map(\.corruption.page) == [FixedPlace.catalogRoot])
        #expect(report.unreached.map(\.treeID) == [FixedPlace.catalogTreeID])
        let used = report.pageCount - report.freePageCount
        #expect(report.unreached.map(\.pageCount) == [used - 3])
        #expect(!report.isComplete)
    }

    @Test func `a page whose checksum is right and whose content is not is refused when it is read`() throws {
        var store = try makeStore()
        let root = try store.tree("t").root
        let tree = try #require(try store.tree("t").tree.tree(keys: UInt64.self))
        try store.change(page: root) { $0.set($0.integerKey(0), at: TreeLayout.slots + 8) }
        let damaged = try store.open()
        let failure = thrown { () throws(StorageError) in _ = try damaged.beginRead().get(3, from: tree) }

        guard case .corruption(let corruption) = failure else {
            Issue.record("reading gave \(String(describing: failure))")
            return
        }
        #expect(corruption.rule == .keyOrder)
        #expect(corruption.page == root)
    }

    @Test func `a store whose unknown features allow reading only is read, and not written`() throws {
        var store = try makeStore()
        let tree = try store.tree("t").tree
        // SAFETY: the span does not leave the closure.
        var superblock = try unsafe store.bytes.withUnsafeBytes { try Superblock(decoding: unsafe $0.bytes) }
        superblock.readOnlyCompatible = 0x40
        store.bytes.replaceSubrange(0..<SuperblockLayout.byteCount, with: superblock.encoded())
        let system = store.machine
        var options = DatabaseOptions()
        #expect(throws: StorageError.database(.readOnly)) {
            _ = try Database.open("store", in: system, options: options)
        }
        options.access = .readOnly
        let database = try Database.open("store", in: system, options: options)

        #expect(try database.beginRead().count(of: tree) == 30)
    }
}
