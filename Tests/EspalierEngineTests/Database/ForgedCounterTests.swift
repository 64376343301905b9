// Numbers in a slot that the engine never reaches: sums of them must not overflow.

import EspalierEngine
import TestSupport
import Testing

@Suite struct ForgedCounterTests {
    /// A closed store whose slots `forge` has changed.
    private func store(_ forge: (inout CheckpointSlot) -> Void) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: 2)
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "a", keys: [UInt8].self)
        try write.put([UInt8](repeating: 1, count: 20_000), for: [1], in: tree)
        try write.commit()
        try database.close()
        var bytes = try #require(system.contents(of: "store"))
        // SAFETY: the span does not leave the closure.
        var slot = try unsafe bytes.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
        forge(&slot)
        for place in SuperblockLayout.slots {
            bytes.replaceSubrange(place..<place + CheckpointSlotLayout.byteCount, with: slot.encoded())
        }
        system.replaceContents(of: "store", with: bytes)
        return system
    }

    @Test(arguments: [UInt64.max, CheckpointSlotLayout.counterEnd])
    func `a number beyond its end makes a slot invalid`(number: UInt64) throws {
        for field in [\CheckpointSlot.sequence, \.transactionID, \.checkpointLSN] {
            let system = try store { $0[keyPath: field] = number }

            #expect(throws: StorageError.corrupt(.noValidSlot, page: 0, byteOffset: SuperblockLayout.slots[0])) {
                try Database.open("store", in: system, options: DatabaseOptions())
            }
        }
    }

    @Test func `a store that is out of numbers can be read, and not written`() throws {
        for field in [\CheckpointSlot.sequence, \.transactionID, \.checkpointLSN] {
            let system = try store { $0[keyPath: field] = CheckpointSlotLayout.counterEnd - 1 }
            let database = try Database.open("store", in: system, options: DatabaseOptions())

            #expect(try database.beginRead().tree(named: "a", keys: [UInt8].self) != nil)
            #expect(throws: StorageError.diskFull) { _ = try database.beginWrite() }
        }
    }

    @Test func `a store that is out of tree numbers makes no tree`() throws {
        let system = try store { $0.nextTreeID = .max }
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        var failure: StorageError?
        do throws(StorageError) { _ = try write.createTree(named: "b", keys: UInt64.self) } catch { failure = error }

        #expect(failure == .diskFull)
    }

    @Test func `a free count that is wrong is an error when pages are freed`() throws {
        let system = try store { $0.freeCount = $0.pageCount - 1 }
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        let found = try write.tree(named: "a", keys: [UInt8].self)
        let tree = try #require(found)
        var failure: StorageError?
        do throws(StorageError) { try write.remove([1], from: tree) } catch { failure = error }

        #expect(failure == .corrupt(.freeCountWrong, page: FixedPlace.superblock))
    }
}
