// Corrects the checksums of mutated store and log files, as a forger would, so that fuzzing reaches the code after the
// checks.

import EspalierEngine

/// Repairs store files.
enum StoreRepair {
    /// Corrects the checksums of the superblock and slots, and those of pages if the superblock can be read.
    ///
    /// - Returns: the offsets at which superblock, slots and pages begin.
    static func repair(_ bytes: inout [UInt8]) -> [Int] {
        guard bytes.count >= SuperblockLayout.usedByteCount else { return [0] }
        seal(&bytes, at: 0, byteCount: SuperblockLayout.checksum)
        var landmarks = [0]
        for slot in SuperblockLayout.slots {
            seal(&bytes, at: slot, byteCount: CheckpointSlotLayout.checksum)
            landmarks.append(slot)
        }
        guard let superblock = bytes.reading({ try? Superblock(decoding: $0) }) else { return landmarks }
        for start in stride(from: superblock.pageSize, to: bytes.count, by: superblock.pageSize)
        where start + superblock.pageSize <= bytes.count {
            let number = PageNumber(truncatingIfNeeded: start / superblock.pageSize)
            bytes.viewing(start, superblock.pageSize) { page in
                page.set(
                    page.computedChecksum(number: number, storeSeed: superblock.hashSeed), at: PageLayout.checksum)
            }
            landmarks.append(start)
        }
        return landmarks
    }

    /// Stores the checksum of `byteCount` bytes directly after them.
    static func seal(_ bytes: inout [UInt8], at offset: Int, byteCount: Int) {
        let checksum = bytes.reading { $0.checksum(of: offset..<offset + byteCount) }
        bytes.viewing(offset, byteCount + 8) { $0.set(checksum, at: byteCount) }
    }
}

/// Repairs log files that belong to a store.
struct LogRepair {
    let superblock: Superblock
    let slot: CheckpointSlot

    /// Reads the superblock and the newest slot of a store; `nil` if one of them cannot be read.
    init?(store: [UInt8]) {
        guard let superblock = store.reading({ try? Superblock(decoding: $0) }),
            let slot = store.reading({ try? CheckpointSlot.newest(in: $0) })
        else { return nil }
        (self.superblock, self.slot) = (superblock, slot)
    }

    /// Makes the log belong to this store, and corrects checksums, positions, salts and the chain of its frames.
    ///
    /// - Returns: the offsets at which header, segments and frames begin.
    func repair(_ bytes: inout [UInt8]) -> [Int] {
        guard bytes.count > LogHeaderLayout.byteCount else { return [0] }
        bytes.viewing(0, LogHeaderLayout.byteCount) { header in
            for (index, byte) in superblock.storeIdentifier.enumerated() {
                header.set(byte, at: LogHeaderLayout.storeIdentifier + index)
            }
            for (index, byte) in slot.logIdentifier.enumerated() {
                header.set(byte, at: LogHeaderLayout.logIdentifier + index)
            }
        }
        StoreRepair.seal(&bytes, at: 0, byteCount: LogHeaderLayout.checksum)
        guard let header = bytes.reading({ LogHeader(decoding: $0) }) else { return [0] }
        var landmarks = [0]
        var chain = slot.chainSeed
        for start in stride(from: LogHeaderLayout.byteCount, to: bytes.count, by: header.segmentByteCount)
        where start + SegmentHeaderLayout.byteCount <= bytes.count {
            landmarks.append(start)
            repairSegment(&bytes, at: start, header, &chain, &landmarks)
        }
        return landmarks
    }

    private func repairSegment(
        _ bytes: inout [UInt8], at start: Int, _ header: LogHeader, _ chain: inout UInt64, _ landmarks: inout [Int]
    ) {
        let previousChain = chain
        bytes.viewing(start, SegmentHeaderLayout.byteCount) { segment in
            segment.set(previousChain, at: SegmentHeaderLayout.previousChain)
            segment.set(superblock.hashSeed, at: SegmentHeaderLayout.seedEcho)
        }
        StoreRepair.seal(&bytes, at: start, byteCount: SegmentHeaderLayout.checksum)
        let segment = bytes.reading {
            SegmentHeader(decoding: $0.extracting(start..<start + SegmentHeaderLayout.byteCount))
        }
        guard let segment else { return }
        var offset = start + SegmentHeaderLayout.byteCount
        let end = min(bytes.count, start + header.segmentByteCount)
        while offset + FrameHeaderLayout.byteCount <= end {
            let frame = bytes.reading {
                FrameHeader(decoding: $0.extracting(offset..<end), pageSize: header.pageSize)
            }
            guard var frame, offset + frame.frameByteCount <= end else { return }
            landmarks += [offset, offset + FrameHeaderLayout.byteCount]
            frame.lsn = segment.startLSN &+ UInt64(offset - start - SegmentHeaderLayout.byteCount)
            frame.salt = segment.salt
            frame.payloadChecksum = payloadChecksum(of: frame, &bytes, at: offset + FrameHeaderLayout.byteCount)
            let before = chain
            chain = bytes.viewing(offset, FrameHeaderLayout.byteCount) { frame.encode(to: $0, previousChain: before) }
            offset += frame.frameByteCount
        }
    }

    private func payloadChecksum(of frame: FrameHeader, _ bytes: inout [UInt8], at offset: Int) -> UInt64 {
        switch frame.type {
        case .page:
            let payload = Array(bytes[offset..<offset + frame.payloadByteCount])
            guard frame.holeOffset <= payload.count, payload.count >= PageLayout.headerByteCount else { return 0 }
            var page = Array(payload[..<frame.holeOffset])
            page.append(contentsOf: repeatElement(0, count: frame.holeByteCount))
            page.append(contentsOf: payload[frame.holeOffset...])
            let checksum = page.viewing(0, page.count) {
                $0.computedChecksum(number: frame.page, storeSeed: superblock.hashSeed)
            }
            bytes.viewing(offset, 8) { $0.set(checksum, at: PageLayout.checksum) }
            return checksum
        case .commit:
            let commitLSN = frame.lsn &+ UInt64(frame.frameByteCount)
            bytes.viewing(offset, frame.payloadByteCount) { $0.set(commitLSN, at: CommitRecordLayout.commitLSN) }
            return bytes.reading { $0.checksum(of: offset..<offset + frame.payloadByteCount, seed: frame.salt) }
        case .padding, .segmentStart: return frame.payloadChecksum
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes in the form that the engine's decoders need.
    func reading<R>(_ body: (RawSpan) -> R) -> R {
        // SAFETY: the span does not leave the closure.
        unsafe withUnsafeBytes { unsafe body($0.bytes) }
    }

    /// Calls `body` with a view of `byteCount` bytes from `offset` on, which must be within the array.
    @discardableResult
    mutating func viewing<R>(_ offset: Int, _ byteCount: Int, _ body: (PageView) -> R) -> R {
        precondition(offset >= 0 && byteCount > 0 && offset + byteCount <= count)
        // SAFETY: in bounds by the line above, so the base address exists; the view does not leave the closure.
        return unsafe withUnsafeMutableBytes { buffer in
            unsafe body(PageView(base: buffer.baseAddress.unsafelyUnwrapped + offset, byteCount: byteCount))
        }
    }
}
