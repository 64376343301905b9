// Every numbered rule of the format document, broken by hand in a whole store: both checkers name that rule.
//
// Promises
//   1. Each rule that the engine knows has a case, so that none exists in name only.

import EspalierEngine
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct RuleTests {
    /// One way to break a rule.
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: Int
        let name: String
        /// Whether the case needs the store with a log.
        var isOpen = false
        /// Whether the engine's own check finds it; the tool compares page 0 in addition.
        var isForEngine = true
        let breakIt: @Sendable (inout RuleStore) -> Void

        init(
            _ rule: Int, _ name: String, isOpen: Bool = false, isForEngine: Bool = true,
            _ breakIt: @escaping @Sendable (inout RuleStore) -> Void
        ) {
            (self.rule, self.name, self.isOpen, self.isForEngine) = (rule, name, isOpen, isForEngine)
            self.breakIt = breakIt
        }

        var testDescription: String { "rule \(rule): \(name)" }
    }

    @Test(arguments: [("commit LSN", 8), ("durable LSN", 23), ("catalog's root", 35), ("reserved bytes", 90)])
    func `a commit that cannot be says nothing of what was durable`(field: (name: String, offset: Int)) throws {
        var store = RuleStore(files: try SampleStores.open())
        let page = try #require(store.frames(1).first)
        let commits = store.frames(2)
        for commit in commits { store.setLog(UInt8(0xA5), commit + 48 + field.offset) }
        store.files.log?[page + 100] ^= 1
        #expect(Verdict.audit(store.files).agrees(with: .ok))
        #expect(Verdict.engine(store.files).agrees(with: .ok))
    }

    @Test(arguments: RuleTests.cases)
    func `a broken rule is named by both checkers`(broken: Case) throws {
        var store = RuleStore(files: broken.isOpen ? try SampleStores.open() : try SampleStores.closed())
        #expect(Verdict.audit(store.files).agrees(with: .ok))
        #expect(Verdict.engine(store.files).agrees(with: .ok))

        broken.breakIt(&store)
        let (ours, theirs) = (Verdict.audit(store.files), Verdict.engine(store.files))

        #expect(ours.agrees(with: .damaged([broken.rule])), "the audit says \(ours)")
        if broken.isForEngine {
            #expect(theirs.agrees(with: .damaged([broken.rule])), "the engine's check says \(theirs)")
        }
    }

    @Test func `every rule of the engine has a case`() {
        let rules = Set(CorruptionRule.allCases.map { Int($0.rawValue) })

        #expect(Set(Self.cases.map(\.rule)) == rules)
    }

    static let cases = pageCases + superblockCases + treePageCases + otherPageCases + logCases + treeCases + wholeCases
}

/// A store, and the places in it that the cases need.
struct RuleStore {
    var files: ForgedFiles

    /// The first page in use that `fits`.
    private func page(_ what: String, _ fits: (Int) -> Bool) -> Int {
        let free = Set((1..<files.pageCount).filter(isFree))
        guard let page = (1..<files.pageCount).first(where: { !free.contains($0) && fits($0) }) else {
            preconditionFailure("the sample has no \(what)")
        }
        return page
    }

    /// Whether the bitmap says that a page is free.
    func isFree(_ page: Int) -> Bool { files.store[files.pageSize + 64 + page / 8] & 1 << UInt8(page % 8) != 0 }

    /// A leaf of the bytes tree that has a prefix and several cells.
    var wordLeaf: Int {
        page("leaf with prefix") {
            files.kind($0) == 2 && files.tree($0) == 3 && u16($0, 34) > 0 && u16($0, 28) > 3 && u16($0, 40) > 0
        }
    }
    /// A leaf of the integer tree that has fences on both sides.
    var numberLeaf: Int {
        page("leaf of integers") { files.kind($0) == 3 && u16($0, 28) > 3 && u16($0, 40) == 8 && u16($0, 42) == 8 }
    }
    var wordRoot: Int { page("root of bytes") { files.kind($0) == 1 } }
    var numberRoot: Int { page("root of integers") { files.kind($0) == 4 } }
    /// The first page of the long value.
    var overflow: Int { page("overflow page") { files.kind($0) == 5 && u32($0, 36) > 1 } }
    var lastOverflow: Int { page("last overflow page") { files.kind($0) == 5 && u32($0, 32) == 0 && u16($0, 30) != 0 } }
    var freePage: Int {
        guard let page = (3..<files.pageCount).first(where: isFree) else {
            preconditionFailure("the sample has no free page")
        }
        return page
    }
    /// A leaf with a reference to overflow pages, and the offset of its cell in the leaf.
    var reference: (page: Int, cell: Int) {
        for page in 3..<files.pageCount where files.kind(page) == 3 && !isFree(page) {
            let count = u16(page, 28)
            for index in 0..<count {
                let cell = u16(page, 48 + 8 * count + 2 * index)
                if u16(page, cell) & 0x8000 != 0 { return (page, cell) }
            }
        }
        preconditionFailure("the sample has no reference")
    }
    /// The offset of the record of the tree `numbers` in the catalog's page.
    var record: Int {
        let page = Array(files.store[2 * files.pageSize..<3 * files.pageSize])
        for index in 0..<page.u16(28) {
            let cell = page.u16(48 + 8 * index)
            let count = page.u16(48 + 8 * index + 2)
            if page.bytes(cell + 2..<cell + 2 + count) == Array("numbers".utf8) { return cell + 2 + count }
        }
        preconditionFailure("the sample has no record")
    }

    func u16(_ page: Int, _ offset: Int) -> Int { files.store.u16(page * files.pageSize + offset) }
    func u32(_ page: Int, _ offset: Int) -> UInt32 { files.store.u32(page * files.pageSize + offset) }
    func u64(_ page: Int, _ offset: Int) -> UInt64 { files.store.u64(page * files.pageSize + offset) }

    /// Changes a field of a page and makes its checksum right.
    mutating func set(_ value: some FixedWidthInteger, _ page: Int, _ offset: Int) {
        files.set(value, page: page, at: offset)
        files.sealPage(page)
    }

    /// Changes a field of the newest slot and makes its hash right.
    mutating func setSlot(_ value: some FixedWidthInteger, _ offset: Int) {
        let index = files.newestSlot
        files.store.set(value, at: files.newestSlotOffset + offset)
        files.sealSlot(index)
    }

    /// Changes a field of the log and makes its hashes and chain right.
    mutating func setLog(_ value: some FixedWidthInteger, _ offset: Int) {
        files.log?.set(value, at: offset)
        files.sealLog()
    }

    /// The offsets of the frames of type `kind` from the checkpoint on.
    func frames(_ kind: UInt8) -> [Int] {
        let lsn = files.store.u64(files.newestSlotOffset + 8)
        return files.frameOffsets.filter { files.log?.u8($0) == kind && (files.log?.u64($0 + 16) ?? 0) >= lsn }
    }
}
