// What only the whole store shows: pages that nobody uses, pages that are used and free, counts that are wrong.

import EspalierEngine
import TestSupport
import Testing

@Suite struct IntegrityCheckTests {
    /// A closed store with free pages, and its tree.
    private func makeStore() throws -> (bytes: [UInt8], tree: Tree) {
        let system = SimulatedFileSystem(seed: 2)
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", kind: .integer)
        for key in UInt64(0)..<40 { try write.put([UInt8](repeating: 1, count: 3000), for: key, in: tree) }
        try write.commit()
        var second = try database.beginWrite()
        for key in UInt64(10)..<20 { try second.remove(key, from: tree) }
        try second.commit()
        try database.close()
        return (try #require(system.contents(of: "store")), tree)
    }

    /// Changes page `number` of a store of 4,096-byte pages, and makes its checksum right again.
    private func change(_ bytes: inout [UInt8], page number: PageNumber, _ body: (PageView) -> Void) throws {
        // SAFETY: the spans do not leave the closures.
        let seed = try unsafe bytes.withUnsafeBytes { try Superblock(decoding: unsafe $0.bytes).hashSeed }
        let page = ScratchBytes(byteCount: 4096)
        let range = Int(number) * 4096..<(Int(number) + 1) * 4096
        page.store([UInt8](bytes[range]), at: 0)
        let view = page.view(at: 0, byteCount: 4096)
        body(view)
        view.seal(lsn: view.lsn, storeSeed: seed)
        bytes.replaceSubrange(range, with: page.with(0..<4096) { $0.loadBytes(at: 0, count: 4096) })
    }

    /// Changes the newest slot.
    private func changeSlot(_ bytes: inout [UInt8], _ body: (inout CheckpointSlot) -> Void) throws {
        // SAFETY: the span does not leave the closure.
        var slot = try unsafe bytes.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
        body(&slot)
        bytes.replaceSubrange(slot.byteOffset..<slot.byteOffset + CheckpointSlotLayout.byteCount, with: slot.encoded())
    }

    private func open(_ bytes: [UInt8]) throws -> Database {
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: bytes)
        return try Database.open("store", in: system, options: DatabaseOptions())
    }

    private func rules(_ bytes: [UInt8]) throws -> Set<CorruptionRule> {
        Set(try open(bytes).check().findings.map(\.corruption.rule))
    }

    @Test func `a page that is neither used nor free is lost`() throws {
        var (bytes, _) = try makeStore()
        #expect(try rules(bytes) == [])
        try change(&bytes, page: 1) { bitmap in
            let free = (0..<1000).first { bitmap.bitmapIsFree($0) } ?? 0
            bitmap.setBitmap(free, isFree: false)
            bitmap.setBitmap(freeCount: bitmap.bitmapFreeCount - 1, hint: free)
        }
        try changeSlot(&bytes) { $0.freeCount -= 1 }

        #expect(try rules(bytes) == [.pageLost])
    }

    @Test func `a page that is used and free is found`() throws {
        var (bytes, _) = try makeStore()
        try change(&bytes, page: 1) { bitmap in
            bitmap.setBitmap(Int(FixedPlace.catalogRoot), isFree: true)
            bitmap.setBitmap(freeCount: bitmap.bitmapFreeCount + 1, hint: 0)
        }
        try changeSlot(&bytes) { $0.freeCount += 1 }

        #expect(try rules(bytes) == [.pageReachedButFree])
    }

    @Test func `a count of free pages that the bitmap does not bear out is found`() throws {
        var (bytes, _) = try makeStore()
        try changeSlot(&bytes) { $0.freeCount += 1 }

        #expect(try rules(bytes) == [.freeCountWrong])
    }

    @Test func `a page whose checksum is right and whose content is not is refused when it is read`() throws {
        var (bytes, tree) = try makeStore()
        let database = try open(bytes)
        let root = try #require(try database.beginRead().trees().first).root
        try change(&bytes, page: root) { $0.set($0.integerKey(0), at: TreeLayout.slots + 8) }
        let damaged = try open(bytes)
        var failure: StorageError?
        do throws(StorageError) { _ = try damaged.beginRead().get(3, from: tree) } catch { failure = error }

        guard case .corruption(let corruption) = failure else {
            Issue.record("reading gave \(String(describing: failure))")
            return
        }
        #expect(corruption.rule == .keyOrder)
        #expect(corruption.page == root)
    }

    @Test func `a store whose unknown features allow reading only is read, and not written`() throws {
        var (bytes, tree) = try makeStore()
        // SAFETY: the span does not leave the closure.
        var superblock = try unsafe bytes.withUnsafeBytes { try Superblock(decoding: unsafe $0.bytes) }
        superblock.readOnlyCompatible = 0x40
        bytes.replaceSubrange(0..<SuperblockLayout.byteCount, with: superblock.encoded())
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: bytes)
        var options = DatabaseOptions()
        #expect(throws: StorageError.readOnly) { _ = try Database.open("store", in: system, options: options) }
        options.access = .readOnly
        let database = try Database.open("store", in: system, options: options)

        #expect(try database.beginRead().count(of: tree) == 30)
    }
}
