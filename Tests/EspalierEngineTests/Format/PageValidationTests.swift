// The limits of rules about single pages: a value just within a limit is accepted, one just beyond it names the rule.

import EspalierEngine
import Testing

@Suite struct PageValidationTests {
    private let number: PageNumber = 5

    /// The rule that a page of 512 bytes breaks after `body` has filled it; `nil` if it breaks none.
    private func broken(
        _ depth: PageValidation.Depth = .load, _ body: (PageView) throws -> Void
    ) throws -> CorruptionRule? {
        let page = ScratchPage(byteCount: 512)
        page.view.clear(0..<512)
        try body(page.view)
        do throws(StorageError) {
            try PageValidation.validate(page.view, number: number, depth: depth)
        } catch {
            guard case .corruption(let corruption) = error else { throw error }
            return corruption.rule
        }
        return nil
    }

    private func identity(level: Int = 0, isInteger: Bool) -> TreePageIdentity {
        TreePageIdentity(number: number, treeID: 2, level: level, isInteger: isInteger)
    }

    private func buildLeaf(_ view: PageView, keys: [UInt64], value: [UInt8] = [1, 2], high: UInt64? = nil) throws {
        let value = OwnedKey(value)
        var builder = TreePageBuilder(
            view, identity(isInteger: true), count: keys.count, low: nil, high: high.map { TreeKey($0) })
        for key in keys { try builder.append(TreeKey(key), .inline(value.key.bytes)) }
        builder.finish()
    }

    private func buildLeaf(_ view: PageView, names: [String], high: String) throws {
        let fence = OwnedKey([UInt8](high.utf8))
        let value = OwnedKey([7])
        var builder = TreePageBuilder(view, identity(isInteger: false), count: names.count, low: nil, high: fence.key)
        for name in names {
            let key = OwnedKey([UInt8](name.utf8))
            try builder.append(key.key, .inline(value.key.bytes))
        }
        builder.finish()
    }

    @Test func `keys ascend strictly and lie below the high fence`() throws {
        #expect(try broken { try buildLeaf($0, keys: [1, 2, 3], high: 4) } == nil)
        #expect(try broken { try buildLeaf($0, keys: [1, 2, 2], high: 4) } == .keyOrder)
        #expect(try broken { try buildLeaf($0, keys: [1, 2, 3], high: 3) } == .keyOutsideFences)
        #expect(try broken { try buildLeaf($0, names: ["a", "b"], high: "c") } == nil)
        #expect(try broken { try buildLeaf($0, names: ["a", "a"], high: "c") } == .keyOrder)
        #expect(try broken { try buildLeaf($0, names: ["a", "c"], high: "c") } == .keyOutsideFences)
    }

    @Test func `fences of integer pages ascend strictly`() throws {
        let rules = try [UInt64(11), 10].map { high in
            try broken { view in
                TreePageBuilder(
                    view, identity(isInteger: true), count: 0, low: TreeKey(10), high: TreeKey(high)
                ).finish()
            }
        }

        #expect(rules == [nil, .fenceOrder])
    }

    @Test func `a cell ends where the cell area ends, and not one byte after it`() throws {
        let rule = try broken { view in
            try buildLeaf(view, keys: [1])
            view.set(UInt16(3), at: view.cellOffset(0))
        }
        let ruleOfSeparator = try broken { view in
            let key = OwnedKey([UInt8]("m".utf8))
            var builder = TreePageBuilder(
                view, identity(level: 1, isInteger: false), count: 1, low: nil, high: nil, rightChild: 9)
            try builder.append(key.key, leftChild: 8)
            builder.finish()
            view.set(UInt16(2), at: TreeLayout.slots + 2)
        }

        #expect(rule == .cellLength)
        #expect(ruleOfSeparator == .cellLength)
    }

    @Test func `overflow pages hold values of one byte at least`() throws {
        let rules = try [UInt64(1), 0].map { byteCount in
            try broken { view in
                var builder = TreePageBuilder(view, identity(isInteger: true), count: 1, low: nil, high: nil)
                try builder.append(TreeKey(1), .overflow(first: 9, byteCount: byteCount))
                builder.finish()
            }
        }

        #expect(rules == [nil, .overflowReference])
    }

    @Test func `a run of overflow pages goes on with the next page`() throws {
        let payload = OwnedKey([UInt8](repeating: 1, count: 512 - OverflowLayout.payload))
        func rule(next: PageNumber, runLength: Int) throws -> CorruptionRule? {
            try broken {
                $0.formatOverflow(
                    number: number, treeID: 2, next: next, runLength: runLength, payload: payload.key.bytes)
            }
        }

        #expect(try rule(next: 6, runLength: 2) == nil)
        #expect(try rule(next: 9, runLength: 1) == nil)
        #expect(try rule(next: 9, runLength: 2) == .overflowRun)
        #expect(try rule(next: 6, runLength: 0) == .overflowRun)
        #expect(try rule(next: 0, runLength: 2) == .overflowRun)
    }

    @Test func `a bitmap page counts its free pages, and none is below its hint`() throws {
        func rule(freeCount: Int, hint: Int) throws -> CorruptionRule? {
            let page = ScratchPage(byteCount: 512)
            page.view.formatBitmap(number: FixedPlace.firstBitmap)
            for bit in [70, 200] { page.view.setBitmap(bit, isFree: true) }
            page.view.setBitmap(freeCount: freeCount, hint: hint)
            do throws(StorageError) {
                try PageValidation.validate(page.view, number: FixedPlace.firstBitmap)
            } catch {
                guard case .corruption(let corruption) = error else { throw error }
                return corruption.rule
            }
            return nil
        }

        #expect(try rule(freeCount: 2, hint: 0) == nil)
        #expect(try rule(freeCount: 2, hint: 70) == nil)
        #expect(try rule(freeCount: 1, hint: 0) == .bitmapCount)
        #expect(try rule(freeCount: 2, hint: 71) == .bitmapHint)
    }
}
