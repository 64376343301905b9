// Stores whose pages contradict each other although every checksum is right: reads, changes, shrinks and checks report
// the contradiction and its place.

import EspalierEngine
import TestSupport
import Testing

@Suite struct ForgedStoreTests {
    private let long = [UInt8](repeating: 1, count: 3000)

    /// A store with a tree `t` of `count` long values, of which those with keys in `removed` were removed.
    private func store(_ count: UInt64, removed: Range<UInt64> = 0..<0) throws -> ForgedStore {
        try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<count { try write.put(key == 0 ? long + long : long, for: key, in: tree) }
            try write.commit()
            guard !removed.isEmpty else { return }
            write = try database.beginWrite()
            for key in removed { try write.remove(key, from: tree) }
            try write.commit()
        }
    }

    /// The error of a write transaction in the store that runs `body`.
    private func failure(
        _ store: ForgedStore, _ body: (inout WriteTransaction, Tree<UInt64>) throws(StorageError) -> Void
    ) throws -> StorageError? {
        let tree = try #require(try store.tree("t").tree.tree(keys: UInt64.self))
        let database = try store.open()
        return thrown { () throws(StorageError) in
            var write = try database.beginWrite()
            try body(&write, tree)
        }
    }

    @Test func `a child beyond the end of the store is neither read nor changed`() throws {
        var store = try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<100 { try write.put([UInt8](repeating: 1, count: 300), for: key, in: tree) }
            try write.commit()
        }
        let root = try store.tree("t").root
        let tree = try #require(try store.tree("t").tree.tree(keys: UInt64.self))
        try store.change(page: root) { $0.setChild(0, to: 1_000_000) }
        let expected = StorageError.corrupt(.pageBeyondEnd, page: 1_000_000)
        let database = try store.open()

        #expect(throws: expected) { _ = try database.beginRead().get(1, from: tree) }
        #expect(try failure(store) { write, tree throws(StorageError) in _ = try write.get(1, from: tree) } == expected)
        #expect(
            try failure(store) { write, tree throws(StorageError) in try write.put([1], for: 1, in: tree) } == expected)
    }

    @Test func `a page that the bitmap calls free by mistake is not taken while it is in use`() throws {
        // The bitmap offers the leaf that must be split, and then the page above it, as the new right half.
        let split = try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<100 { try write.put([UInt8](repeating: 1, count: 300), for: key * 10, in: tree) }
            try write.commit()
        }
        let root = try split.tree("t").root
        let leaf = try split.page(root) { $0.child(1) }
        let key = try split.page(leaf) { $0.integerKey(2) } + 1
        let value = [UInt8](repeating: 1, count: 1000)
        for page in [leaf, root] {
            var damaged = split
            try damaged.callFree(page)
            #expect(
                try failure(damaged) { write, tree throws(StorageError) in
                    for step in 0..<8 { try write.put(value, for: key + UInt64(step), in: tree) }
                } == .corrupt(.pageReachedButFree, page: page, tree: 2))
        }

        // The bitmap offers the root of an empty tree as the first leaf of a load.
        var load = try store(0)
        let empty = try load.tree("t").root
        try load.callFree(empty)
        #expect(
            try failure(load) { write, tree throws(StorageError) in
                try write.load((UInt64(0)..<100).lazy.map { ($0, [UInt8](repeating: 1, count: 300)) }, into: tree)
            } == .corrupt(.pageReachedButFree, page: empty, tree: 2))
    }

    @Test func `a page that the bitmap calls free by mistake is not given back`() throws {
        var store = try store(4)
        let root = try store.tree("t").root
        let page: PageNumber = try store.page(root) { leaf in
            guard case .overflow(let first, _) = leaf.value(2) else { return 0 }
            return first
        }
        try store.callFree(page)

        #expect(
            try failure(store) { write, tree throws(StorageError) in try write.remove(2, from: tree) }
                == .corrupt(.pageReachedButFree, page: page))
    }

    @Test func `free pages after the end of the store are not given out`() throws {
        var store = try store(4)
        let end = PageNumber(store.bytes.count / 4096)
        try store.callFree(end)

        #expect(
            try failure(store) { write, tree throws(StorageError) in try write.put(long, for: 9, in: tree) }
                == .corrupt(.freeCountWrong, page: FixedPlace.firstBitmap, byteOffset: BitmapLayout.freeCount))
    }

    /// The error of a shrink of a store with free pages after its first value, after `forge` has changed the store; it
    /// gets the numbers of the first leaf, the first page of the first value and the last page of the file.
    private func failureOfShrink(
        _ forge: (inout ForgedStore, _ leaf: PageNumber, _ first: PageNumber, _ last: PageNumber) throws -> Void
    ) throws -> StorageError? {
        var store = try store(400, removed: 1..<30)
        let leaf = try store.page(try store.tree("t").root) { $0.child(0) }
        let first: PageNumber = try store.page(leaf) { leaf in
            guard case .overflow(let first, _) = leaf.value(0) else { return 0 }
            return first
        }
        try forge(&store, leaf, first, PageNumber(store.bytes.count / 4096 - 1))
        return try failure(store) { write, _ throws(StorageError) in _ = try write.shrink(movingAtMost: 1000) }
    }

    @Test func `a shrink moves no page that it does not understand, or that nothing refers to`() throws {
        var end: PageNumber = 0
        let type = try failureOfShrink { store, _, _, last in
            end = last
            try store.change(page: last) { $0.set(PageType.free.rawValue, at: PageLayout.type) }
        }
        #expect(type == .corrupt(.pageType, page: end, byteOffset: PageLayout.type))
        let tree = try failureOfShrink { store, _, _, last in
            try store.change(page: last) { $0.set(UInt32(99), at: PageLayout.treeID) }
        }
        #expect(tree == .corrupt(.pageLost, page: end, tree: 99))
        let lost = try failureOfShrink { store, _, _, last in
            try store.change(page: last) { page in
                let identity = TreePageIdentity(number: last, treeID: 2, level: 0, isInteger: true)
                TreePageBuilder(page, identity, count: 0, low: nil, high: nil).finish()
            }
        }
        #expect(lost == .corrupt(.pageLost, page: end, tree: 2))
    }

    @Test func `a shrink follows no chain that is not that of its value`() throws {
        var chain: PageNumber = 0
        let length = try failureOfShrink { store, leaf, first, _ in
            chain = first
            try store.change(page: leaf) {
                $0.set(UInt64(1) << 31, at: $0.cellOffset(0) + TreeLayout.valueWordByteCount)
            }
        }
        #expect(length == .corrupt(.overflowLength, page: chain, tree: 2))
        let run = try failureOfShrink { store, _, first, _ in
            try store.change(page: first) { $0.set(UInt32(9), at: OverflowLayout.runLength) }
        }
        #expect(run == .corrupt(.overflowLength, page: chain, tree: 2))
        let type = try failureOfShrink { store, _, first, _ in
            try store.change(page: first) { $0.set(PageType.free.rawValue, at: PageLayout.type) }
        }
        #expect(type == .corrupt(.pageType, page: chain, tree: 2))
        let tree = try failureOfShrink { store, _, first, _ in
            try store.change(page: first) { $0.set(UInt32(99), at: PageLayout.treeID) }
        }
        #expect(tree == .corrupt(.treeOfPage, page: chain, tree: 2))
    }

    @Test func `a newer format is not salvaged by what is known of this one`() throws {
        var store = try store(4)
        var record = RecordBytes(byteCount: SuperblockLayout.byteCount)
        record.store(Array(store.bytes[..<SuperblockLayout.checksum]), at: 0)
        record.store(UInt16(FormatVersion.major + 1), at: SuperblockLayout.major)
        record.seal(at: SuperblockLayout.checksum)
        store.bytes.replaceSubrange(..<SuperblockLayout.byteCount, with: record.bytes)

        #expect(
            throws: StorageError.opening(
                .unsupportedFormat(
                    found: UInt32(FormatVersion.major + 1) << 16 | UInt32(FormatVersion.minor),
                    supported: UInt32(FormatVersion.major) << 16 | UInt32(FormatVersion.minor)))
        ) {
            _ = try Database.salvage(from: "store", into: "new", in: store.machine, options: SalvageOptions())
        }
    }

    @Test func `a file that ends before the copy of its superblock is not repaired`() throws {
        var store = try store(0)
        store.bytes.removeLast(store.bytes.count - SuperblockLayout.mirror)

        #expect(throws: StorageError.opening(.notAStore(.tooShort))) {
            _ = try Database.repair("store", in: store.machine)
        }
    }
}
