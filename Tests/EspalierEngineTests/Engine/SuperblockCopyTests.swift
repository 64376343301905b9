// A damaged page 0: damage with which a store still opens, damage that is mended only on demand, and damage that must
// not be overlooked.

import EspalierEngine
import TestSupport
import Testing

@Suite struct SuperblockCopyTests {
    private func options(_ access: DatabaseOptions.Access = .readWrite) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.access = access
        options.logSegmentByteCount = 64 << 10
        return options
    }

    /// A machine with a store of `commitCount` commits, closed or as a killed process leaves it.
    private func makeStore(commitCount: Int = 3, closes: Bool = true) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: 3)
        let database = try Database.open("store", in: system, options: options())
        for key in 0..<UInt64(commitCount) {
            var write = try database.beginWrite()
            try write.put([UInt8(key)], for: key, in: try write.tree(named: "t", orCreate: UInt64.self))
            try write.commit()
        }
        if closes {
            try database.close()
            return system
        }
        let copy = SimulatedFileSystem(seed: 4)
        for path in system.paths { copy.replaceContents(of: path, with: system.contents(of: path) ?? []) }
        return copy
    }

    private func flip(_ byte: Int, _ system: SimulatedFileSystem) {
        var store = system.contents(of: "store") ?? []
        store[byte] ^= 0x10
        system.replaceContents(of: "store", with: store)
    }

    private func rowCount(_ system: SimulatedFileSystem, _ access: DatabaseOptions.Access) throws -> UInt64 {
        let database = try Database.open("store", in: system, options: options(access))
        let read = try database.beginRead()
        let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
        return try read.count(of: tree)
    }

    @Test(arguments: [0, 20, 70, 300, 505])
    func `a damaged superblock is read from its copy, named by the check, and written to only after a repair`(
        byte: Int
    ) throws {
        for closes in [true, false] {
            let system = try makeStore(closes: closes)
            let good = system.contents(of: "store")
            flip(byte, system)
            #expect(throws: StorageError.opening(.superblockDamaged)) {
                _ = try Database.open("store", in: system, options: options())
            }
            #expect(try rowCount(system, .readOnly) == 3)
            let database = try Database.open("store", in: system, options: options(.readOnly))
            let findings = try database.check().findings.map(\.corruption)
            #expect(findings.map(\.rule) == [.superblockChecksum])
            #expect(findings.map(\.page) == [0])
            try database.close()

            #expect(try Database.repair("store", in: system))
            #expect(system.contents(of: "store") == good)
            #expect(try !Database.repair("store", in: system))
            #expect(try rowCount(system, .readWrite) == 3)
        }
    }

    @Test func `a damaged copy hinders nobody, is named by the check, and mended by a repair`() throws {
        let system = try makeStore()
        let good = system.contents(of: "store")
        flip(2048 + 64, system)
        #expect(try rowCount(system, .readWrite) == 3)
        let database = try Database.open("store", in: system, options: options(.readOnly))
        #expect(try database.check().findings.map(\.corruption.rule) == [.superblockMirror])
        try database.close()
        #expect(try Database.repair("store", in: system))
        #expect(system.contents(of: "store") == good)
    }

    @Test func `without superblock and copy nothing is opened or repaired`() throws {
        let system = try makeStore()
        flip(64, system)
        flip(2048 + 64, system)
        let bad = system.contents(of: "store")
        for access in [DatabaseOptions.Access.readWrite, .readOnly, .immutable] {
            #expect(throws: StorageError.opening(.notAStore(.damagedSuperblock))) { try rowCount(system, access) }
        }
        #expect(throws: StorageError.opening(.notAStore(.damagedSuperblock))) {
            try Database.repair("store", in: system)
        }
        #expect(system.contents(of: "store") == bad)
    }

    @Test func `a repair does not touch a store that somebody writes`() throws {
        let system = try makeStore()
        let database = try Database.open("store", in: system, options: options())
        #expect(throws: StorageError.self) { try Database.repair("store", in: system) }
        try database.close()
    }

    @Test func `one valid slot is enough if it is the newest, none is an error`() throws {
        let system = try makeStore()
        let store = system.contents(of: "store") ?? []
        let newest = try SuperblockLayout.slots.max { try sequence($0, store) < sequence($1, store) } ?? 0
        for slot in SuperblockLayout.slots where slot != newest { flip(slot + 30, system) }
        #expect(try rowCount(system, .readWrite) == 3)
        let database = try Database.open("store", in: system, options: options(.readOnly))
        #expect(try database.check().findings.map(\.corruption.rule) == [.noValidSlot, .noValidSlot])
        try database.close()
        flip(newest + 30, system)
        #expect(throws: StorageError.corrupt(.noValidSlot, page: 0, byteOffset: 512)) {
            try rowCount(system, .readWrite)
        }
    }

    private func sequence(_ slot: Int, _ store: [UInt8]) throws -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(store[slot + $1]) << (8 * $1) }
    }

    @Test func `an older slot that says clean is not believed when the log holds acknowledged commits`() throws {
        let system = try makeStore(closes: false)
        let store = system.contents(of: "store") ?? []
        let newest = try SuperblockLayout.slots.max { try sequence($0, store) < sequence($1, store) } ?? 0
        flip(newest + 30, system)
        for access in [DatabaseOptions.Access.readWrite, .readOnly, .immutable] {
            var failure: StorageError?
            do { _ = try rowCount(system, access) } catch { failure = error as? StorageError }
            guard case .corruption(let corruption) = failure else {
                Issue.record("\(access): \(String(describing: failure))")
                continue
            }
            #expect(corruption.rule == .noValidSlot)
        }
        let report = try Database.salvage(from: "store", into: "new", in: system, options: .init())
        #expect(report.rowCount == 3)
    }

    @Test func `an older copy under the log of a later session is refused, and whole once the log is removed`() throws {
        let system = try makeStore()
        let older = system.contents(of: "store") ?? []
        let database = try Database.open("store", in: system, options: options())
        for key in 10..<13 as Range<UInt64> {
            var write = try database.beginWrite()
            try write.put([1], for: key, in: try write.tree(named: "t", orCreate: UInt64.self))
            try write.commit()
        }
        let log = system.contents(of: "store-wal") ?? []
        try database.close()
        #expect(try rowCount(system, .readWrite) == 6)
        // The removal of the log is not synced: a power loss may bring it back beside the copy.
        system.replaceContents(of: "store", with: older)
        system.replaceContents(of: "store-wal", with: log)

        for access in [DatabaseOptions.Access.readWrite, .readOnly, .immutable] {
            let error = #expect(throws: StorageError.self) { try rowCount(system, access) }
            guard case .corruption(let corruption)? = error, corruption.rule == .noValidSlot else {
                Issue.record("\(access): \(String(describing: error))")
                continue
            }
        }
        try system.remove("store-wal")
        #expect(try rowCount(system, .readWrite) == 3)
        let healed = try Database.open("store", in: system, options: options())
        #expect(try healed.check().isOK)
        try healed.close()
    }
}
