// Cases for rules 1 to 53: a page, or page 0, on its own.

import EspalierEngine

@testable import EspalierAudit

extension RuleTests {
    static let pageCases = [
        Case(1, "a byte of a leaf is another one") { $0.files.store[$0.numberLeaf * $0.files.pageSize + 3000] ^= 1 },
        Case(2, "a page stands in another one's place") { store in
            let (from, to) = (store.numberLeaf, store.wordLeaf)
            store.set(UInt32(from), to, 8)
        },
        Case(3, "an overflow page as a child") { $0.set(UInt32($0.overflow), $0.numberRoot, 36) },
        Case(3, "an unknown type") { $0.set(UInt8(9), $0.numberLeaf, 12) },
        Case(4, "a child beyond the page count") { $0.set(UInt32(5000), $0.numberRoot, 36) },
        Case(5, "a reserved byte") { $0.set(UInt8(1), $0.numberLeaf, 15) },
        Case(5, "an unknown flag") { $0.set(UInt8(4), $0.numberLeaf, 13) },
        Case(5, "a leaf with a right child") { $0.set(UInt32(7), $0.numberLeaf, 36) },
        Case(5, "a tag in a page that is no root") { $0.set(UInt32(7), $0.numberLeaf, 44) },
        Case(5, "a reserved byte of a bitmap page") { $0.set(UInt8(1), 1, 63) },
        Case(5, "what page 0 does not use", isForEngine: false) { $0.files.store[3000] = 1 },
        Case(6, "a byte in the gap of a leaf") { store in
            store.set(UInt8(1), store.numberLeaf, store.u16(store.numberLeaf, 30) - 1)
        },
        Case(7, "a page of the future") { $0.set(UInt64(1) << 40, $0.numberLeaf, 16) },
    ]

    static let superblockCases = [
        Case(10, "a byte of the superblock") { $0.files.store[300] ^= 1 },
        Case(11, "a page size that is none") { store in
            store.files.store.set(UInt32(5000), at: 20)
            store.files.sealSuperblock()
        },
        Case(11, "a reserved byte of the superblock") { store in
            store.files.store[200] = 1
            store.files.sealSuperblock()
        },
        Case(12, "no slot is valid") { store in
            for index in 0..<3 { store.files.store[512 + 512 * index] ^= 1 }
        },
        Case(12, "no slot stands in its place") { store in
            for index in 0..<3 {
                store.files.store[512 + 512 * index] += 1
                store.files.sealSlot(index)
            }
        },
        Case(12, "an older slot that no crash can have torn", isForEngine: false) { store in
            store.files.store[512 + 512 * ((store.files.newestSlot + 2) % 3)] ^= 1
        },
        Case(13, "the copy of the superblock", isForEngine: false) { $0.files.store[2100] ^= 1 },
    ]

    static let treePageCases = [
        Case(20, "a leaf of level 1") { $0.set(UInt8(1), $0.numberLeaf, 14) },
        Case(21, "content that begins within the slots") { $0.set(UInt16(60), $0.numberLeaf, 30) },
        Case(22, "a fence of four bytes in an integer page") { $0.set(UInt16(4), $0.numberLeaf, 40) },
        Case(22, "a value where no fence is") { store in
            store.set(UInt64(3), store.numberRoot, store.files.pageSize - 8)
        },
        Case(22, "a fence longer than any key") { $0.set(UInt16(1001), $0.wordLeaf, 42) },
        Case(23, "a low fence above the high one") { store in
            store.set(UInt64.max, store.numberLeaf, store.files.pageSize - 16)
        },
        Case(24, "a prefix that is too short") { store in
            store.set(UInt16(store.u16(store.wordLeaf, 34) - 1), store.wordLeaf, 34)
        },
        Case(25, "a cell that begins in the gap") { store in
            store.set(UInt16(store.u16(store.wordLeaf, 30) - 8), store.wordLeaf, 48)
        },
        Case(26, "a cell that ends behind the content") { $0.set(UInt16(900), $0.wordLeaf, 50) },
        Case(27, "fragments that are none") { $0.set(UInt16(1), $0.wordLeaf, 32) },
        Case(28, "two slots with one cell") { store in
            // Choose two cells of one length: the sum of lengths and the keys, which are in the slots, stay right.
            let (leaf, count) = (store.numberLeaf, store.u16(store.numberLeaf, 28))
            for left in 0..<count {
                for right in left + 1..<count {
                    let (first, second) = (48 + 8 * count + 2 * left, 48 + 8 * count + 2 * right)
                    guard store.u16(leaf, store.u16(leaf, first)) == store.u16(leaf, store.u16(leaf, second)) else {
                        continue
                    }
                    return store.set(UInt16(store.u16(leaf, first)), leaf, second)
                }
            }
        },
        Case(29, "two keys in the wrong order") { store in
            let leaf = store.numberLeaf
            let (first, second) = (store.u64(leaf, 48), store.u64(leaf, 56))
            store.set(second, leaf, 48)
            store.set(first, leaf, 56)
        },
        Case(30, "the head of another key") { store in
            store.set(store.u32(store.wordLeaf, 52) &- 1, store.wordLeaf, 52)
        },
        Case(31, "a key below the low fence") { $0.set(UInt64(0), $0.numberLeaf, 48) },
        Case(32, "a page that is its own child") { $0.set(UInt32($0.numberRoot), $0.numberRoot, 36) },
        Case(32, "the superblock as a child") { $0.set(UInt32(0), $0.numberRoot, 36) },
        Case(33, "a value of no bytes on overflow pages") {
            $0.set(UInt64(0), $0.reference.page, $0.reference.cell + 2)
        },
        Case(33, "a value that begins in the superblock") {
            $0.set(UInt32(0), $0.reference.page, $0.reference.cell + 10)
        },
    ]

    static let otherPageCases = [
        Case(40, "an overflow page with a level") { $0.set(UInt8(2), $0.overflow, 14) },
        Case(42, "a page within a chain that ends before its bytes do") { $0.set(UInt16(4000), $0.overflow, 30) },
        Case(41, "a last page with a run") { $0.set(UInt32(2), $0.lastOverflow, 36) },
        Case(41, "a run that is longer than the next page says") { store in
            store.set(store.u32(store.overflow, 36) + 1, store.overflow, 36)
        },
        Case(42, "a byte behind the value") { $0.set(UInt8(1), $0.lastOverflow, $0.files.pageSize - 1) },
        Case(43, "a chain that is longer than its value") { store in
            let (page, cell) = store.reference
            store.set(store.u64(page, cell + 2) - 1, page, cell + 2)
        },
        Case(43, "a chain that is shorter than its value") { store in
            let (page, cell) = store.reference
            store.set(UInt64(1) << 31, page, cell + 2)
        },
        Case(50, "no bitmap page where one must be") { $0.set(UInt8(3), 1, 12) },
        Case(50, "a bitmap page within a tree") { $0.set(UInt8(6), $0.numberLeaf, 12) },
        Case(51, "a wrong count of bits") { $0.set($0.u32(1, 32) + 1, 1, 32) },
        Case(52, "a hint behind a free page") { $0.set(UInt32($0.freePage + 1), 1, 36) },
        Case(53, "a bitmap page that is free") { store in
            store.files.set(UInt32(0), page: 1, at: 36)
            store.files.set(store.u32(1, 32) + 1, page: 1, at: 32)
            store.set(store.files.store[store.files.pageSize + 64] | 2, 1, 64)
        },
        Case(53, "a page beyond the page count that is free") { store in
            let bit = store.files.pageCount
            let byte = store.files.store[store.files.pageSize + 64 + bit / 8]
            store.files.set(store.u32(1, 32) + 1, page: 1, at: 32)
            store.set(byte | 1 << UInt8(bit % 8), 1, 64 + bit / 8)
        },
    ]
}
