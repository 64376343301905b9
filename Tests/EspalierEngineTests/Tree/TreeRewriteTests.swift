// Rewrites of whole trees: random outcomes against a sorted array, the pages that they use, and damaged trees.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeRewriteTests {
    private static let workloads = Workload.allCases.filter { $0.kind == .integer }

    /// A tree of the keys and values of a workload.
    private func filled(
        _ workload: Workload, _ count: Int, pageSize: Int, _ random: inout SeededGenerator
    ) throws -> TreeOracle {
        let oracle = try TreeOracle(.integer, pageSize: pageSize)
        for step in 0..<count {
            let key = workload.key(step, &random, pageSize: pageSize)
            try oracle.insert(key, workload.value(&random, pageSize: pageSize))
        }
        return oracle
    }

    /// A tree of the keys from 1 on, whose values have 100 bytes.
    private func plain(_ count: UInt64) throws -> TreeOracle {
        let oracle = try TreeOracle(.integer)
        // In this order leaves are split in the middle, and stay half empty.
        for number in 1...count {
            try oracle.insert(.integer(number * 7919 % (count + 1)), [UInt8](repeating: 1, count: 100))
        }
        return oracle
    }

    @Test(arguments: workloads)
    func `random rewrites give what a sorted array gives, and changes between them go on`(
        _ workload: Workload
    ) throws {
        let seed = testSeed(default: 20_261_128)
        var random = SeededGenerator(seed: seed)
        for pageSize in [512, 4096] {
            let oracle = try filled(workload, pageSize == 512 ? 150 : 400, pageSize: pageSize, &random)
            for round in 0..<campaignCount("ESPALIER_REWRITE_ROUNDS", default: 5) {
                // First keep all, then replace all; then a mixture, in which an entry in ten is removed.
                try oracle.rewrite { _ in
                    switch round == 0 ? 0 : round == 1 ? 1 : Int.random(in: 0..<10, using: &random) {
                    case 0, 2, 3: return .keep
                    case 9: return .remove
                    default: return .replace(workload.value(&random, pageSize: pageSize))
                    }
                }
                try oracle.expectSame()
                #expect(oracle.pages.pinCount == 0)
                for step in 0..<20 {
                    let key = workload.key(1000 + 20 * round + step, &random, pageSize: pageSize)
                    try oracle.insert(key, workload.value(&random, pageSize: pageSize))
                    if let other = oracle.keys.randomElement(using: &random) { try oracle.remove(other) }
                }
                try oracle.expectSame()
            }
            try oracle.rewrite { _ in .remove }
            try oracle.expectSame()
            #expect(oracle.keys.isEmpty && oracle.record.height == 1)
            try oracle.drop()
            #expect(oracle.pages.usedPageCount == 0, "seed \(seed)")
        }
    }

    @Test func `an empty tree and a tree of one leaf are rewritten in their root`() throws {
        for count in [0, 1, 3] as [UInt64] {
            let oracle = try TreeOracle(.integer)
            for number in 0..<count { try oracle.insert(.integer(number), [UInt8(number)]) }
            let pageCount = oracle.pages.pageCount

            try oracle.rewrite { _ in .replace([1, 2, 3]) }

            try oracle.expectSame()
            #expect(oracle.pages.pageCount == pageCount && oracle.record.height == 1)
        }
    }

    @Test func `the new pages take the places of the old ones, and are full`() throws {
        let oracle = try plain(600)
        let (pageCount, leafCount) = (oracle.pages.pageCount, oracle.record.leafPageCount)

        try oracle.rewrite { _ in .replace([UInt8](repeating: 2, count: 100)) }

        try oracle.expectSame()
        // Four entries of 112 bytes have room in a page of 512.
        #expect(oracle.record.leafPageCount == 150 && leafCount > 150, "\(leafCount) leaves")
        #expect(oracle.pages.pageCount == pageCount, "the store grew")
    }

    @Test func `a long value that is kept or begins otherwise is not written anew`() throws {
        var random = SeededGenerator(seed: testSeed(default: 5))
        for byteCount in [2_000, 200_000] {
            let oracle = try TreeOracle(.integer)
            var value = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
            try oracle.insert(.integer(1), value)
            for change in 0..<3 {
                if change > 0 { value[10] ^= 0xFF }
                if change == 2 { value.insert(7, at: 3) }
                let before = oracle.pages.changeCount
                try oracle.rewrite { _ in change == 0 ? .keep : .replace(value) }
                let changes = oracle.pages.changeCount - before
                #expect(changes <= 8, "\(changes) pages allocated, written and freed of \(byteCount) bytes")
                try oracle.expectSame()
            }
        }
    }

    @Test func `a rewrite that ends early says so`() throws {
        let oracle = try plain(60)
        var (record, count) = (oracle.record, 0)

        let isWhole = try oracle.tree.rewrite(&record, name: oracle.name) { _, _, _ in
            count += 1
            return count < 30 ? .kept : nil
        }

        #expect(!isWhole && count == 30 && oracle.pages.pinCount == 0)
    }

    @Test func `a disk that is full at the n-th change gives an error and no pin is left`() throws {
        var (limit, isWhole) = (0, false)
        while !isWhole {
            let oracle = try plain(40)
            var record = oracle.record
            oracle.pages.changesUntilFull = limit
            do throws(StorageError) {
                isWhole = try oracle.tree.rewrite(&record, name: oracle.name) { key, _, new in
                    new = [UInt8](repeating: 3, count: key % 8 == 0 ? 1000 : 60)
                    return .replaced(byteCount: new.count)
                }
            } catch {
                #expect(error == .diskFull)
            }
            #expect(oracle.pages.pinCount == 0)
            limit += 1
        }
        #expect(limit > 20, "\(limit) changes")
    }

    @Test func `leaves that do not follow one another are refused`() throws {
        let oracle = try plain(60)
        // Validate no more than a pager does when it loads a page.
        oracle.pages.depth = .load
        var view = oracle.pages.page(oracle.record.root)
        while view.level > 1 { view = oracle.pages.page(view.child(0)) }
        let (first, second) = (view.child(0), view.child(1))
        view.setChild(0, to: second)
        view.setChild(1, to: first)
        var record = oracle.record

        let failure = thrown { () throws(StorageError) in
            _ = try oracle.tree.rewrite(&record, name: oracle.name) { _, _, _ in .kept }
        }

        // It is the first that is visited, and has a low fence.
        #expect(failure == .corrupt(.fencesOfChild, page: second, tree: 2))
        #expect(oracle.pages.pinCount == 0)
    }

    @Test func `a page that its parent names twice is refused`() throws {
        let oracle = try plain(60)
        oracle.pages.depth = .load
        var view = oracle.pages.page(oracle.record.root)
        while view.level > 1 { view = oracle.pages.page(view.child(0)) }
        view.setChild(1, to: view.child(0))
        var record = oracle.record

        let failure = thrown { () throws(StorageError) in
            _ = try oracle.tree.rewrite(&record, name: oracle.name) { _, _, _ in .kept }
        }

        guard case .corruption? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(oracle.pages.pinCount == 0)
    }
}
