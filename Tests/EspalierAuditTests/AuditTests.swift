// The audit of whole stores: it must find nothing, in any state that the engine leaves.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct AuditTests {
    private static func findings(_ files: ForgedFiles) throws -> [AuditFinding] {
        try StoreAudit.run(store: files.store, log: files.log).findings.list
    }

    @Test func `golden stores of all page sizes are in order`() throws {
        let folder = Checkout.root.appending(path: "Tests/EspalierEngineTests/Golden")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let stores = names.filter { $0.hasSuffix(".espalier") }

        #expect(stores.count >= 6)
        for name in stores {
            let log = try? [UInt8](Data(contentsOf: folder.appending(path: name + "-wal")))
            let store = try [UInt8](Data(contentsOf: folder.appending(path: name)))
            let report = try StoreAudit.run(store: store, log: log)
            #expect(report.findings.list == [], "\(name)")
            #expect(report.trees.count == 2 && report.trees.allSatisfy { $0.counts.entryCount > 0 }, "\(name)")
        }
    }

    @Test func `empty, closed and open stores are in order, and the log is read`() throws {
        let open = try SampleStores.open()
        let report = try StoreAudit.run(store: open.store, log: open.log)

        #expect(try Self.findings(SampleStores.make { _ in }) == [])
        #expect(try Self.findings(SampleStores.make(closes: false) { _ in }) == [])
        #expect(try Self.findings(SampleStores.closed()) == [])
        #expect(report.findings.list == [])
        #expect(report.logCommitCount == 3)
        #expect(!report.hasChanged)
    }

    @Test func `a log that a writer makes while the store is opened is not missing`() throws {
        let files = try SampleStores.open()
        let log = try #require(files.log)
        let store = ChangingSource(files.store)
        // As in `dbtool`, the audit asks for the log late: a look before the first read of page 0 finds none.
        let report = try StoreAudit.run(store: store, log: store.readCount > 0 ? log : nil)

        #expect(report.findings.list == [])
        #expect(report.logCommitCount == 3)
    }

    @Test func `a store whose page 0 changes under the audit is said to have changed`() throws {
        let files = try SampleStores.closed()
        #expect(try StoreAudit.run(store: ChangingSource(files.store, from: 3), log: nil).hasChanged)
        #expect(try !StoreAudit.run(store: ChangingSource(files.store), log: nil).hasChanged)
    }

    @Test func `what was counted is what the engine counts`() throws {
        let files = try SampleStores.open()
        let system = SimulatedFileSystem(seed: 1)
        system.replaceContents(of: "store", with: files.store)
        system.replaceContents(of: "store-wal", with: try #require(files.log))
        var options = SampleStores.options
        options.access = .readOnly
        let theirs = try Database.open("store", in: system, options: options).check()
        let ours = try StoreAudit.run(store: files.store, log: files.log)

        #expect(theirs.isOK)
        #expect(UInt64(ours.pageCount) == theirs.pageCount)
        #expect(ours.freePageCount == theirs.freePageCount)
        let named = theirs.trees.filter { !$0.summary.tree.name.isEmpty }
        #expect(ours.trees.map(\.number) == named.map(\.summary.tree.id))
        #expect(ours.trees.map(\.counts.entryCount) == named.map(\.entryCount))
    }

    @Test func `stores that random operations have made are in order, as they are left and after a loss of power`()
        throws
    {
        let seed = testSeed(default: 61)
        for round in 0..<UInt64(campaignCount("ESPALIER_AUDIT_RUNS", default: 3)) {
            let system = SimulatedFileSystem(seed: seed &+ round)
            var run = RandomRun(seed: seed &+ round)
            try run.work(on: system, transactions: 12) { () throws in
                let findings = try Self.findings(ForgedFiles(system))
                #expect(findings == [], "seed \(seed &+ round)")
            }
            for loss in 0..<UInt64(3) {
                let files = ForgedFiles(system.afterPowerLoss(seed: loss))
                #expect(try Self.findings(files) == [], "seed \(seed &+ round), loss \(loss)")
            }
        }
    }
}

/// A store whose slots another process changes.
private final class ChangingSource: ByteSource {
    private let bytes: [UInt8]
    private let changeNumber: Int
    private(set) var readCount = 0

    /// - Parameter changeNumber: the number of the first read of page 0 that finds another slot.
    init(_ bytes: [UInt8], from changeNumber: Int = .max) { (self.bytes, self.changeNumber) = (bytes, changeNumber) }

    func byteCount() throws(AuditFailure) -> UInt64 { UInt64(bytes.count) }

    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        var found = try bytes.read(at: offset, count: count)
        if offset == 0 { readCount += 1 }
        if offset == 0, readCount >= changeNumber { found[600] ^= 1 }
        return found
    }
}

/// Random work on a store.
private struct RandomRun {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func work(
        on system: SimulatedFileSystem, transactions: Int, _ check: () throws -> Void
    ) throws {
        var options = SampleStores.options
        options.pageSize = [4096, 4096, 8192].randomElement(using: &random) ?? 4096
        let database = try Database.open("store", in: system, options: options)
        for _ in 0..<transactions {
            var write = try database.beginWrite()
            for index in 0..<3 where Int.random(in: 0..<10, using: &random) < 8 {
                try change(&write, name: "tree \(index)", kind: index == 0 ? .integer : .bytes)
            }
            if Int.random(in: 0..<8, using: &random) == 0, let tree = try write.tree(named: "tree 2") {
                try write.dropTree(tree)
            }
            try write.commit(Bool.random(using: &random) ? .durable : .ordered)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try database.checkpoint(.passive)
            case 1: try database.checkpoint(.truncate)
            default: break
            }
            if Int.random(in: 0..<3, using: &random) == 0 { try check() }
        }
        if Bool.random(using: &random) { try database.close() }
    }

    private mutating func change(_ write: inout WriteTransaction, name: String, kind: KeyKind) throws {
        let tree = try write.tree(named: name, orCreate: kind)
        let first = Int.random(in: 0..<300, using: &random)
        for number in first..<first + Int.random(in: 1..<40, using: &random) {
            let isRemoval = Int.random(in: 0..<5, using: &random) == 0
            let isLong = Int.random(in: 0..<20, using: &random) == 0
            let count = Int.random(in: 0..<(isLong ? 12_000 : 300), using: &random)
            let value = [UInt8](repeating: UInt8(number & 255), count: count)
            let key =
                kind == .integer
                ? UInt64(number).bigEndianBytes
                : [UInt8]("key \(number / 10) \(number)".utf8) + [UInt8](repeating: 9, count: number % 90)
            if isRemoval { try write.remove(key, from: tree) } else { try write.put(value, for: key, in: tree) }
        }
    }
}
