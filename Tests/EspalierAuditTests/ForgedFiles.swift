// A store and its log as bytes that a test changes; the `seal` methods make checksums right again, as a forger would.

import EspalierEngine
import TestSupport

@testable import EspalierAudit

/// The two files of a store.
struct ForgedFiles {
    var store: [UInt8]
    var log: [UInt8]?

    init(store: [UInt8], log: [UInt8]?) { (self.store, self.log) = (store, log) }

    /// The files of the store at `path`.
    init(_ system: SimulatedFileSystem, _ path: String = "store") {
        self.init(store: system.contents(of: path) ?? [], log: system.contents(of: path + "-wal"))
    }

    var pageSize: Int { Int(store.u32(20)) }
    var seed: UInt64 { store.u64(64) }
    var pageCount: Int { store.count / pageSize }

    /// The index of the slot with the highest sequence.
    var newestSlot: Int { (0..<3).max { store.u64(512 + 512 * $0) < store.u64(512 + 512 * $1) } ?? 0 }
    var newestSlotOffset: Int { 512 + 512 * newestSlot }

    /// The type in the header of a page.
    func kind(_ page: Int) -> UInt8 { store.u8(page * pageSize + 12) }
    func tree(_ page: Int) -> UInt32 { store.u32(page * pageSize + 24) }

    // MARK: Changes

    /// Cuts off the allocated and unused end of the log, if its last segment is the newest.
    mutating func trimLog() {
        // A frame may end with zeros.
        let end = frameOffsets.max().flatMap { log?.frameEnd($0) } ?? 4096 + 64
        while let count = log?.count, count > end, log?.last == 0 { log?.removeLast() }
    }

    /// Writes a little-endian integer at `offset` of a page.
    mutating func set(_ value: some FixedWidthInteger, page: Int = 0, at offset: Int) {
        store.set(value, at: page * pageSize + offset)
    }

    /// Makes the superblock's hash right and its copy equal.
    mutating func sealSuperblock() {
        store.set(XXH3.hash(store, to: 504), at: 504)
        store.replaceSubrange(2048..<2560, with: store[0..<512])
    }

    mutating func sealSlot(_ index: Int) {
        let offset = 512 + 512 * index
        store.set(XXH3.hash(store, from: offset, to: offset + 504), at: offset + 504)
    }

    mutating func sealPage(_ page: Int) {
        let image = Array(store[page * pageSize..<(page + 1) * pageSize])
        set(PageHeader.checksum(of: image, number: UInt32(page), seed: seed), page: page, at: 0)
    }

    /// Makes all hashes of the log right: header, segments, frames, chain.
    mutating func sealLog() {
        guard var log, log.count > 4096 else { return }
        log.set(XXH3.hash(log, to: 504), at: 504)
        let segmentByteCount = max(4096, Int(log.u32(56)))
        var chain = store.u64(newestSlotOffset + 64)
        let starts = stride(from: 4096, to: log.count - 64, by: segmentByteCount)
        for start in starts.sorted(by: { log.u64($0 + 8) < log.u64($1 + 8) })
        where log.u64(start + 8) >= store.u64(newestSlotOffset + 56) {
            log.set(chain, at: start + 32)
            log.set(XXH3.hash(log, from: start, to: start + 56), at: start + 56)
            var offset = start + 64
            let lsn = store.u64(newestSlotOffset + 8)
            // Frames before the checkpoint keep their chain values: no recovery walks them.
            while log.u64(start + 16) + UInt64(offset - start - 64) < lsn, let next = log.frameEnd(offset) {
                offset = next
            }
            while offset < start + segmentByteCount, let next = log.frameEnd(offset) {
                sealFrame(&log, at: offset, &chain)
                offset = next
            }
        }
        self.log = log
    }

    private func sealFrame(_ log: inout [UInt8], at offset: Int, _ chain: inout UInt64) {
        let payload = log.bytes(offset + 48..<offset + 48 + Int(log.u32(offset + 8)))
        switch log.u8(offset) {
        case 1:
            let gap = log.u16(offset + 12)..<log.u16(offset + 12) + log.u16(offset + 14)
            let image = LogFrame.pageImage(payload, gap)
            let checksum = PageHeader.checksum(of: image, number: log.u32(offset + 4), seed: seed)
            log.set(checksum, at: offset + 48)
            log.set(checksum, at: offset + 32)
        case 2: log.set(XXH3.hash(payload, seed: log.u64(offset + 24)), at: offset + 32)
        default: break
        }
        chain = XXH3.hash(log, from: offset, to: offset + 40, seed: chain)
        log.set(chain, at: offset + 40)
    }

    /// The file offsets of the frames of the log, in ascending order.
    var frameOffsets: [Int] {
        guard let log, log.count > 4096 else { return [] }
        var offsets: [Int] = []
        for start in stride(from: 4096, to: log.count - 64, by: Int(log.u32(56))) {
            var offset = start + 64
            while offset < start + Int(log.u32(56)), let next = log.frameEnd(offset) {
                offsets.append(offset)
                offset = next
            }
        }
        return offsets
    }
}

extension [UInt8] {
    mutating func set<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        for index in 0..<MemoryLayout<Value>.size {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }

    /// The end offset of the frame at `offset` of a log; `nil` if there is no frame.
    fileprivate func frameEnd(_ offset: Int) -> Int? {
        guard offset + 48 <= count, (1...4).contains(u8(offset)), u16(offset + 2) == 48 else { return nil }
        let end = offset + 48 + Int(u32(offset + 8))
        return u8(offset) == 3 ? Swift.min(end, Swift.max(count, offset + 48)) : end <= count ? end : nil
    }
}
