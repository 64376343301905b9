// Cases for rules 60 to 94: the log, trees, and all pages together.

import EspalierEngine

@testable import EspalierAudit

extension RuleTests {
    static let logCases = [
        Case(60, "a log header that does not match its hash", isOpen: true) { $0.files.log?[505] ^= 1 },
        Case(60, "no log beside a store that was not closed", isOpen: true) { $0.files.log = nil },
        Case(60, "segments of an impossible size", isOpen: true) { $0.setLog(UInt32(70_000), 56) },
        Case(60, "a reserved byte of the log's header", isOpen: true) { $0.setLog(UInt8(1), 100) },
        Case(61, "the header of a segment, and acknowledged commits behind it", isOpen: true) { store in
            // Damage the first segment that recovery needs.
            let place = store.frames(1).first.map { ($0 - 4096) / (64 << 10) } ?? 0
            store.files.log?[4096 + place * (64 << 10) + 20] ^= 1
        },
        Case(62, "a byte of a page that was acknowledged", isOpen: true) { store in
            guard let frame = store.frames(1).first else { return }
            store.files.log?[frame + 100] ^= 1
        },
        Case(62, "a page in the log with the LSN of another frame", isOpen: true) { store in
            guard let frame = store.frames(1).first, let lsn = store.files.log?.u64(frame + 16) else { return }
            store.setLog(lsn - 1, frame + 48 + 16)
        },
        Case(63, "a commit that knows the future to be durable", isOpen: true) { store in
            guard let commit = store.frames(2).first, let lsn = store.files.log?.u64(commit + 16) else { return }
            store.setLog(lsn + 1, commit + 48 + 16)
        },
        Case(63, "an impossible commit that was acknowledged", isOpen: true) { store in
            guard let commit = store.frames(2).first else { return }
            store.setLog(UInt32(1), commit + 48 + 32)
        },
        Case(64, "the log of another store", isOpen: true) { store in
            store.setLog((store.files.log?.u64(24) ?? 0) &+ 1, 24)
        },
        Case(64, "a log that the slot does not name", isOpen: true) { store in
            store.setLog((store.files.log?.u64(40) ?? 0) &+ 1, 40)
        },
    ]

    static let treeCases = [
        Case(70, "a leaf of another tree") { $0.set(UInt32(9), $0.numberLeaf, 24) },
        Case(70, "an overflow page of another tree") { $0.set(UInt32(9), $0.overflow, 24) },
        Case(71, "a root that is a level higher than its children allow") { $0.set(UInt8(2), $0.numberRoot, 14) },
        Case(72, "a tree of integers whose record says bytes") { $0.set(UInt8(2), 2, $0.record + 8) },
        Case(73, "a fence that is not the separator") { store in
            let at = store.files.pageSize - 8
            store.set(store.u64(store.numberLeaf, at) + 1, store.numberLeaf, at)
        },
        Case(74, "a level that no tree reaches") { $0.set(UInt8(24), $0.numberRoot, 14) },
        Case(75, "a leaf that says it is a root") { store in
            let last = (3..<store.files.pageCount).last {
                store.files.kind($0) == 3 && store.u16($0, 40) == 0 && store.u16($0, 42) == 8 && !store.isFree($0)
            }
            guard let leaf = last else { return }
            // Remove the fences, as in a root, so that only the flag is wrong.
            store.files.set(UInt16(0), page: leaf, at: 42)
            store.files.set(UInt64(0), page: leaf, at: store.files.pageSize - 8)
            store.set(UInt8(1), leaf, 13)
        },
        Case(76, "a wrong count of entries") { $0.set($0.u64(2, $0.record + 16) + 1, 2, $0.record + 16) },
        Case(77, "a wrong count of leaf pages") { $0.set($0.u64(2, $0.record + 24) + 1, 2, $0.record + 24) },
        Case(78, "a wrong height") { $0.set(UInt16(3), 2, $0.record + 10) },
        Case(79, "a third kind of keys") { $0.set(UInt8(3), 2, $0.record + 8) },
        Case(79, "a tree with the number of the catalog") { $0.set(UInt32(1), 2, $0.record) },
        Case(79, "a root beyond the page count") { $0.set(UInt32($0.files.pageCount), 2, $0.record + 4) },
        Case(79, "a height of no levels") { $0.set(UInt16(0), 2, $0.record + 10) },
        Case(80, "the tag of another name") { $0.set($0.u32($0.numberRoot, 44) ^ 1, $0.numberRoot, 44) },
    ]

    static let wholeCases = [
        Case(90, "two references to one page") { store in
            let first = store.u32(store.numberRoot, 48 + 8 * store.u16(store.numberRoot, 28))
            store.set(first, store.numberRoot, 36)
        },
        Case(91, "a page in use that is free") { store in
            let page = store.numberLeaf
            store.files.set(UInt32(0), page: 1, at: 36)
            store.files.set(store.u32(1, 32) + 1, page: 1, at: 32)
            store.set(store.files.store[store.files.pageSize + 64 + page / 8] | 1 << UInt8(page % 8), 1, 64 + page / 8)
        },
        Case(92, "a page that is neither used nor free") { store in
            let page = store.freePage
            store.files.set(store.u32(1, 32) - 1, page: 1, at: 32)
            store.set(
                store.files.store[store.files.pageSize + 64 + page / 8] & ~(1 << UInt8(page % 8)), 1, 64 + page / 8)
        },
        Case(93, "a wrong count of free pages") { store in
            store.setSlot(store.files.store.u32(store.files.newestSlotOffset + 28) + 1, 28)
        },
        Case(94, "a file that has lost its last page") { store in
            store.files.store.removeLast(store.files.pageSize)
        },
    ]
}
