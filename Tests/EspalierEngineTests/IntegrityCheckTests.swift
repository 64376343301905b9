// What only the whole store shows: pages that nobody uses, pages that are used and free, counts that are wrong.

import EspalierEngine
import TestSupport
import Testing

@Suite struct IntegrityCheckTests {
    /// A closed store with free pages.
    private func makeStore() throws -> ForgedStore {
        try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", kind: .integer)
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

    @Test func `a page whose checksum is right and whose content is not is refused when it is read`() throws {
        var store = try makeStore()
        let (tree, root) = (try store.tree("t").tree, try store.tree("t").root)
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
        #expect(throws: StorageError.readOnly) { _ = try Database.open("store", in: system, options: options) }
        options.access = .readOnly
        let database = try Database.open("store", in: system, options: options)

        #expect(try database.beginRead().count(of: tree) == 30)
    }
}
