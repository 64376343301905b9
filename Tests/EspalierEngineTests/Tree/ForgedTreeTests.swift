// Trees that are forged so that exactly one rule is broken, and the operation that must notice it.

import EspalierEngine
import TestSupport
import Testing

@Suite struct ForgedTreeTests {
    private let value = [UInt8](repeating: 1, count: 100)

    /// A tree of `height` levels whose leaves are full, except for the last.
    private func sample(_ kind: KeyKind, height: Int) throws -> TreeOracle {
        let oracle = try TreeOracle(kind)
        var number = 0
        while oracle.record.height < height || number < 12 {
            let key: TestKey =
                kind == .integer ? .integer(UInt64(number * 10 + 10)) : .bytes([UInt8]("k\(1000 + number)".utf8))
            try oracle.insert(key, value)
            number += 1
        }
        // Validate no more than a pager does when it loads a page.
        oracle.pages.depth = .load
        return oracle
    }

    private func insert(_ key: TestKey, into oracle: TreeOracle) throws(StorageError) {
        let stored = OwnedKey(value)
        var record = oracle.record
        _ = try key.with { (key) throws(StorageError) in
            try oracle.tree.insert(key, stored.key.bytes, into: &record)
        }
    }

    @Test func `a length that is not that of a chain is refused when its value is read`() throws {
        let oracle = try TreeOracle(.integer)
        try oracle.insert(.integer(1), [UInt8](repeating: 1, count: 1000))
        oracle.pages.depth = .load
        let root = oracle.pages.page(oracle.record.root)
        guard case .overflow(let first, _) = root.value(0) else {
            Issue.record("the value is not in overflow pages")
            return
        }
        // One length is less than the first page holds, the other more than all pages of the store can hold.
        for length in [UInt64(10), 1 << 31] {
            root.set(length, at: root.cellOffset(0) + TreeLayout.valueWordByteCount)

            #expect(throws: StorageError.corrupt(.overflowLength, page: first, tree: 2), "\(length) bytes") {
                try oracle.tree.value(of: TreeKey(1), in: oracle.record)
            }
        }
    }

    @Test func `a value of more than the greatest length is refused before a byte of it is read`() throws {
        let oracle = try TreeOracle(.integer)
        let byte = OwnedKey([1])
        let length = StoreGeometry.valueByteCountMax + 1
        // SAFETY: only one byte is valid, but the insertion must refuse the length before it reads any byte.
        let huge = unsafe ByteString(UnsafeRawBufferPointer(start: byte.key.bytes.base, count: length))
        var record = oracle.record

        #expect(throws: StorageError.argument(.valueTooLarge(byteCount: UInt64(length)))) {
            try oracle.tree.insert(TreeKey(1), huge, into: &record)
        }
        try oracle.expectSame()
    }

    @Test func `a last child that does not hold all keys does not become the root`() throws {
        let oracle = try TreeOracle(.integer)
        for number in UInt64(0)..<6 { try oracle.insert(.integer(number), value) }
        let root = oracle.pages.page(oracle.record.root)
        try #require(root.level == 1 && root.cellCount == 1)
        let (left, right) = (root.child(0), oracle.pages.page(root.child(1)))
        right.set(UInt16(8), at: TreeLayout.highFenceByteCount)
        right.set(UInt64.max, at: right.byteCount - 8)
        var record = oracle.record

        let failure = thrown { () throws(StorageError) in
            for number in UInt64(0)..<6 { _ = try oracle.tree.remove(TreeKey(number), from: &record) }
        }
        #expect(failure == .corrupt(.fencesOfChild, page: left, tree: 2))
    }

    @Test func `removing a range ends where a leaf leads back to itself`() throws {
        let oracle = try sample(.integer, height: 2)
        let root = oracle.pages.page(oracle.record.root)
        let leaf = root.child(0)
        let last = oracle.pages.page(leaf).integerKey(oracle.pages.page(leaf).cellCount - 1)
        root.setChild(1, to: leaf)
        var record = oracle.record

        #expect(throws: StorageError.corrupt(.fencesOfChild, page: leaf, tree: 2)) {
            try oracle.tree.removeRange(from: TreeKey(last), to: nil, in: &record)
        }
    }

    @Test func `a leaf is not its own neighbor`() throws {
        let oracle = try sample(.integer, height: 2)
        let root = oracle.pages.page(oracle.record.root)
        let leaf = root.child(0)
        root.setChild(1, to: leaf)

        #expect(throws: StorageError.corrupt(.pageReachedTwice, page: leaf, tree: 2)) {
            try insert(.integer(15), into: oracle)
        }
    }

    /// A tree whose first parent of leaves has a low fence just below its first separator, and this parent.
    private func treeWithHighFence(_ kind: KeyKind) throws -> (oracle: TreeOracle, parent: PageView) {
        let oracle = try sample(kind, height: 3)
        let parent = oracle.pages.page(oracle.pages.page(oracle.record.root).child(0))
        let old = ScratchPage(byteCount: parent.byteCount)
        old.view.copy(from: parent, at: 0, to: 0, count: parent.byteCount)
        var bytes: [UInt8] = []
        if kind == .bytes {
            bytes = old.view.keyArray(0)
            bytes[bytes.count - 1] -= 1
            bytes.append(0xFF)
        }
        let fence = OwnedKey(bytes)
        var builder = TreePageBuilder(
            parent, TreePageIdentity(of: old.view), count: old.view.cellCount,
            low: kind == .bytes ? fence.key : TreeKey(old.view.integerKey(0) - 1), high: old.view.highFenceKey,
            rightChild: old.view.rightChild)
        try builder.append(from: old.view, 0..<old.view.cellCount)
        builder.finish()
        return (oracle, parent)
    }

    @Test func `a leaf is not split where its parent would not look for it`() throws {
        let (oracle, parent) = try treeWithHighFence(.integer)
        let leaf = parent.child(0)

        // The key is below all others, so the insertion asks no neighbor.
        #expect(throws: StorageError.corrupt(.fencesOfChild, page: leaf, tree: 2)) {
            try insert(.integer(5), into: oracle)
        }
    }

    @Test func `entries are not moved to a neighbor where their parent would not look for them`() throws {
        let (oracle, parent) = try treeWithHighFence(.bytes)
        var record = oracle.record
        for key in oracle.keys where key >= .bytes(parent.keyArray(0)) && key < .bytes(parent.keyArray(1)) {
            guard oracle.pages.page(parent.child(1)).cellCount > 2 else { break }
            _ = try key.with { (key) throws(StorageError) in try oracle.tree.remove(key, from: &record) }
        }

        #expect(throws: StorageError.corrupt(.fencesOfChild, page: parent.storedNumber, tree: 2)) {
            try insert(.bytes(bytes("k1000x")), into: oracle)
        }
    }

    /// Writes a full page of tree 2 to `number`.
    private func fill(
        _ pages: ArrayPages, _ number: PageNumber, level: Int, keys: [UInt64], children: [PageNumber],
        low: UInt64?, high: UInt64?, rootTag: UInt32? = nil
    ) throws {
        let identity = TreePageIdentity(number: number, treeID: 2, level: level, isInteger: true, rootTag: rootTag)
        let pin = try pages.edit(number)
        var builder = TreePageBuilder(
            pin.view, identity, count: keys.count, low: low.map { TreeKey($0) }, high: high.map { TreeKey($0) },
            rightChild: children.last ?? 0)
        let stored = OwnedKey(value)
        for (index, key) in keys.enumerated() {
            if level == 0 {
                try builder.append(TreeKey(key), .inline(stored.key.bytes))
            } else {
                try builder.append(TreeKey(key), leftChild: children[index])
            }
        }
        builder.finish()
    }

    @Test func `a tree of the greatest height does not grow`() throws {
        // Every page on the path to the first leaf is full, and an insertion below all of its entries asks no neighbor.
        let pages = ArrayPages()
        let depth = StoreGeometry.treeDepthMax
        let numbers = try (0...depth).map { _ in try pages.allocate(near: 0, count: 1).first }
        let (leaf, neighbor, root) = (numbers[0], numbers[depth], numbers[depth - 1])
        try fill(pages, leaf, level: 0, keys: [6, 10, 20, 30], children: [], low: nil, high: 100)
        try fill(pages, neighbor, level: 0, keys: [100, 110, 120, 130], children: [], low: 100, high: 200)
        for level in 1..<depth {
            let first = level == 1 ? 100 : UInt64(1000 * (level - 1))
            let keys = [first] + (0..<36).map { first + 100 + $0 }
            try fill(
                pages, numbers[level], level: level, keys: keys,
                children: [numbers[level - 1]] + keys.map { _ in neighbor }, low: nil,
                high: level == depth - 1 ? nil : UInt64(1000 * level), rootTag: level == depth - 1 ? 0 : nil)
        }
        var record = TreeRecord(treeID: 2, root: root, kind: .integer)
        record.height = depth
        let stored = OwnedKey(value)

        #expect(throws: StorageError.corrupt(.treeTooDeep, page: root, tree: 2)) {
            try BTree(pages).insert(TreeKey(5), stored.key.bytes, into: &record)
        }
        #expect(pages.pinCount == 0)
    }

    @Test func `a key that does not begin with its page's prefix is not written to the page`() throws {
        let low = OwnedKey(bytes("abc0"))
        let high = OwnedKey(bytes("abc9"))
        let short = OwnedKey(bytes("ab"))
        let page = ScratchPage(byteCount: 512)
        let other = ScratchPage(byteCount: 512)
        let identity = TreePageIdentity(number: 7, treeID: 2, level: 0, isInteger: false)
        func builder(_ view: PageView, _ low: TreeKey?, _ high: TreeKey?) -> TreePageBuilder {
            TreePageBuilder(view, identity, count: 1, low: low, high: high)
        }
        var damaged = builder(other.view, nil, nil)
        try damaged.append(short.key, .inline(short.key.bytes))
        damaged.finish()
        var first = builder(page.view, low.key, high.key)
        #expect(throws: StorageError.corrupt(.keyOutsideFences, page: 7, tree: 2)) {
            try first.append(from: other.view, 0..<1)
        }
        var second = builder(page.view, low.key, high.key)
        #expect(throws: StorageError.corrupt(.keyOutsideFences, page: 7, tree: 2)) {
            try second.append(short.key, .inline(short.key.bytes))
        }
    }
}
