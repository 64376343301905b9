// The file of a closed store that a test changes as a forger would: afterwards every checksum is right again.

import EspalierEngine
import TestSupport
import Testing

/// The bytes of a store file.
struct ForgedStore {
    private static let pageSize = 4096
    var bytes: [UInt8]

    /// A new store with the content that `fill` writes.
    init(_ fill: (Database) throws -> Void) throws {
        let system = SimulatedFileSystem(seed: 2)
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        try fill(database)
        try database.close()
        bytes = try #require(system.contents(of: "store"))
    }

    /// A machine with the store.
    var machine: SimulatedFileSystem {
        let machine = SimulatedFileSystem(seed: 1)
        machine.replaceContents(of: "store", with: bytes)
        return machine
    }

    func open(_ options: DatabaseOptions = DatabaseOptions()) throws -> Database {
        try Database.open("store", in: machine, options: options)
    }

    /// The catalog's summary of the tree called `name`.
    func tree(_ name: String) throws -> TreeSummary {
        try #require(try open().beginRead().trees().first { $0.tree.name == name })
    }

    /// Calls `body` with a copy of page `number`.
    func page<R>(_ number: PageNumber, _ body: (PageView) throws -> R) throws -> R {
        let page = ScratchBytes(byteCount: Self.pageSize)
        page.store([UInt8](bytes[range(of: number)]), at: 0)
        return try body(page.view(at: 0, byteCount: Self.pageSize))
    }

    /// Changes page `number`.
    mutating func change(page number: PageNumber, _ body: (PageView) throws -> Void) throws {
        // SAFETY: the span does not leave the closure.
        let seed = try unsafe bytes.withUnsafeBytes { try Superblock(decoding: unsafe $0.bytes).hashSeed }
        let changed = try page(number) { view in
            try body(view)
            view.seal(lsn: view.lsn, storeSeed: seed)
            return view.bytes(0, Self.pageSize).array
        }
        bytes.replaceSubrange(range(of: number), with: changed)
    }

    /// Changes the newest slot.
    mutating func changeSlot(_ body: (inout CheckpointSlot) -> Void) throws {
        // SAFETY: the span does not leave the closure.
        var slot = try unsafe bytes.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
        body(&slot)
        bytes.replaceSubrange(slot.byteOffset..<slot.byteOffset + CheckpointSlotLayout.byteCount, with: slot.encoded())
    }

    /// Marks page `number` as free and adapts all counts.
    mutating func callFree(_ number: PageNumber) throws {
        try change(page: FixedPlace.firstBitmap) { bitmap in
            bitmap.setBitmap(Int(number), isFree: true)
            bitmap.setBitmap(freeCount: bitmap.bitmapFreeCount + 1, hint: min(bitmap.bitmapHint, Int(number)))
        }
        try changeSlot { $0.freeCount += 1 }
    }

    private func range(of page: PageNumber) -> Range<Int> {
        Int(page) * Self.pageSize..<(Int(page) + 1) * Self.pageSize
    }
}

/// The error that `body` throws; `nil` if it throws none.
func thrown(_ body: () throws(StorageError) -> Void) -> StorageError? {
    do throws(StorageError) {
        try body()
        return nil
    } catch {
        return error
    }
}
