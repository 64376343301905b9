// Stores and logs that claim huge sizes with every checksum right: good ones in which one field was changed.

import EspalierEngine
import TestSupport

@testable import EspalierAudit

/// A forged pair of files.
struct HostileImage {
    let name: String
    let files: ForgedFiles
}

/// A field that makes a claim: a count, a length, a size, a page number or a level.
private struct Field: Sendable {
    let name: String
    let byteCount: Int
    var isOpen = false
    /// Writes to the field and makes the checksums right.
    let write: @Sendable (inout RuleStore, UInt64) -> Void

    /// A field of a page.
    static func page(
        _ name: String, _ byteCount: Int, at offset: @escaping @Sendable (RuleStore) -> (page: Int, offset: Int)
    ) -> Field {
        Field(name: name, byteCount: byteCount) { store, value in
            let (page, offset) = offset(store)
            store.files.store.set(value, byteCount: byteCount, at: page * store.files.pageSize + offset)
            store.files.sealPage(page)
        }
    }

    static func superblock(_ name: String, _ byteCount: Int, at offset: Int) -> Field {
        Field(name: name, byteCount: byteCount) { store, value in
            store.files.store.set(value, byteCount: byteCount, at: offset)
            store.files.sealSuperblock()
        }
    }

    static func slot(_ name: String, _ byteCount: Int, at offset: Int, isOpen: Bool) -> Field {
        Field(name: "slot's \(name)", byteCount: byteCount, isOpen: isOpen) { store, value in
            let index = store.files.newestSlot
            store.files.store.set(value, byteCount: byteCount, at: 512 + 512 * index + offset)
            store.files.sealSlot(index)
        }
    }

    static func log(_ name: String, _ byteCount: Int, at offset: @escaping @Sendable (RuleStore) -> Int) -> Field {
        Field(name: "log's \(name)", byteCount: byteCount, isOpen: true) { store, value in
            let place = offset(store)
            store.files.log?.set(value, byteCount: byteCount, at: place)
            store.files.sealLog()
        }
    }

    static let all: [Field] = ofPage0 + ofTreePages + ofOtherPages + ofRecords + ofLog

    private static let ofPage0 =
        [
            superblock("page size", 4, at: 20), superblock("incompatible bits", 8, at: 24),
            superblock("compatible bits", 8, at: 32),
        ]
        + [false, true].flatMap { isOpen in
            [
                slot("sequence", 8, at: 0, isOpen: isOpen), slot("LSN", 8, at: 8, isOpen: isOpen),
                slot("transaction", 8, at: 16, isOpen: isOpen), slot("page count", 4, at: 24, isOpen: isOpen),
                slot("free count", 4, at: 28, isOpen: isOpen), slot("catalog", 4, at: 32, isOpen: isOpen),
                slot("segment", 8, at: 56, isOpen: isOpen), slot("next tree", 4, at: 72, isOpen: isOpen),
            ]
        }

    private static let ofTreePages = [
        page("leaf's LSN", 8) { ($0.numberLeaf, 16) }, page("leaf's level", 1) { ($0.numberLeaf, 14) },
        page("leaf's cell count", 2) { ($0.numberLeaf, 28) }, page("leaf's content start", 2) { ($0.numberLeaf, 30) },
        page("leaf's fragments", 2) { ($0.numberLeaf, 32) }, page("leaf's right child", 4) { ($0.numberLeaf, 36) },
        page("leaf's low fence", 2) { ($0.numberLeaf, 40) }, page("leaf's high fence", 2) { ($0.numberLeaf, 42) },
        page("leaf's cell offset", 2) { ($0.numberLeaf, 48 + 8 * $0.u16($0.numberLeaf, 28)) },
        page("leaf's value word", 2) { ($0.numberLeaf, $0.u16($0.numberLeaf, 48 + 8 * $0.u16($0.numberLeaf, 28))) },
        page("word leaf's cell count", 2) { ($0.wordLeaf, 28) }, page("word leaf's prefix", 2) { ($0.wordLeaf, 34) },
        page("word leaf's low fence", 2) { ($0.wordLeaf, 40) }, page("word leaf's high fence", 2) { ($0.wordLeaf, 42) },
        page("word leaf's cell offset", 2) { ($0.wordLeaf, 48) }, page("word leaf's key rest", 2) { ($0.wordLeaf, 50) },
        page("root's level", 1) { ($0.numberRoot, 14) }, page("root's cell count", 2) { ($0.numberRoot, 28) },
        page("root's right child", 4) { ($0.numberRoot, 36) }, page("word root's cell count", 2) { ($0.wordRoot, 28) },
        page("word root's child", 4) { ($0.wordRoot, $0.u16($0.wordRoot, 48)) },
    ]

    private static let ofOtherPages = [
        page("overflow page's content", 2) { ($0.overflow, 30) }, page("overflow page's next", 4) { ($0.overflow, 32) },
        page("overflow page's run", 4) { ($0.overflow, 36) },
        page("last overflow page's next", 4) { ($0.lastOverflow, 32) },
        page("value's length", 8) { ($0.reference.page, $0.reference.cell + 2) },
        page("value's first page", 4) { ($0.reference.page, $0.reference.cell + 10) },
        page("bitmap's count", 4) { _ in (1, 32) }, page("bitmap's hint", 4) { _ in (1, 36) },
    ]

    private static let ofRecords = [
        page("record's tree", 4) { (2, $0.record) }, page("record's root", 4) { (2, $0.record + 4) },
        page("record's height", 2) { (2, $0.record + 10) }, page("record's entries", 8) { (2, $0.record + 16) },
        page("record's leaves", 8) { (2, $0.record + 24) }, page("record's transaction", 8) { (2, $0.record + 32) },
        page("catalog's name length", 2) { _ in (2, 50) }, page("catalog's cell count", 2) { _ in (2, 28) },
    ]

    private static let ofLog =
        [
            log("page size", 4) { _ in 20 }, log("segment size", 4) { _ in 56 },
            log("segment's place", 4) { _ in 4096 + 4 }, log("segment's sequence", 8) { _ in 4096 + 8 },
            log("segment's LSN", 8) { _ in 4096 + 16 },
        ]
        + [("page", 4, 4), ("payload", 4, 8), ("gap's offset", 2, 12), ("gap's length", 2, 14), ("LSN", 8, 16)].map {
            (name, byteCount, offset) in
            log("frame's \(name)", byteCount) { ($0.frames(1).first ?? 4096 + 64) + offset }
        }
        + [
            ("transaction", 8, 0), ("LSN", 8, 8), ("durable LSN", 8, 16), ("page count", 4, 24), ("free count", 4, 28),
            ("catalog", 4, 32), ("frame count", 4, 36), ("next tree", 4, 60),
        ].map { (name, byteCount, offset) in
            log("commit's \(name)", byteCount) { ($0.frames(2).last ?? 4096 + 64) + 48 + offset }
        }
}

extension HostileImage {
    /// The values that a forger writes to a field of `byteCount` bytes; the first two claim the most.
    private static func claims(_ byteCount: Int) -> [UInt64] {
        switch byteCount {
        case 1: [0xFF, 23, 0, 24, 0x7F]
        case 2: [0xFFFF, 0x7FFF, 0, 1, 0x8000, 0xFFFE]
        case 4: [0xFFFF_FFFF, 0x7FFF_FFFF, 0, 1, 0x8000_0000, 0xFFFF_FFFE, 0x0100_0000]
        default: [.max, (1 << 62) - 1, 0, 1 << 31, 1 << 32, 1 << 61, 1 << 63, .max - 1]
        }
    }

    /// The images: every field with its first `claimCount` claims.
    static func all(claimCount: Int) throws -> [HostileImage] {
        let (closed, open) = (try SampleStores.closed(), try SampleStores.open())
        return Field.all.flatMap { field in
            claims(field.byteCount).prefix(claimCount).map { value in
                var store = RuleStore(files: field.isOpen ? open : closed)
                field.write(&store, value)
                return HostileImage(name: "\(field.name) is \(value)", files: store.files)
            }
        }
    }

    /// Audits, checks, reads and writes the store; errors are right answers.
    func visit() {
        _ = Verdict.audit(files)
        for access in [DatabaseOptions.Access.readOnly, .immutable, .readWrite] {
            let system = SimulatedFileSystem(seed: 2)
            system.replaceContents(of: "store", with: files.store)
            if let log = files.log { system.replaceContents(of: "store-wal", with: log) }
            system.limitSpace(to: 4 << 20)
            do throws(StorageError) { try Self.use(system, access) } catch { _ = error.description }
        }
    }

    private static func use(_ system: SimulatedFileSystem, _ access: DatabaseOptions.Access) throws(StorageError) {
        var options = SampleStores.options
        options.access = access
        options.createIfMissing = false
        let database = try Database.open("store", in: system, options: options)
        if access == .readOnly { _ = try database.check() }
        let read = try database.beginRead()
        for summary in try read.trees() {
            var cursor = try read.cursor(over: summary.tree)
            var isOnEntry = try cursor.first()
            var count = 0
            while isOnEntry, count < 500 {
                _ = try cursor.value()
                isOnEntry = try cursor.next()
                count += 1
            }
        }
        guard access == .readWrite else { return }
        var write = try database.beginWrite()
        if let tree = try write.tree(named: "numbers", keys: UInt64.self) { try write.put([1], for: 5, in: tree) }
        try write.commit()
        try database.checkpoint(.passive)
    }
}

extension [UInt8] {
    /// Writes the low bytes of a number, little-endian.
    fileprivate mutating func set(_ value: UInt64, byteCount: Int, at offset: Int) {
        for index in 0..<byteCount where offset + index < count {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }
}

/// Bytes that are followed by a hole.
final class SparseSource: ByteSource {
    private let bytes: [UInt8]
    private let count: UInt64
    private(set) var readCount = 0

    init(_ bytes: [UInt8], byteCount: UInt64) { (self.bytes, count) = (bytes, byteCount) }

    func byteCount() throws(AuditFailure) -> UInt64 { count }

    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        readCount += 1
        let wanted = Int(min(UInt64(count), self.count - min(offset, self.count)))
        let found = try bytes.read(at: offset, count: wanted)
        return found + [UInt8](repeating: 0, count: wanted - found.count)
    }
}
